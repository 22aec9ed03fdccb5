"""The order of the best candidates, looked at again: diversity (MMR), or a model that reads question and text at once (§35.1)."""

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


def by_opinion(scores: npt.NDArray[np.float32], opinions: npt.NDArray[np.float32], weight: float) -> list[int]:
    """The order by what a reranking model says, blended with what was found before: both in standard deviations."""
    blended = weight * _standard(opinions) + (1.0 - weight) * _standard(scores)
    order: list[int] = np.argsort(-blended, kind="stable").tolist()
    return order


def _standard(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    spread = float(values.std()) or 1.0
    made: npt.NDArray[np.float32] = (values - values.mean()) / np.float32(spread)
    return made
