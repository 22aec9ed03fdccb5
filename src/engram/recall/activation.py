"""Spread activation from the memories that a question found, over links, to related ones (R5, §5). Pure.

The starting memories with their activation and a function that reads links come in; the memories that were reached, each with its
activation and the path there, go out. Every link keeps a share of the activation (`graph_decay`). Of several paths to a memory
the strongest counts, so that nothing grows by cycles or by having many links; activation under `graph_threshold` goes no further.
Each hop reads all of its links at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from engram.recall.fusion import Keys, Scores
from engram.recall.weights import RecallWeights
from engram.values.frozen import field, frozen, mutable
from engram.values.query import Hop

Follow = Callable[[Sequence[int]], Sequence[Hop]]
_ROUNDS, _RESTART = 20, 0.15  # of personalized PageRank: rounds, and the chance to restart


CAUSAL_LINKS = frozenset({"causes", "caused", "caused_by", "because", "because_of", "leads_to", "led_to", "results_in"})
"""Kinds of links that say why something happened, in either direction."""


@frozen
class LinkPath:
    """The path to a memory: the memory where it starts, its links or names, and True if a name is among them."""

    start: int
    by: tuple[str, ...]
    named: bool = False

    @property
    def is_causal(self) -> bool:
        """True if every link of the path says why something happened."""
        return bool(self.by) and CAUSAL_LINKS.issuperset(self.by)


@frozen
class Activation:
    """The memories that were reached, strongest first, with levels of 0 to 1 and paths. A start may be reached from another."""

    keys: Keys
    levels: Scores
    paths: Mapping[int, LinkPath]


def spread(starts: Mapping[int, float], follow: Follow, weights: RecallWeights, *, hops: int, most: int) -> Activation:
    """Spread activation over so many hops; each hop continues from the `most` memories whose level rose most."""
    flow = _Flow(dict(starts), {key: LinkPath(key, ()) for key in starts})
    steps: list[Hop] = []
    front = list(starts)
    for _ in range(hops):
        followed = follow(front)
        steps += followed
        raised = flow.pass_on(followed, weights.graph_decay, weights.graph_threshold)
        front = sorted(raised, key=lambda key: (-flow.levels[key], key))[:most]
        if not front:
            break
    received = _ranked(flow.received, starts, steps) if weights.graph_rank else flow.received
    reached = sorted(received, key=lambda key: (-received[key], -key))
    levels = np.array([received[key] for key in reached], np.float32)
    return Activation(np.array(reached, np.int64), levels, {key: flow.received_by[key] for key in reached})


@mutable
class _Flow:
    """Activation while it spreads: the level of each memory with its path, and what each received over links with that path."""

    levels: dict[int, float]
    paths: dict[int, LinkPath]
    received: dict[int, float] = field(default_factory=dict)
    received_by: dict[int, LinkPath] = field(default_factory=dict)

    def pass_on(self, steps: Sequence[Hop], decay: float, least: float) -> set[int]:
        """Pass activation over these links at once, from the levels before them; return the memories whose level rose."""
        before, paths, raised = dict(self.levels), dict(self.paths), set()
        for here, there, by, sure, named in steps:
            level = before[here] * sure * decay
            if level < least or paths[here].start == there:  # a path back to its start says nothing
                continue
            if level > self.received.get(there, 0.0):
                self.received[there] = level
                self.received_by[there] = LinkPath(paths[here].start, (*paths[here].by, by), named or paths[here].named)
            if level > self.levels.get(there, 0.0):
                self.levels[there] = level
                self.paths[there] = self.received_by[there]
                raised.add(there)
        return raised


def _ranked(received: Mapping[int, float], starts: Mapping[int, float], steps: Sequence[Hop]) -> dict[int, float]:
    """Scale activation by personalized PageRank, so that memories with many paths to them stand above those with one.

    PageRank restarts at the memories of the question. A memory keeps between half and all of its activation, by its rank.
    """
    keys = np.array(sorted(received.keys() | starts.keys()), np.int64)
    known = [step for step in steps if step.there in received]
    if not known:
        return dict(received)
    here = np.searchsorted(keys, [step.here for step in known])
    there = np.searchsorted(keys, [step.there for step in known])
    sure = np.array([step.sure for step in known])
    outgoing = np.maximum(np.bincount(here, sure, len(keys)), 1e-12)
    restart = np.array([starts.get(key, 0.0) for key in keys.tolist()])
    restart /= max(float(restart.sum()), 1e-12)
    rank = restart
    for _ in range(_ROUNDS):
        rank = _RESTART * restart + (1.0 - _RESTART) * np.bincount(there, rank[here] * sure / outgoing[here], len(keys))
    ranks = dict(zip(keys.tolist(), rank.tolist(), strict=True))
    top = max(ranks[key] for key in received)
    return {key: level * (0.5 + 0.5 * ranks[key] / top) for key, level in received.items()}
