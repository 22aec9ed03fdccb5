"""Memories that say the same become one (K1): what several processes kept at once, what was kept without an encoder, imports.

Neighbours come from the vector index, or by their words where there is none; the words decide. The encoder alone cannot: it
takes "May 5" for "May 6" and "allergic" for "not allergic".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engram.capture.duplicates import adds_nothing
from engram.dream.invariants import TRUST, may_merge
from engram.dream.job import Desk, Job, Page, by_scope
from engram.index.term_plan import TermPlanner
from engram.rules.duplicates import means_the_same
from engram.text.english.grammar import named
from engram.text.terms import day_of, terms
from engram.types import Kind, Memory
from engram.values.dreams import Cursor, Merge
from engram.values.episodes import EPISODE

_NEIGHBOURS = 8
_POSTINGS = 2000


def page(desk: Desk, cursor: Cursor) -> Page:
    """The next memories, and which of them are to be retired for which."""
    touched = desk.touched(cursor)
    retired: dict[str, str] = {}
    for memory, near in _neighbours(desk, [one for one in touched.memories if _is_a_statement(one)]):
        for other in near:
            pair = ranked(memory, other)
            if pair is not None and not {one.id for one in pair} & retired.keys() and same(*pair):
                retired[pair[0].id] = pair[1].id
    heirs = set(retired.values())
    return touched.page([Merge(old, heir) for old, heir in retired.items() if old not in heirs])


def ranked(one: Memory, other: Memory) -> tuple[Memory, Memory] | None:
    """The one that goes and the one that stays: pinned, of better word, telling more, known longer. None if neither may go."""
    if one.id == other.id:
        return None
    old, heir = sorted((one, other), key=_worth)
    return (old, heir) if may_merge(old, heir) else None


def same(old: Memory, heir: Memory) -> bool:
    """Do these two, which are near, say the same of the same time, by the same person?"""
    if not (_is_a_statement(old) and _is_a_statement(heir)):
        return False
    alike = (old.kind, old.tier, named(old.speaker)) == (heir.kind, heir.tier, named(heir.speaker))
    return alike and day_of(old) == day_of(heir) and _in_other_words(old.text, heir.text)


def _is_a_statement(memory: Memory) -> bool:
    """Skills and episodes that were recorded have more than their words."""
    return memory.kind is not Kind.SKILL and memory.category != EPISODE


def _in_other_words(one: str, other: str) -> bool:
    """Neither adds anything to the other: one that says more may mean something else ("is ready", "is ready for review")."""
    return means_the_same(one, other) or (adds_nothing(one, other) and adds_nothing(other, one))


def _worth(memory: Memory) -> tuple[bool, int, int, int, int]:
    return memory.pinned, TRUST[memory.source], len(memory.text), memory.corroborations, -memory.key


def _neighbours(desk: Desk, memories: Sequence[Memory]) -> Iterable[tuple[Memory, list[Memory]]]:
    """Each memory with those of its scope that are near it."""
    for some in by_scope(memories):
        keys = _near(desk, some)
        fetched = desk.store.fetch(desk.here(some[0]), list(dict.fromkeys(key for near in keys for key in near)))
        found = {one.key: one for one in fetched}
        for memory, near in zip(some, keys, strict=True):
            yield memory, [found[key] for key in near if key in found and key != memory.key]


def _near(desk: Desk, some: Sequence[Memory]) -> list[list[int]]:
    """Keys of what is near each of these, which are of one scope."""
    here = desk.here(some[0])
    rows = desk.index.vectors(here, [one.key for one in some]) if desk.index is not None else None
    if desk.index is None or rows is None:
        return [_by_words(desk, one) for one in some]
    whole = [bool(np.isfinite(row).all()) for row in rows]
    found = desk.index.search_many(here, np.nan_to_num(rows), _NEIGHBOURS)
    if found is None:
        return [_by_words(desk, one) for one in some]
    return [
        near.keys[near.scores >= desk.settings.merge_cosine].tolist() if there else _by_words(desk, one)
        for one, near, there in zip(some, found, whole, strict=True)
    ]


def _by_words(desk: Desk, memory: Memory) -> list[int]:
    """Those that share its rarest words; how many entries of the text index are read for it is bounded."""
    here = desk.here(memory)
    planner = TermPlanner(lambda terms, most: desk.store.frequencies(here, terms, most=most))
    wanted = planner.plan(terms(memory.text), _POSTINGS, 0).terms
    return [hit.key for hit in desk.store.search_text(here, wanted, limit=_NEIGHBOURS)] if wanted else []


MERGE = Job("merge", "Merge memories of one scope that say the same.", page, light=True)
