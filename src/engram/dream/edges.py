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
from engram.rules.edges import fades_at, is_faded
from engram.settings import Settings
from engram.types import Edge, Memory
from engram.values.dreams import AddLink, Cursor, Proposal, Recheck, RemoveLink, Reweigh
from engram.values.frozen import frozen, replace

NAME = "links"
SIMILAR = "similar_to"
_A_DAY = timedelta(days=1)
_SURE = 0.5
_ASKED = 12
"""Neighbours to consider: some of them are linked already, or were stated at the same moment."""
_ONE_BREATH = timedelta(minutes=30)
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_PRIOR = (1.0, 0.05)
"""Assumed mean and deviation of cosines in a small vault; they make an edge unlikely."""
_INSIGHT, _GAINS, _MOST = 3, 0.1, 0.9


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
    return touched.page([one for some in by_scope(touched.memories) for one in _revisions(context, some)])


def _revisions(context: JobContext, memories: Sequence[Memory]) -> list[Proposal]:
    """Return proposals for memories of one scope: new edges, importance gained by them, faded edges, dates of the next visit."""
    near = neighbours(context, memories, _ASKED)
    ends = {one.memory.id for some in near.values() for one in some} | {memory.id for memory in memories}
    known = context.store.edges(context.here(memories[0]), sorted(ends))
    faded = dict.fromkeys(edge for edge in known if edge.kind == SIMILAR and is_faded(edge, context.now, context.settings))
    made = missing_edges([memory for memory in memories if memory.id in near], near, known, faded, context.settings)
    left = [
        *(edge for edge in known if edge.kind == SIMILAR and edge not in faded),
        *(replace(edge, created_at=context.now) for edge in made),
    ]
    return [
        *map(RemoveLink, faded),
        *map(AddLink, made),
        *importance_gains(memories, made),
        *_dates(memories, left, context.now, context.settings),
    ]


def _dates(memories: Sequence[Memory], links: Iterable[Edge], now: datetime, settings: Settings) -> list[Recheck]:
    """Return the date on which each memory is visited again: a day after the first of its edges has faded."""
    first: dict[str, datetime] = {}
    for edge in links:
        if (at := fades_at(edge, settings)) is not None:
            first |= {end: min(first.get(end, at), at) for end in (edge.source, edge.target)}
    return [Recheck(memory.id, max(first[memory.id], now) + _A_DAY) for memory in memories if memory.id in first]


def importance_gains(memories: Sequence[Memory], made: Iterable[Edge]) -> list[Reweigh]:
    """Return the gain of importance for memories that get three or more edges at once."""
    fresh = Counter(end for edge in made for end in (edge.source, edge.target))
    gained = ((memory, min(memory.importance + _GAINS, _MOST)) for memory in memories if fresh[memory.id] >= _INSIGHT)
    return [Reweigh(memory.id, importance=more) for memory, more in gained if more > memory.importance]


def missing_edges(
    memories: Sequence[Memory],
    near: Mapping[str, Sequence[Neighbour]],
    known: Iterable[Edge],
    faded: Collection[Edge],
    settings: Settings,
) -> list[Edge]:
    """Return the edges that these memories lack, from the newer to the older memory.

    No memory gets more than `dream_links` similarity edges that have not faded.
    """
    linked, having = set(), Counter[str]()
    for edge in known:
        linked.add(frozenset((edge.source, edge.target)))
        having.update((edge.source, edge.target) if edge.kind == SIMILAR and edge not in faded else ())
    made = []
    for memory in memories:
        for other in near[memory.id]:
            pair = frozenset((memory.id, other.memory.id))
            full = max(having[memory.id], having[other.memory.id]) >= settings.dream_links
            if full or pair in linked or not belong_together(memory, other, settings):
                continue
            newer, older = sorted((memory, other.memory), key=lambda one: -one.key)
            weight = min(other.nearer / (2.0 * settings.dream_nearer), 1.0)
            made.append(Edge(newer.id, older.id, SIMILAR, round(weight, 3), _SURE))
            linked.add(pair)
            having.update(pair)
    return made


def belong_together(memory: Memory, other: Neighbour, settings: Settings) -> bool:
    """True if the two are close, different, and not of the same moment of one session. Flagged memories never belong."""
    there = other.memory
    if there.id == memory.id or memory.flagged or there.flagged or other.nearer < settings.dream_nearer:
        return False
    apart = abs((there.learned_at or _NEVER) - (memory.learned_at or _NEVER))
    return memory.session != there.session or apart > _ONE_BREATH


def neighbours(context: JobContext, memories: Sequence[Memory], most: int) -> dict[str, list[Neighbour]]:
    """Return the nearest memories of the same scope for each memory that has a vector, by id, the nearest first."""
    here, index = context.here(memories[0]), context.index
    vectors = None if index is None else index.vectors(here, [memory.key for memory in memories])
    if index is None or vectors is None:
        return {}
    having = np.flatnonzero(np.isfinite(vectors).all(axis=1)).tolist()
    found = index.search_many(here, vectors[having], most) if having else None
    if found is None:
        return {}
    keys = list(dict.fromkeys(key for one in found for key in one.keys.tolist()))
    known = {memory.key: memory for memory in context.store.fetch(here, keys)}
    near: dict[str, list[Neighbour]] = {}
    for place, one in zip(having, found, strict=True):
        middle, spread = index.background(vectors[place], _PRIOR)
        near[memories[place].id] = [
            Neighbour(known[key], (score - middle) / max(spread, 1e-6), score)
            for key, score in zip(one.keys.tolist(), one.scores.tolist(), strict=True)
            if key in known
        ]
    return near


LINK = Job(NAME, "Link memories that are close in meaning, and remove such links that have faded.", page)
