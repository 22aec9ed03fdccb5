"""Figures of a pair model on rows that it has not seen: how much is found while few of the others are taken for it."""

from __future__ import annotations

from collections.abc import Sequence

from rows import LABELS, REPLACES, SAME, Pair


def found_at(scores: Sequence[float], right: Sequence[bool], wrong: float) -> tuple[float, float]:
    """Return the share of right pairs above the threshold that lets through at most `wrong` of the others; and the threshold."""
    others = sorted((score for score, good in zip(scores, right, strict=True) if not good), reverse=True)
    threshold = others[min(int(len(others) * wrong), len(others) - 1)] if others else 0.5
    goods = [score for score, good in zip(scores, right, strict=True) if good]
    return sum(score > threshold for score in goods) / max(len(goods), 1), threshold


def measure(pairs: Sequence[Pair], scores: Sequence[Sequence[float]]) -> dict[str, object]:
    """Return accuracy, and for same and replaces the share found at 0.5, 2 and 10 % wrong, over all rows and the look-alikes."""
    labels = [pair.label for pair in pairs]
    best = [max(range(3), key=row.__getitem__) for row in scores]
    guessed = sum(label == guess for label, guess in zip(labels, best, strict=True))
    figures: dict[str, object] = {"pairs": len(pairs), "accuracy": guessed / len(pairs)}
    for label in (SAME, REPLACES):
        right = [one == label for one in labels]
        values = [row[label] for row in scores]
        figures[LABELS[label]] = {
            str(wrong): [round(x, 3) for x in found_at(values, right, wrong)] for wrong in (0.005, 0.02, 0.1)
        }
        by_kind: dict[str, list[float]] = {}
        threshold = found_at(values, right, 0.02)[1]
        for pair, value in zip(pairs, values, strict=True):
            by_kind.setdefault(f"{LABELS[pair.label]}/{pair.kind}", []).append(float(value > threshold))
        figures[f"{LABELS[label]} by kind at 2 %"] = {kind: round(sum(v) / len(v), 3) for kind, v in sorted(by_kind.items())}
    return figures
