"""The job that merges memories which say the same (K1): stored by several processes at once, without an encoder, or imported.

Neighbours come from the vector index, or from the text index if there is none; the words decide. The encoder alone cannot: it
takes "May 5" for "May 6" and "allergic" for "not allergic".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engram.capture.duplicates import adds_nothing
from engram.dream.invariants import TRUST, may_merge
from engram.dream.job import Job, JobContext, JobPage, by_scope
from engram.index.term_plan import TermPlanner
from engram.rules.duplicates import means_the_same
from engram.text.english.grammar import named
from engram.text.terms import day_of, terms
from engram.types import Kind, Memory
from engram.values.dreams import Cursor, Merge
from engram.values.episodes import EPISODE

_NEIGHBOURS = 8
_POSTINGS = 2000


def page(context: JobContext, cursor: Cursor) -> JobPage:
    """Return the next page: which memories are to be merged into which."""
    touched = context.touched(cursor)
    retired: dict[str, str] = {}
    for memory, near in _neighbours(context, [one for one in touched.memories if _is_a_statement(one)]):
        for other in near:
            pair = ranked(memory, other)
            if pair is not None and not {one.id for one in pair} & retired.keys() and same(*pair):
                retired[pair[0].id] = pair[1].id
    heirs = set(retired.values())
    return touched.page([Merge(old, heir) for old, heir in retired.items() if old not in heirs])


def ranked(one: Memory, other: Memory) -> tuple[Memory, Memory] | None:
    """Return the memory to retire and the one to keep; None if neither may be retired.

    Kept is the pinned one, else that of the more trusted source, the longer text, more corroborations, the older.
    """
    if one.id == other.id:
        return None
    old, heir = sorted((one, other), key=_worth)
    return (old, heir) if may_merge(old, heir) else None


def same(old: Memory, heir: Memory) -> bool:
    """True if two neighbours say the same about the same day, by the same speaker."""
    if not (_is_a_statement(old) and _is_a_statement(heir)):
        return False
    alike = (old.kind, old.tier, named(old.speaker)) == (heir.kind, heir.tier, named(heir.speaker))
    return alike and day_of(old) == day_of(heir) and _in_other_words(old.text, heir.text)


def _is_a_statement(memory: Memory) -> bool:
    """False for skills and recorded episodes, which consist of more than their text."""
    return memory.kind is not Kind.SKILL and memory.category != EPISODE


def _in_other_words(one: str, other: str) -> bool:
    """True if neither text adds to the other; a longer one may mean something else ("is ready", "is ready for review")."""
    return means_the_same(one, other) or (adds_nothing(one, other) and adds_nothing(other, one))


def _worth(memory: Memory) -> tuple[bool, int, int, int, int]:
    return memory.pinned, TRUST[memory.source], len(memory.text), memory.corroborations, -memory.key


def _neighbours(context: JobContext, memories: Sequence[Memory]) -> Iterable[tuple[Memory, list[Memory]]]:
    """Yield each memory with its neighbours in the same scope."""
    for some in by_scope(memories):
        keys = _near(context, some)
        fetched = context.store.fetch(context.here(some[0]), list(dict.fromkeys(key for near in keys for key in near)))
        found = {one.key: one for one in fetched}
        for memory, near in zip(some, keys, strict=True):
            yield memory, [found[key] for key in near if key in found and key != memory.key]


def _near(context: JobContext, some: Sequence[Memory]) -> list[list[int]]:
    """Return the keys of the neighbours of each memory; all memories are of one scope."""
    here = context.here(some[0])
    rows = context.index.vectors(here, [one.key for one in some]) if context.index is not None else None
    if context.index is None or rows is None:
        return [_by_words(context, one) for one in some]
    whole = [bool(np.isfinite(row).all()) for row in rows]
    found = context.index.search_many(here, np.nan_to_num(rows), _NEIGHBOURS)
    if found is None:
        return [_by_words(context, one) for one in some]
    return [
        near.keys[near.scores >= context.settings.merge_cosine].tolist() if there else _by_words(context, one)
        for one, near, there in zip(some, found, whole, strict=True)
    ]


def _by_words(context: JobContext, memory: Memory) -> list[int]:
    """Return the keys of memories that share its rarest words, within a budget of postings."""
    here = context.here(memory)
    planner = TermPlanner(lambda terms, most: context.store.frequencies(here, terms, most=most))
    wanted = planner.plan(terms(memory.text), _POSTINGS, 0).terms
    return [hit.key for hit in context.store.search_text(here, wanted, limit=_NEIGHBOURS)] if wanted else []


MERGE = Job("merge", "Merge memories of one scope that say the same.", page, light=True)
