"""Memories that are close in meaning and stand in no link get one (K10, §44.2): a few for each, modestly sure, so that they fade
as all associations do unless somebody sees them again.

By the stored vectors: one search of the index for a page of memories. How close is close is told by how near a memory is to
anything, in standard deviations: statements of one vault are alike by 0.81 ± 0.04 whatever they are about. What says nearly the
same is a matter for merging, and what was said in one breath stands together anyway. What turns out to belong to three others at
once matters a little more from then on (§45, contract 10).

A link that faded until nobody follows it goes, and leaves its place to another: a memory is looked at again when the first of its
links does. The same two are not linked again by that look, but by the next change of either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from engram.dream.job import Desk, Job, Page, by_scope
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
"""Neighbours that are looked at: some of them are linked already, or were said in the same breath."""
_ONE_BREATH = timedelta(minutes=30)
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)
_PRIOR = (1.0, 0.05)
"""As long as there is little to compare with, it speaks against a link."""
_INSIGHT, _GAINS, _MOST = 3, 0.1, 0.9


@frozen
class Near:
    """A memory that is near another: by how many standard deviations nearer than anything is, and the bare cosine."""

    memory: Memory
    nearer: float
    cosine: float


def page(desk: Desk, cursor: Cursor) -> Page:
    if desk.index is None or not desk.index.ready:
        return Page((), cursor, more=False, since=0, visited=0)  # once there are vectors at hand, it goes on from here
    touched = desk.touched_or_due(NAME, cursor)
    return touched.page([one for some in by_scope(touched.memories) for one in _revisions(desk, some)])


def _revisions(desk: Desk, memories: Sequence[Memory]) -> list[Proposal]:
    """The links that memories of one scope lack, and what they gain by them; those that have faded, and when the next will."""
    near = neighbours(desk, memories, _ASKED)
    ends = {one.memory.id for some in near.values() for one in some} | {memory.id for memory in memories}
    known = desk.store.edges(desk.here(memories[0]), sorted(ends))
    faded = dict.fromkeys(edge for edge in known if edge.kind == SIMILAR and is_faded(edge, desk.now, desk.settings))
    made = latent([memory for memory in memories if memory.id in near], near, known, faded, desk.settings)
    left = [
        *(edge for edge in known if edge.kind == SIMILAR and edge not in faded),
        *(replace(edge, created_at=desk.now) for edge in made),
    ]
    return [
        *map(RemoveLink, faded),
        *map(AddLink, made),
        *insights(memories, made),
        *_dates(memories, left, desk.now, desk.settings),
    ]


def _dates(memories: Sequence[Memory], links: Iterable[Edge], now: datetime, settings: Settings) -> list[Recheck]:
    """When the first of the links of each of these memories will have faded."""
    first: dict[str, datetime] = {}
    for edge in links:
        if (at := fades_at(edge, settings)) is not None:
            first |= {end: min(first.get(end, at), at) for end in (edge.source, edge.target)}
    return [Recheck(memory.id, max(first[memory.id], now) + _A_DAY) for memory in memories if memory.id in first]


def insights(memories: Sequence[Memory], made: Iterable[Edge]) -> list[Reweigh]:
    """Those of these memories that get three links or more at once."""
    fresh = Counter(end for edge in made for end in (edge.source, edge.target))
    gained = ((memory, min(memory.importance + _GAINS, _MOST)) for memory in memories if fresh[memory.id] >= _INSIGHT)
    return [Reweigh(memory.id, importance=more) for memory, more in gained if more > memory.importance]


def latent(
    memories: Sequence[Memory],
    near: Mapping[str, Sequence[Near]],
    known: Iterable[Edge],
    faded: Collection[Edge],
    settings: Settings,
) -> list[Edge]:
    """The links that these memories lack, from the newer to the older; no memory has more than `dream_links` of them that
    have not `faded`."""
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


def belong_together(memory: Memory, other: Near, settings: Settings) -> bool:
    """Are these two close, not the same, and not of one breath? What reads as an attack belongs to nothing."""
    there = other.memory
    if there.id == memory.id or memory.flagged or there.flagged or other.nearer < settings.dream_nearer:
        return False
    apart = abs((there.learned_at or _NEVER) - (memory.learned_at or _NEVER))
    return memory.session != there.session or apart > _ONE_BREATH


def neighbours(desk: Desk, memories: Sequence[Memory], most: int) -> dict[str, list[Near]]:
    """The nearest memories of the same scope to each of these that has a vector, by its id, the nearest first."""
    here, index = desk.here(memories[0]), desk.index
    vectors = None if index is None else index.vectors(here, [memory.key for memory in memories])
    if index is None or vectors is None:
        return {}
    having = np.flatnonzero(np.isfinite(vectors).all(axis=1)).tolist()
    found = index.search_many(here, vectors[having], most) if having else None
    if found is None:
        return {}
    keys = list(dict.fromkeys(key for one in found for key in one.keys.tolist()))
    known = {memory.key: memory for memory in desk.store.fetch(here, keys)}
    near: dict[str, list[Near]] = {}
    for place, one in zip(having, found, strict=True):
        middle, spread = index.background(vectors[place], _PRIOR)
        near[memories[place].id] = [
            Near(known[key], (score - middle) / max(spread, 1e-6), score)
            for key, score in zip(one.keys.tolist(), one.scores.tolist(), strict=True)
            if key in known
        ]
    return near


LINK = Job(NAME, "Link memories that are close in meaning and stand in no link; let go of such links that have faded.", page)
