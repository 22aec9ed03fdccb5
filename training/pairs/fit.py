"""Fit the pair model on labelled pairs.

python fit.py --base MODEL_FOLDER --train FILE... --held FILE... --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from pathlib import Path

import torch
from measure import measure
from network import PairNetwork
from rows import Pair, encoded, joined, read, repeated, varied
from tokenizers import Tokenizer
from torch.nn import functional

BATCH = 32


def padded(rows: list[list[int]]) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [0] * (width - len(row)) for row in rows])


def tensors(tokenizer: Tokenizer, pairs: list[Pair]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids, mask and segments of a batch."""
    made = [encoded(tokenizer, pair.earlier, pair.later) for pair in pairs]
    ids = padded([ids for ids, _ in made])
    return ids, padded([[1] * len(ids) for ids, _ in made]), padded([segments for _, segments in made])


def batches(pairs: list[Pair], dice: random.Random):
    order = sorted(pairs, key=lambda pair: len(pair.earlier) + len(pair.later) + dice.random() * 40)
    groups = [order[i : i + BATCH] for i in range(0, len(order), BATCH)]
    dice.shuffle(groups)
    yield from groups


@torch.no_grad()
def scores(network: PairNetwork, tokenizer: Tokenizer, pairs: list[Pair]) -> torch.Tensor:
    network.eval()
    found = [network(*tensors(tokenizer, pairs[i : i + 64])).softmax(-1) for i in range(0, len(pairs), 64)]
    return torch.cat(found)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--base", required=True)
    ask.add_argument("--layers", type=int, default=6)
    ask.add_argument("--epochs", type=int, default=5)
    ask.add_argument("--rate", type=float, default=1e-4)
    ask.add_argument("--train", nargs="+", type=Path, required=True)
    ask.add_argument("--some", nargs="*", type=Path, default=[], help="files of which a third is read in each epoch")
    ask.add_argument("--held", nargs="*", type=Path, default=[])
    ask.add_argument("--out", type=Path)
    ask.add_argument("--start", type=Path, help="go on from a fitted network")
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--threads", type=int, default=2)
    given = ask.parse_args()
    torch.manual_seed(given.seed)
    torch.set_num_threads(given.threads)
    dice = random.Random(given.seed)
    tokenizer = Tokenizer.from_file(str(Path(given.base) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    files = [list(read(path)) for path in given.train]
    some = [list(read(path)) for path in given.some]
    held = [pair for path in given.held for group in read(path) for pair in group]
    network = PairNetwork(given.base, given.layers)
    if given.start:
        network.load_state_dict(torch.load(given.start / "network.pt")["state"])
    network.encoder.embeddings.requires_grad_(False)  # words that no row holds keep their place among those that rows hold
    slow = [p for n, p in network.named_parameters() if n.startswith("encoder") and p.requires_grad]
    fast = [p for n, p in network.named_parameters() if not n.startswith("encoder")]
    optimizer = torch.optim.AdamW([{"params": slow, "lr": given.rate}, {"params": fast, "lr": given.rate * 5}], weight_decay=0.01)
    count = sum(len(group) for file in files for group in file) + sum(len(group) for file in some for group in file) // 3
    steps = given.epochs * math.ceil(count * 1.1 / BATCH) + 20
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [given.rate, given.rate * 5], total_steps=steps, pct_start=0.1, anneal_strategy="linear"
    )
    begin, done = time.monotonic(), 0
    weight = torch.tensor([1.0, 1.5, 1.5])
    for epoch in range(given.epochs):
        network.train()
        read_now = [*files, *(dice.sample(file, len(file) // 3) for file in some)]
        pairs = [varied(pair, dice) for file in read_now for group in file for pair in group]
        pairs += [pair for file in read_now for pair in (*joined(file, dice, 0.3), *repeated(file, dice, 0.06))]
        seen = 0.0
        for batch in batches(pairs, dice):
            with torch.autocast("cpu", dtype=torch.bfloat16):  # half the time, and no worse
                logits = network(*tensors(tokenizer, batch))
            loss = functional.cross_entropy(
                logits.float(), torch.tensor([pair.label for pair in batch]), weight=weight, label_smoothing=0.03
            )
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            done += 1
            if done < steps:
                schedule.step()
            seen += float(loss.detach()) * len(batch)
        took = time.monotonic() - begin
        print(f"epoch {epoch + 1}/{given.epochs}: loss {seen / len(pairs):.3f}, {took:.0f} s", file=sys.stderr, flush=True)
    if held:
        print(json.dumps(measure(held, scores(network, tokenizer, held).tolist())), flush=True)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        torch.save({"layers": given.layers, "state": network.state_dict()}, given.out / "network.pt")


if __name__ == "__main__":
    main()
