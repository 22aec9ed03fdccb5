"""Fit the statement model on labelled talk.

python fit.py --base MODEL_FOLDER --layers 4 --train FILE... --held FILE... --out FOLDER
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
from network import KEEP, KIND, NEEDS, POINTER, TENSE, StatementNetwork, pooled
from rows import LETTERS, NAME_KINDS, Example, example, read, rejoined
from tokenizers import Tokenizer
from torch.nn import functional


def batches(examples: list[Example], size: int, dice: random.Random):
    order = sorted(range(len(examples)), key=lambda n: len(examples[n].ids) + dice.random() * 12)
    groups = [order[i : i + size] for i in range(0, len(order), size)]
    dice.shuffle(groups)
    for group in groups:
        yield [examples[n] for n in group]


def tensors(batch: list[Example]):
    width = max(len(e.ids) for e in batch)

    def padded(rows: list[list[int]], fill: int) -> torch.Tensor:
        return torch.tensor([row + [fill] * (width - len(row)) for row in rows])

    return (
        padded([e.ids for e in batch], 0),
        padded([[1] * len(e.ids) for e in batch], 0),
        padded([e.segments for e in batch], 0),
        padded([e.borders for e in batch], -100),
        torch.tensor([e.letters + [[0.0] * LETTERS] * (width - len(e.letters)) for e in batch]),
        padded([e.names for e in batch], -100),
    )


def loss_of(network: StatementNetwork, batch: list[Example]) -> torch.Tensor:
    ids, mask, segments, borders, letters, names = tensors(batch)
    scores, pointer, states, tags = network(ids, mask, segments, letters)
    total = scores.sum() * 0.0
    if (borders >= 0).any():  # rows that only have names have no borders
        total = total + functional.cross_entropy(scores.reshape(-1, 3), borders.reshape(-1), ignore_index=-100)
    if (names >= 0).any():
        total = total + 1.2 * functional.cross_entropy(tags.reshape(-1, tags.shape[-1]), names.reshape(-1), ignore_index=-100)
    found, keeps, needs, kinds, tenses, weight = [], [], [], [], [], []
    pointing = []
    for n, e in enumerate(batch):
        for p in e.pieces:
            found.append(pooled(states[n], p.start, p.end))
            keeps.append(float(p.keep))
            needs.append(float(p.needs))
            kinds.append(p.kind)
            tenses.append(p.tense)
            weight.append(0.0 if p.doubt else 1.0)
            if p.carry:
                query = pointer[n, p.start : p.end, :POINTER].mean(0)
                keys = pointer[n, :, POINTER:] * 1.0
                blind = (mask[n] == 0) | (torch.arange(ids.shape[1]) >= p.start)
                blind[0] = True
                for part, target in ((0, p.carry[0]), (1, p.carry[1] - 1)):
                    if not blind[target]:
                        score = (keys[:, part * POINTER : (part + 1) * POINTER] @ query) / math.sqrt(POINTER)
                        pointing.append(functional.cross_entropy(score.masked_fill(blind, -1e4)[None], torch.tensor([target])))
    if not found:
        return total
    heads = network.judge(torch.stack(found))
    sure = torch.tensor(weight)
    keep = functional.binary_cross_entropy_with_logits(heads[:, KEEP], torch.tensor(keeps), weight=sure)
    need = functional.binary_cross_entropy_with_logits(heads[:, NEEDS], torch.tensor(needs))
    kind = (functional.cross_entropy(heads[:, KIND:TENSE], torch.tensor(kinds), reduction="none") * sure).mean()
    known = torch.tensor(tenses) >= 0
    tense = functional.cross_entropy(heads[known][:, TENSE:], torch.tensor(tenses)[known]) if known.any() else 0.0
    carried = torch.stack(pointing).mean() if pointing else 0.0
    return 2.0 * total + keep + 0.3 * need + 0.4 * kind + 0.3 * tense + 0.3 * carried


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--base", required=True)
    ask.add_argument("--layers", type=int, default=6)
    ask.add_argument("--epochs", type=int, default=6)
    ask.add_argument("--rate", type=float, default=8e-5)
    ask.add_argument("--train", nargs="+", type=Path, required=True)
    ask.add_argument("--held", nargs="*", type=Path, default=[])
    ask.add_argument("--names", nargs=2, type=Path, action="append", default=[], metavar=("LABELS", "SET"))
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
    rows = [row for path in given.train for row in read(path)]
    rows += [row for labels, talk in given.names for row in rejoined(labels, talk)]
    pool: dict[str, list[str]] = {kind: [] for kind in NAME_KINDS}
    for surface, kind in (name for row in rows for name in row.get("names", ())):
        pool[kind].append(surface)
    held = [row for path in given.held for row in read(path)]
    network = StatementNetwork(given.base, given.layers)
    if given.start:
        network.load_state_dict(torch.load(given.start / "network.pt")["state"])
    network.encoder.embeddings.requires_grad_(False)  # words that no row holds keep their place among those that rows hold
    slow = [p for n, p in network.named_parameters() if n.startswith("encoder") and p.requires_grad]
    fast = [p for n, p in network.named_parameters() if not n.startswith("encoder")]
    groups = [{"params": slow, "lr": given.rate}, {"params": fast, "lr": given.rate * 10}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = given.epochs * math.ceil(len(rows) / 16)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, [given.rate, given.rate * 10], total_steps=steps + 1, pct_start=0.1, anneal_strategy="linear"
    )
    begin = time.monotonic()
    for epoch in range(given.epochs):
        network.train()
        examples = [e for row in rows if (e := example(row, tokenizer, dice, pool)) is not None]
        seen = 0.0
        count = math.ceil(len(examples) / 16)
        for batch in batches(examples, 16, dice):
            with torch.autocast("cpu", dtype=torch.bfloat16):  # half the time, and no worse
                loss = loss_of(network, batch)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()
            seen += float(loss.detach())
        took = time.monotonic() - begin
        print(f"epoch {epoch + 1}/{given.epochs}: loss {seen / count:.3f}, {took:.0f} s", file=sys.stderr, flush=True)
        if held and epoch + 1 == given.epochs:
            network.eval()
            print(json.dumps(measure(network, [e for row in held if (e := example(row, tokenizer)) is not None])), flush=True)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        torch.save({"layers": given.layers, "state": network.state_dict()}, given.out / "network.pt")


if __name__ == "__main__":
    main()
