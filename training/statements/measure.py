"""Figures of a fitted statement model on rows that it has not seen."""

from __future__ import annotations

import torch
from network import KEEP, KIND, NEEDS, TENSE, pooled
from rows import BEGIN, KINDS, OUTSIDE, Example


def decode(borders: torch.Tensor, first: int, count: int, bias: float = 0.0) -> list[tuple[int, int]]:
    """Return the pieces that the border scores mean: a piece runs from a beginning to the next beginning or outside token."""
    scores = borders[first : first + count].clone()
    scores[:, BEGIN] += bias
    found: list[list[int]] = []
    is_open = False
    for n, label in enumerate(scores.argmax(-1).tolist()):
        place = first + n
        if label == BEGIN or (label != OUTSIDE and not is_open):
            found.append([place, place + 1])
            is_open = True
        elif label == OUTSIDE:
            is_open = False
        else:
            found[-1][1] = place + 1
    return [(a, b) for a, b in found]


def spans_of(tags: list[int]) -> set[tuple[int, int, int]]:
    """Return the names that tags mean: first token, token after the last, kind."""
    found: list[list[int]] = []
    for place, tag in enumerate(tags):
        if tag <= 0:
            continue
        kind, inside = (tag - 1) // 2, (tag - 1) % 2
        if inside and found and found[-1][1] == place and found[-1][2] == kind:
            found[-1][1] = place + 1
        else:
            found.append([place, place + 1, kind])
    return {(low, high, kind) for low, high, kind in found}


def auroc(scores: list[float], labels: list[bool]) -> float:
    pairs = sorted(zip(scores, labels, strict=True))
    ranks = positives = 0
    for rank, (_, label) in enumerate(pairs, 1):
        if label:
            ranks += rank
            positives += 1
    negatives = len(pairs) - positives
    return (ranks - positives * (positives + 1) / 2) / max(positives * negatives, 1)


@torch.no_grad()
def measure(network, examples: list[Example]) -> dict[str, float]:
    exact = found = gold = kind = tense = tensed = pieces = 0
    begin_hit = begin_found = begin_gold = 0
    scores, labels, needs, needed = [], [], [], []
    junk = facts = 0
    at = {level: {"junk": 0, "kept": 0, "instruction": 0, "request": 0} for level in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)}
    instructions = requests = 0
    named_right = named_found = named_gold = 0
    for e in examples:
        ids = torch.tensor([e.ids])
        letters = torch.tensor([e.letters])
        scored, _pointer, states, tags = network(ids, torch.ones_like(ids), torch.tensor([e.segments]), letters)
        states = states[0]
        if max(e.names, default=-1) >= 0:
            guessed, true = spans_of(tags[0].argmax(-1).tolist()), spans_of(e.names)
            named_right += len(guessed & true)
            named_found += len(guessed)
            named_gold += len(true)
        spans = decode(scored[0], e.first, len(e.offsets))
        truth = {(p.start, p.end) for p in e.pieces}
        exact += len(truth & set(spans))
        found += len(spans)
        gold += len(truth)
        b, g = {s for s, _ in spans}, {s for s, _ in truth}
        begin_hit += len(b & g)
        begin_found += len(b)
        begin_gold += len(g)
        for p in e.pieces:
            head = network.judge(pooled(states, p.start, p.end))
            scores.append(float(head[KEEP]))
            labels.append(p.keep)
            needs.append(float(head[NEEDS]))
            needed.append(p.needs)
            kind += int(head[KIND:TENSE].argmax()) == p.kind
            if p.tense >= 0 and p.keep:
                tense += int(head[TENSE:].argmax()) == p.tense
                tensed += 1
            pieces += 1
        chances = [float(torch.sigmoid(network.judge(pooled(states, a, b))[KEEP])) for a, b in spans]
        best = max(chances, default=0.0)
        is_junk = not any(p.keep for p in e.pieces)
        junk += is_junk
        kinds = {KINDS[p.kind] for p in e.pieces if not p.doubt}
        is_instruction, is_request = "instruction" in kinds, kinds == {"request"}
        instructions += is_instruction
        requests += is_request
        facts += sum(p.keep for p in e.pieces)
        for level, counts in at.items():
            counts["junk"] += is_junk and best >= level
            counts["instruction"] += is_instruction and best >= level
            counts["request"] += is_request and best >= level
            counts["kept"] += sum(
                p.keep and any(c >= level and a < p.end and p.start < b for (a, b), c in zip(spans, chances, strict=True))
                for p in e.pieces
            )
    return {
        "rows": len(examples),
        "pieces": pieces,
        "exact_p": exact / max(found, 1),
        "exact_r": exact / max(gold, 1),
        "begin_p": begin_hit / max(begin_found, 1),
        "begin_r": begin_hit / max(begin_gold, 1),
        "keep_auroc": auroc(scores, labels),
        "needs_auroc": auroc(needs, needed),
        "kind": kind / max(pieces, 1),
        "tense": tense / max(tensed, 1),
        "names_p": named_right / max(named_found, 1),
        "names_r": named_right / max(named_gold, 1),
        "at": {
            level: {
                "kept": round(counts["kept"] / max(facts, 1), 3), "junk_rows": round(counts["junk"] / max(junk, 1), 3),
                "instructions": round(counts["instruction"] / max(instructions, 1), 3),
                "requests": round(counts["request"] / max(requests, 1), 3),
            }
            for level, counts in at.items()
        },
    }  # fmt: skip
