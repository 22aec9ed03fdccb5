"""The job that links memories which are close in meaning and not linked yet (K10, §44.2): a few edges per memory, of moderate
confidence, so that they fade like all associations unless they are reinforced.

Neighbours come from the stored vectors: one search of the index per page. Closeness is measured in standard deviations above a
memory's mean cosine with the vault: statements of one vault have 0.81 ± 0.04 whatever their subject. Near duplicates are left to
merging, and statements of the same moment are in one session anyway. A memory that gets three edges at once gains a little
importance (§45, contract 10).

An edge that has faded is removed and makes room for another: a memory is visited again when the first of its edges has faded.
That visit does not link the same two again; the next change of either may.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from engram.dream.job import Job, JobContext, JobPage, by_scope
from engram.dream.limits import DreamLimits
from engram.rules.edges import fades_at, is_faded
from engram.types import Edge, Memory
from engram.values.dreams import AddLink, Cursor, Proposal, Recheck, RemoveLink, Reweigh
from engram.values.edges import EdgeWeights
from engram.values.frozen import frozen, replace

NAME = "links"
SIMILAR = "similar_to"
_A_DAY = timedelta(days=1)
_CONFIDENCE = 0.5
_CANDIDATES = 12
"""Neighbours to consider: some of them are linked already, or were stated at the same moment."""
_SAME_MOMENT = timedelta(minutes=30)
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_PRIOR = (1.0, 0.05)
"""Assumed mean and deviation of cosines in a small vault; they make an edge unlikely."""
_HUB_EDGES, _HUB_GAIN, _HUB_MOST = 3, 0.1, 0.9


@frozen
class Neighbour:
    """A near memory: standard deviations above the mean cosine (`nearer`), and the plain cosine."""

    memory: Memory
    nearer: float
    cosine: float


def page(context: JobContext, cursor: Cursor) -> JobPage:
    if context.index is None or not context.index.ready:
        return JobPage((), cursor, more=False, since=0, visited=0)  # a later pass continues here, once the index is loaded
    touched = context.touched_or_due(NAME, cursor)
    return touched.page([proposal for group in by_scope(touched.memories) for proposal in _proposals(context, group)])


def _proposals(context: JobContext, memories: Sequence[Memory]) -> list[Proposal]:
    """Return proposals for memories of one scope: new edges, importance gained by them, faded edges, dates of the next visit."""
    neighbours_of = neighbours(context, memories, _CANDIDATES)
    ends = {neighbour.memory.id for group in neighbours_of.values() for neighbour in group} | {memory.id for memory in memories}
    known = context.store.edges.of(context.scoped_to(memories[0]), sorted(ends))
    faded = dict.fromkeys(edge for edge in known if edge.kind == SIMILAR and is_faded(edge, context.now, context.edge_weights))
    new_edges = missing_edges(
        [memory for memory in memories if memory.id in neighbours_of], neighbours_of, known, faded, context.limits
    )
    remaining = [
        *(edge for edge in known if edge.kind == SIMILAR and edge not in faded),
        *(replace(edge, created_at=context.now) for edge in new_edges),
    ]
    return [
        *map(RemoveLink, faded),
        *map(AddLink, new_edges),
        *importance_gains(memories, new_edges),
        *_next_visits(memories, remaining, context.now, context.edge_weights),
    ]


def _next_visits(memories: Sequence[Memory], links: Iterable[Edge], now: datetime, weights: EdgeWeights) -> list[Recheck]:
    """Return the date on which each memory is visited again: a day after the first of its edges has faded."""
    first: dict[str, datetime] = {}
    for edge in links:
        if (at := fades_at(edge, weights)) is not None:
            first |= {end: min(first.get(end, at), at) for end in (edge.source, edge.target)}
    return [Recheck(memory.id, max(first[memory.id], now) + _A_DAY) for memory in memories if memory.id in first]


def importance_gains(memories: Sequence[Memory], new_edges: Iterable[Edge]) -> list[Reweigh]:
    """Return the gain of importance for memories that get three or more edges at once."""
    new_counts = Counter(end for edge in new_edges for end in (edge.source, edge.target))
    gained = (
        (memory, min(memory.importance + _HUB_GAIN, _HUB_MOST)) for memory in memories if new_counts[memory.id] >= _HUB_EDGES
    )
    return [Reweigh(memory.id, importance=importance) for memory, importance in gained if importance > memory.importance]


def missing_edges(
    memories: Sequence[Memory],
    neighbours_of: Mapping[str, Sequence[Neighbour]],
    known: Iterable[Edge],
    faded: Collection[Edge],
    limits: DreamLimits,
) -> list[Edge]:
    """Return the edges that these memories lack, from the newer to the older memory.

    No memory gets more than `dream_links` similarity edges that have not faded.
    """
    linked, edge_counts = set(), Counter[str]()
    for edge in known:
        linked.add(frozenset((edge.source, edge.target)))
        edge_counts.update((edge.source, edge.target) if edge.kind == SIMILAR and edge not in faded else ())
    new_edges = []
    for memory in memories:
        for neighbour in neighbours_of[memory.id]:
            pair = frozenset((memory.id, neighbour.memory.id))
            full = max(edge_counts[memory.id], edge_counts[neighbour.memory.id]) >= limits.dream_links
            if full or pair in linked or not belong_together(memory, neighbour, limits):
                continue
            newer, older = sorted((memory, neighbour.memory), key=lambda end: -end.key)
            weight = min(neighbour.nearer / (2.0 * limits.dream_nearer), 1.0)
            new_edges.append(Edge(newer.id, older.id, SIMILAR, round(weight, 3), _CONFIDENCE))
            linked.add(pair)
            edge_counts.update(pair)
    return new_edges


def belong_together(memory: Memory, neighbour: Neighbour, limits: DreamLimits) -> bool:
    """True if the two are close, different, and not of the same moment of one session. Flagged memories never belong."""
    near_memory = neighbour.memory
    if near_memory.id == memory.id or memory.flagged or near_memory.flagged or neighbour.nearer < limits.dream_nearer:
        return False
    apart = abs((near_memory.learned_at or _NEVER) - (memory.learned_at or _NEVER))
    return memory.session != near_memory.session or apart > _SAME_MOMENT


def neighbours(context: JobContext, memories: Sequence[Memory], most: int) -> dict[str, list[Neighbour]]:
    """Return the nearest memories of the same scope for each memory that has a vector, by id, the nearest first."""
    reader, index = context.scoped_to(memories[0]), context.index
    vectors = None if index is None else index.vectors(reader, [memory.key for memory in memories])
    if index is None or vectors is None:
        return {}
    with_vector = np.flatnonzero(np.isfinite(vectors).all(axis=1)).tolist()
    results = index.search_many(reader, vectors[with_vector], most) if with_vector else None
    if results is None:
        return {}
    keys = list(dict.fromkeys(key for nearest in results for key in nearest.keys.tolist()))
    known = {memory.key: memory for memory in context.store.memories.fetch(reader, keys)}
    neighbours_of: dict[str, list[Neighbour]] = {}
    for place, nearest in zip(with_vector, results, strict=True):
        middle, spread = index.background(vectors[place], _PRIOR)
        neighbours_of[memories[place].id] = [
            Neighbour(known[key], (score - middle) / max(spread, 1e-6), score)
            for key, score in zip(nearest.keys.tolist(), nearest.scores.tolist(), strict=True)
            if key in known
        ]
    return neighbours_of


LINK = Job(NAME, "Link memories that are close in meaning, and remove such links that have faded.", page)
