"""The order of the best candidates, looked at again: diversity (MMR), or a model that reads question and text at once (§35.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engram.models.embedders import Vectors
from engram.recall.fusion import Scores


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


def newest(scores: Scores, vectors: Vectors, moments: Sequence[int | None], speakers: Sequence[str], like: float) -> list[int]:
    """The order in which, of candidates by one speaker that say nearly the same of something, the newest stands first.

    Only where it is nearly as good a match: what was true last is worth more than what was said best, but not than the answer.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.nan_to_num(vectors / np.maximum(lengths, 1e-9))
    alike = units @ units.T >= like
    order = list(range(len(scores)))
    for place in range(len(order)):
        above = order[place]
        for lower in range(place + 1, len(order)):
            below = order[lower]
            later, earlier = moments[below], moments[above]
            if later is None or earlier is None or later <= earlier or speakers[above] != speakers[below]:
                continue
            if alike[above, below] and scores[below] >= _NEARLY * scores[above] > 0:
                order.insert(place, order.pop(lower))
                break
    return order


_NEARLY = 0.85
