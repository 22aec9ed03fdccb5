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
from engram.index.terms import TermPlanner
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
    for memory, neighbours in _neighbours(context, [memory for memory in touched.memories if _is_a_statement(memory)]):
        for neighbour in neighbours:
            pair = ranked(memory, neighbour)
            if pair is not None and not {member.id for member in pair} & retired.keys() and is_duplicate(*pair):
                retired[pair[0].id] = pair[1].id
    successors = set(retired.values())
    return touched.page([Merge(old, successor) for old, successor in retired.items() if old not in successors])


def ranked(first: Memory, second: Memory) -> tuple[Memory, Memory] | None:
    """Return the memory to retire and the one to keep; None if neither may be retired.

    Kept is the pinned one, else that of the more trusted source, the longer text, more corroborations, the older.
    """
    if first.id == second.id:
        return None
    old, successor = sorted((first, second), key=_preference)
    return (old, successor) if may_merge(old, successor) else None


def is_duplicate(old: Memory, successor: Memory) -> bool:
    """True if two neighbours say the same about the same day, by the same speaker."""
    if not (_is_a_statement(old) and _is_a_statement(successor)):
        return False
    alike = (old.kind, old.tier, named(old.speaker)) == (successor.kind, successor.tier, named(successor.speaker))
    return alike and day_of(old) == day_of(successor) and _means_the_same(old.text, successor.text)


def _is_a_statement(memory: Memory) -> bool:
    """False for skills and recorded episodes, which consist of more than their text."""
    return memory.kind is not Kind.SKILL and memory.category != EPISODE


def _means_the_same(first: str, second: str) -> bool:
    """True if neither text adds to the other; a longer one may mean something else ("is ready", "is ready for review")."""
    return means_the_same(first, second) or (adds_nothing(first, second) and adds_nothing(second, first))


def _preference(memory: Memory) -> tuple[bool, int, int, int, int]:
    return memory.pinned, TRUST[memory.source], len(memory.text), memory.corroborations, -memory.key


def _neighbours(context: JobContext, memories: Sequence[Memory]) -> Iterable[tuple[Memory, list[Memory]]]:
    """Yield each memory with its neighbours in the same scope."""
    for group in by_scope(memories):
        keys = _neighbour_keys(context, group)
        fetched = context.store.memories.fetch(
            context.scoped_to(group[0]), list(dict.fromkeys(key for near_keys in keys for key in near_keys))
        )
        by_key = {neighbour.key: neighbour for neighbour in fetched}
        for memory, near_keys in zip(group, keys, strict=True):
            yield memory, [by_key[key] for key in near_keys if key in by_key and key != memory.key]


def _neighbour_keys(context: JobContext, group: Sequence[Memory]) -> list[list[int]]:
    """Return the keys of the neighbours of each memory; all memories are of one scope."""
    reader = context.scoped_to(group[0])
    rows = context.index.vectors(reader, [memory.key for memory in group]) if context.index is not None else None
    if context.index is None or rows is None:
        return [_by_words(context, memory) for memory in group]
    complete = [bool(np.isfinite(row).all()) for row in rows]
    results = context.index.search_many(reader, np.nan_to_num(rows), _NEIGHBOURS)
    if results is None:
        return [_by_words(context, memory) for memory in group]
    return [
        nearest.keys[nearest.scores >= context.limits.merge_cosine].tolist() if has_vector else _by_words(context, memory)
        for memory, nearest, has_vector in zip(group, results, complete, strict=True)
    ]


def _by_words(context: JobContext, memory: Memory) -> list[int]:
    """Return the keys of memories that share its rarest words, within a budget of postings."""
    reader = context.scoped_to(memory)
    planner = TermPlanner(lambda terms, most: context.store.text.frequencies(reader, terms, most=most))
    search_terms = planner.plan(terms(memory.text), _POSTINGS, 0).terms
    return [hit.key for hit in context.store.text.search(reader, search_terms, limit=_NEIGHBOURS)] if search_terms else []


MERGE = Job("merge", "Merge memories of one scope that say the same.", page, light=True)
