"""Spreading activation (R5, §5): from what a question found, over links, to what belongs to it. Pure.

Comes in: where it starts and how strongly, and a way to ask for the links of some memories. Goes out: what was reached, how
strongly, and by which way. Each step keeps a share of what there was (`decay`); of several ways the strongest counts, so that
nothing grows by going in circles or by having many links; what is too faint is let go. Each step asks once for all links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from engram.frozen import field, frozen, mutable
from engram.recall.fusion import Keys, Scores
from engram.recall.recall_weights import RecallWeights
from engram.store.sqlite.nearby import Step

Follow = Callable[[Sequence[int]], Sequence[Step]]
_ROUNDS, _RESTART = 20, 0.15


@frozen
class Way:
    """How something was reached: where that began, over which links or names, and whether a name was among them."""

    start: int
    by: tuple[str, ...]
    named: bool = False


@frozen
class Reached:
    """What was reached, the strongest first: its activation (0 … 1) and the way there. A start may be reached from another."""

    keys: Keys
    levels: Scores
    ways: Mapping[int, Way]


def spread(starts: Mapping[int, float], follow: Follow, weights: RecallWeights, *, hops: int, most: int) -> Reached:
    """Let activation flow for so many steps. `most` bounds what a step goes on from."""
    flow = _Flow(dict(starts), {key: Way(key, ()) for key in starts})
    steps: list[Step] = []
    front = list(starts)
    for _ in range(hops):
        taken = follow(front)
        steps += taken
        raised = flow.take(taken, weights.graph_decay, weights.graph_threshold)
        front = sorted(raised, key=lambda key: (-flow.levels[key], key))[:most]
        if not front:
            break
    got = _refined(flow.got, starts, steps) if weights.graph_rank else flow.got
    reached = sorted(got, key=lambda key: (-got[key], -key))
    strengths = np.array([got[key] for key in reached], np.float32)
    return Reached(np.array(reached, np.int64), strengths, {key: flow.came[key] for key in reached})


@mutable
class _Flow:
    """Activation under way: what each memory has, and by which way; what each got over links, and by which way that came."""

    levels: dict[int, float]
    ways: dict[int, Way]
    got: dict[int, float] = field(default_factory=dict)
    came: dict[int, Way] = field(default_factory=dict)

    def take(self, steps: Sequence[Step], decay: float, least: float) -> set[int]:
        """All these steps at once, from what there was before them; returns what has more for it."""
        before, ways, raised = dict(self.levels), dict(self.ways), set()
        for here, there, by, sure, named in steps:
            level = before[here] * sure * decay
            if level < least or ways[here].start == there:  # what comes back to where it began says nothing
                continue
            if level > self.got.get(there, 0.0):
                self.got[there] = level
                self.came[there] = Way(ways[here].start, (*ways[here].by, by), named or ways[here].named)
            if level > self.levels.get(there, 0.0):
                self.levels[there] = level
                self.ways[there] = self.came[there]
                raised.add(there)
        return raised


def _refined(got: Mapping[int, float], starts: Mapping[int, float], steps: Sequence[Step]) -> dict[int, float]:
    """With what many ways lead to above what one leads to: PageRank that begins anew where the question began.

    What was reached keeps between half and all of its activation, by its rank among all that was.
    """
    keys = np.array(sorted(got.keys() | starts.keys()), np.int64)
    known = [step for step in steps if step.there in got]
    if not known:
        return dict(got)
    here = np.searchsorted(keys, [step.here for step in known])
    there = np.searchsorted(keys, [step.there for step in known])
    sure = np.array([step.sure for step in known])
    gone = np.maximum(np.bincount(here, sure, len(keys)), 1e-12)
    begin = np.array([starts.get(key, 0.0) for key in keys.tolist()])
    begin /= max(float(begin.sum()), 1e-12)
    rank = begin
    for _ in range(_ROUNDS):
        rank = _RESTART * begin + (1.0 - _RESTART) * np.bincount(there, rank[here] * sure / gone[here], len(keys))
    ranks = dict(zip(keys.tolist(), rank.tolist(), strict=True))
    top = max(ranks[key] for key in got)
    return {key: level * (0.5 + 0.5 * ranks[key] / top) for key, level in got.items()}
