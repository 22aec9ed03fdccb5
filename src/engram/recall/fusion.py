"""Combine the results of several arms into one ranking. Pure.

`fuse_calibrated` (the default) adds scores on a common scale: the vector arm's cosine in standard deviations above the cosine
that the question has to an average memory, and BM25 unchanged, because it is already a sum of log odds. On the development split
it finds 3 to 5 points more evidence in the first ten hits than reciprocal ranks do, because an outstanding text match keeps its
lead (docs/notes/recall.md). `fuse_reciprocal_ranks` is weighted RRF, for arms whose scores are not comparable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from engram.values.frozen import frozen

Keys = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]


@frozen
class ArmResult:
    """Candidates of one arm, best first, with scores on the arm's own scale.

    `background` and `spread` are the mean and the standard deviation of that scale. `most` is the highest score that a candidate
    could reach, or None if it is unknown.
    """

    name: str
    keys: Keys
    scores: Scores
    background: float = 0.0
    spread: float = 1.0
    most: float | None = None

    def calibrated(self) -> Scores:
        """Return the scores in standard deviations above the background."""
        scores: Scores = (self.scores - np.float32(self.background)) / np.float32(max(self.spread, 1e-6))
        return scores


@frozen
class Ranking:
    """Candidates best first, each with its score and the named parts that the score is the sum of.

    For every arm: the candidate's rank there (0 if the arm did not find it), its raw score and its weighted part. `calibrated` is
    False where scores come from ranks, which are on no scale that further parts could be added to.
    """

    keys: Keys
    scores: Scores
    ranks: Mapping[str, npt.NDArray[np.int64]]
    raw: Mapping[str, Scores]
    parts: Mapping[str, Scores]
    calibrated: bool = True

    def reordered(self, order: Sequence[int]) -> Ranking:
        """Return the candidates in the order of these positions."""
        positions = np.asarray(order, np.int64)
        return Ranking(
            self.keys[positions],
            self.scores[positions],
            {name: values[positions] for name, values in self.ranks.items()},
            {name: values[positions] for name, values in self.raw.items()},
            {name: values[positions] for name, values in self.parts.items()},
            self.calibrated,
        )

    def with_first(self, keys: Sequence[int], order: Sequence[int]) -> Ranking:
        """Return the ranking with `keys` at the top, in `order` (positions in `keys`), and all others below as they were."""
        position_of = self._positions()
        head = [position_of[keys[place]] for place in order]
        chosen = set(head)
        return self.reordered([*head, *(position for position in range(len(self.keys)) if position not in chosen)])

    def scores_of(self, keys: Sequence[int]) -> Scores:
        """Return the scores of these candidates, in the order of `keys`."""
        position_of = self._positions()
        return self.scores[[position_of[key] for key in keys]]

    def _positions(self) -> dict[int, int]:
        return {key: position for position, key in enumerate(self.keys.tolist())}


def fuse_calibrated(arms: Sequence[ArmResult], weights: Mapping[str, float]) -> Ranking:
    """Rank by the weighted sum of calibrated scores; an arm adds nothing to candidates that it did not find."""
    return _fuse(arms, {arm.name: weights.get(arm.name, 0.0) * arm.calibrated() for arm in arms}, calibrated=True)


def fuse_reciprocal_ranks(arms: Sequence[ArmResult], weights: Mapping[str, float], k: int = 60) -> Ranking:
    """Rank by weighted reciprocal rank fusion, scaled so that a candidate that leads every arm scores 1."""
    total = sum(weights.get(arm.name, 0.0) for arm in arms) or 1.0
    parts = {}
    for arm in arms:
        ranks = np.arange(1, len(arm.keys) + 1, dtype=np.float32)
        parts[arm.name] = (weights.get(arm.name, 0.0) / total * (k + 1) / (k + ranks)).astype(np.float32)
    return _fuse(arms, parts, calibrated=False)


def _fuse(arms: Sequence[ArmResult], arm_parts: Mapping[str, Scores], *, calibrated: bool) -> Ranking:
    keys: Keys = np.unique(np.concatenate([arm.keys for arm in arms])) if arms else np.empty(0, np.int64)
    total = np.zeros(len(keys), np.float32)
    ranks, raw, parts = {}, {}, {}
    for arm in arms:
        at = np.searchsorted(keys, arm.keys)
        rank = np.zeros(len(keys), np.int64)
        rank[at] = np.arange(1, len(arm.keys) + 1)
        score = np.zeros(len(keys), np.float32)
        score[at] = arm.scores
        part = np.zeros(len(keys), np.float32)
        part[at] = arm_parts[arm.name]
        ranks[arm.name], raw[arm.name], parts[arm.name] = rank, score, part
        total += part
    order = np.lexsort((-keys, -total))  # of equal scores the newer memory first
    return Ranking(keys, total, ranks, raw, parts, calibrated).reordered(order.tolist())
