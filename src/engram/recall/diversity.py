"""Maximal marginal relevance: a hit is held back as far as it is like those already taken (§35.1)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engram.models.embed import Vectors


def mmr(scores: npt.NDArray[np.float32], vectors: Vectors, weight: float) -> list[int]:
    """The order in which to take candidates: places in `scores`, which is best first. NaN vectors are like nothing.

    A score loses up to `weight` of the best score, by the greatest cosine with anything taken before.
    """
    known = np.nan_to_num(vectors)
    likeness = known @ known.T
    best = float(scores[0]) if len(scores) else 0.0
    left = list(range(len(scores)))
    order: list[int] = []
    worst = np.zeros(len(scores), np.float32)
    while left:
        marginal = scores[left] - weight * best * worst[left]
        taken = left.pop(int(np.argmax(marginal)))
        order.append(taken)
        worst = np.maximum(worst, likeness[taken])
    return order
