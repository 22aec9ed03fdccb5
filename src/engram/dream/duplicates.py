"""The job that compares memories of one scope: it merges those that say the same (K1), and retires or challenges those that a
later one replaces (K2).

Statements are compared when they are captured, with the nearest few of what was known then. The rest is compared here: what
several processes stored at once, what came without an encoder, and the neighbours that capture left out. Neighbours come from
the vector index, or from the text index if there is none. Equal words decide by themselves; the pair model decides the rest
(`rules/pairs.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from engram.capture.pairs import PairCandidate, Related, is_later, may_pair, relations
from engram.dream.invariants import TRUST, may_merge, may_replace
from engram.dream.job import Job, JobContext, JobPage, by_scope
from engram.index.terms import TermPlanner
from engram.models.pair_reader import shared_pair_reader
from engram.rules.pairs import PairWeights, Relation, least_cosine, reason, same_words
from engram.text.english.grammar import named
from engram.text.terms import day_of, terms
from engram.types import Kind, Memory
from engram.values.dreams import Cursor, Merge, Replace
from engram.values.episodes import EPISODE
from engram.values.frozen import replace

_NEIGHBOURS = 10
_OF_SLOT = 3
_POSTINGS = 2000


def page(context: JobContext, cursor: Cursor) -> JobPage:
    """Return the next page: which memories are to be merged into which, and which are replaced by which."""
    touched = context.touched(cursor)
    found = list(_neighbours(context, [memory for memory in touched.memories if _is_a_statement(memory)]))
    retired: dict[str, str] = {}
    for memory, neighbours in found:
        for neighbour in neighbours:
            _retire(retired, memory, neighbour, is_duplicate)
    notes: tuple[str, ...] = ()
    related: list[tuple[Memory, Memory, Related[int]]] = []
    if context.index is not None:  # shared words alone say too little
        related, notes = _related(context, found, retired)
    for earlier, later, _ in (one for one in related if one[2].relation is Relation.SAME):
        _retire(retired, earlier, later, _is_of_one_sort)
    successors = set(retired.values())
    merges = [Merge(old, successor) for old, successor in retired.items() if old not in successors]
    replaced = [
        Replace(later.id, earlier.id, (sure := _is_sure(earlier, later, one)), reason(one.replaces, sure=sure))
        for earlier, later, one in related
        if one.relation in (Relation.REPLACES, Relation.CHALLENGES) and not {earlier.id, later.id} & retired.keys()
    ]
    return replace(touched.page([*merges, *replaced]), notes=notes)


def _retire(retired: dict[str, str], one: Memory, other: Memory, rule: Callable[[Memory, Memory], bool]) -> None:
    """Mark one of two memories as merged into the other, if the rule holds for them and neither is retired already."""
    pair = ranked(one, other)
    if pair is not None and not {member.id for member in pair} & retired.keys() and rule(*pair):
        retired[pair[0].id] = pair[1].id


def _related(
    context: JobContext, found: Sequence[tuple[Memory, Sequence[Memory]]], retired: Mapping[str, str]
) -> tuple[list[tuple[Memory, Memory, Related[int]]], tuple[str, ...]]:
    """Return the pairs that the model has something to say about, as earlier memory, later memory and relation; and a note if it
    cannot be read."""
    weights = replace(context.pair_weights, most_at_once=context.pair_weights.most_at_rest)
    pairs: dict[tuple[int, int], PairCandidate[int]] = {}
    by_key: dict[int, Memory] = {}
    for memory, neighbours in found:
        for place, neighbour in enumerate(neighbours):
            earlier, later = sorted((memory, neighbour), key=lambda one: one.key)
            if {earlier.id, later.id} & retired.keys() or not _may_pair(earlier, later, weights):
                continue
            by_key |= {earlier.key: earlier, later.key: later}
            candidate = PairCandidate(later.key, later, earlier.key, earlier, 1.0 - place / len(neighbours) / 10)
            pairs.setdefault((earlier.key, later.key), candidate)
    related = relations(shared_pair_reader(), pairs.values(), weights)
    return [(by_key[one.place], by_key[later], one) for later, some in related.found.items() for one in some], related.notes


def _may_pair(earlier: Memory, later: Memory, weights: PairWeights) -> bool:
    return may_pair(later, earlier, weights) and is_later(later.happened_at, earlier)


def _is_sure(earlier: Memory, later: Memory, one: Related[int]) -> bool:
    return one.relation is Relation.REPLACES and may_replace(later, earlier, sure=True)


def _is_of_one_sort(old: Memory, successor: Memory) -> bool:
    return (old.kind, old.tier) == (successor.kind, successor.tier)


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
    return alike and day_of(old) == day_of(successor) and same_words(old.text, successor.text)


def _is_a_statement(memory: Memory) -> bool:
    """False for skills and recorded episodes, which consist of more than their text."""
    return memory.kind is not Kind.SKILL and memory.category != EPISODE


def _preference(memory: Memory) -> tuple[bool, int, int, int, int]:
    return memory.pinned, TRUST[memory.source], len(memory.text), memory.corroborations, -memory.key


def _neighbours(context: JobContext, memories: Sequence[Memory]) -> Iterable[tuple[Memory, list[Memory]]]:
    """Yield each memory with its neighbours in the same scope."""
    for group in by_scope(memories):
        keys = [
            list(dict.fromkeys((*near, *of_slot)))
            for near, of_slot in zip(_neighbour_keys(context, group), _of_slot(context, group), strict=True)
        ]
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
    background = 0.0 if context.embedder is None else context.embedder.background[0]
    least = least_cosine(context.pair_weights, background)
    if results is None:
        return [_by_words(context, memory) for memory in group]
    return [
        nearest.keys[nearest.scores >= least].tolist() if has_vector else _by_words(context, memory)
        for memory, nearest, has_vector in zip(group, results, complete, strict=True)
    ]


def _of_slot(context: JobContext, group: Sequence[Memory]) -> list[list[int]]:
    """Return the keys of memories that share a slot with each memory, in two queries; all memories are of one scope."""
    reader = context.scoped_to(group[0])
    ids = {memory.id: place for place, memory in enumerate(group)}
    stated = context.store.facts.by(reader, [memory.key for memory in group])
    slots = list(dict.fromkeys((fact.subject, fact.predicate) for fact in stated))
    found = context.store.facts.sharing(reader, slots, most=_OF_SLOT) if slots else {}
    keys: list[list[int]] = [[] for _ in group]
    for fact in stated:
        keys[ids[fact.memory]] += [key for key, _ in found.get((fact.subject, fact.predicate), ())]
    return keys


def _by_words(context: JobContext, memory: Memory) -> list[int]:
    """Return the keys of memories that share its rarest words, within a budget of postings."""
    reader = context.scoped_to(memory)
    planner = TermPlanner(lambda terms, most: context.store.text.frequencies(reader, terms, most=most))
    search_terms = planner.plan(terms(memory.text), _POSTINGS, 0).terms
    return [hit.key for hit in context.store.text.search(reader, search_terms, limit=_NEIGHBOURS)] if search_terms else []


MERGE = Job("merge", "Merge memories that say the same, and retire those that a later one replaces.", page, light=True)
