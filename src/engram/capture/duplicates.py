"""Tell new statements from those that repeat a known one, and measure how much each new one surprises.

Comes in: the statements of one batch with their vectors. Goes out: the same, told apart. One scan of the index for all of
them, one look-up of those that come close; statements of the batch itself are compared with each other, so that it makes no
difference where one batch ends and the next begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np

from engram.capture.chunks import unnumbered
from engram.capture.corrections import Said, heirs_of
from engram.capture.pairs import Comparison, PairCandidate, Related, echoes, is_later, may_echo, may_pair, relations
from engram.capture.slots import share_a_slot, sharing, slots_of
from engram.capture.statements import Statement
from engram.index.vectors.live import LiveIndex, Nearest
from engram.models.embedders import Vectors
from engram.rules.duplicates import DuplicateWeights
from engram.rules.pairs import Relation
from engram.rules.wording import adds_nothing, overlap
from engram.store.ports import Store
from engram.text.english.grammar import is_assistant, named
from engram.text.terms import day_of, digest_of, identity_of
from engram.types import Fact, Kind, Memory, Policy, Proposition, Reader, Replacement, Source
from engram.values.frozen import field, frozen, mutable, replace
from engram.values.memories import CORRECTED_BY_SPEAKER

_NEIGHBOURS = 5  # by whom surprise is measured (C5)
MOST_SURPRISING, LEAST_SURPRISING = 0.3, -0.1
_USUAL, _STEEP = 0.55, 1.6
"""Likeness to the five nearest memories that surprises nobody, and the surprise that a smaller one adds."""


@mutable
class Candidate:
    """A statement on its way: where it came from, and what was found out about it."""

    statement: Statement
    turn: int
    digest: bytes = b""
    quoted: tuple[bytes, ...] = ()  # digests of words that may be quoted from what was recalled
    is_echo: bool = False  # it repeats what was recalled: such an echo is no witness
    vector: Vectors | None = None
    surprise: float = 0.0
    flagged: bool = False  # reads as an attack on the model
    facts: tuple[Fact, ...] | None = None  # where they are known without reading it
    at: datetime | None = None  # when it was said
    replaces: tuple[Replacement, ...] = ()
    echoes: list[Candidate] = field(default_factory=list)  # the same, said again in the same batch
    corrects: Candidate | Memory | None = None  # the statement that its speaker corrects by it
    is_sure: bool = True  # else what it corrects is challenged only

    def __post_init__(self) -> None:
        self.digest = identity_of(self.statement.proposition)
        self.quoted = (*self.quoted, *_quotations(self.statement.proposition))
        self.is_echo = self.is_echo or _may_be_copied(self.statement.proposition)

    @property
    def text(self) -> str:
        return self.statement.proposition.text

    @property
    def day(self) -> str:
        return day_of(self.statement.proposition)

    @property
    def as_said(self) -> Said:
        proposition = self.statement.proposition
        return Said.of(proposition, self.vector)


@frozen
class Sifted:
    """New statements; those that repeat a memory, with its id; those that were corrected, with the id of the correction."""

    fresh: list[Candidate]
    merged: list[tuple[Candidate, str]]
    corrected: list[tuple[Candidate, str]]
    notes: tuple[str, ...] = ()
    waiting: int = 0  # pairs of near statements that are compared at rest
    standing: dict[int, str | int] = field(default_factory=dict)  # by `id` of a candidate, its memory or its place in `fresh`

    def place(self, target: Candidate | Memory) -> str | int | None:
        """Return the id of a memory, or the place of a statement of the batch among the new ones; None if it was not kept."""
        return target.id if isinstance(target, Memory) else self.standing.get(id(target))


def sift(
    store: Store, index: LiveIndex | None, reader: Reader, candidates: Sequence[Candidate], comparison: Comparison
) -> Sifted:
    """Tell statements that repeat a memory, or one of the batch, from new ones, and find the earlier ones that these replace.

    Both are looked for where the reader stands; surprise is about all that the reader sees.
    """
    weights = comparison.words
    known = store.memories.by_digest(reader, [digest for c in candidates for digest in (c.digest, *c.quoted)])
    remembered = _remembered(store, reader, candidates)
    near = _near(index, reader, candidates, comparison.pairs.neighbours)
    mine = _own_neighbours(store, index, reader, candidates, near, comparison)
    twins = _twins(candidates, mine, weights)
    slots = {
        number: slots_of(one.statement.proposition.words, one.statement.proposition.speaker, one.facts)
        for number, one in enumerate(candidates)
        if not one.is_echo
    }
    pairs = [
        *_pairs(candidates, mine, comparison),
        *_slot_pairs(candidates, slots, sharing(store, replace(reader, policy=Policy.OWN), slots), comparison),
    ]
    related = relations(comparison.reader, pairs, comparison.pairs)
    echoed = echoes(comparison.reader, _pairs(candidates, mine, comparison, of_assistants=True), comparison.pairs)
    heirs = heirs_of(store, index, reader, (one.as_said for one in candidates), comparison)
    batch = _Batch(len(candidates))
    by_digest: dict[bytes, Candidate] = {}
    sifted = Sifted([], [], [], related.notes, related.waiting)
    places: dict[int, int] = {}  # by the number of a candidate, its place among the new ones
    heads: dict[int, Candidate] = {}
    standing = sifted.standing
    for number, candidate in enumerate(candidates):
        cosines = batch.cosines(candidate)
        own = related.found.get(number, [])
        twin = known.get(candidate.digest)
        if twin is None:
            twin = _echoed(known, candidate)
            candidate.is_echo = candidate.is_echo or twin is not None
        echo = echoed.get(number)
        twin = (
            twin or remembered.get(number) or twins.get(number) or _same_memory(own) or (echo if isinstance(echo, str) else None)
        )
        first = by_digest.get(candidate.digest) or batch.rephrased(candidate, cosines, weights)
        same = (one.place for one in own if one.relation is Relation.SAME)
        first = first or next((heads[place] for place in (*same, echo) if isinstance(place, int) and place in heads), None)
        if candidate.corrects is not None:
            twin = first = None  # it is kept, as the reason why the other one is retired
        if twin is not None:
            sifted.merged.append((candidate, twin))
            standing[id(candidate)] = twin
        elif number in heirs and candidate.corrects is None:
            sifted.corrected.append((candidate, heirs[number].id))
        elif first is not None:
            first.echoes.append(candidate)
        else:
            candidate.surprise = surprise(near.get(number), cosines, comparison.background)
            candidate.replaces = _with_correction(candidate, sifted, _replacements(own, places, trusted=comparison.trusted))
            by_digest[candidate.digest] = candidate
            batch.add(candidate)
            places[number], heads[number] = len(sifted.fresh), candidate
            standing[id(candidate)] = len(sifted.fresh)
            sifted.fresh.append(candidate)
    return sifted


def _with_correction(candidate: Candidate, sifted: Sifted, replacements: tuple[Replacement, ...]) -> tuple[Replacement, ...]:
    """Return the replacements of a statement with the one that its speaker makes by it."""
    place = None if candidate.corrects is None else sifted.place(candidate.corrects)
    if place is None:
        return replacements
    others = (one for one in replacements if one.earlier != place)
    return Replacement(place, candidate.is_sure, CORRECTED_BY_SPEAKER, corrects=True), *others


def _same_memory(related: Sequence[Related[str | int]]) -> str | None:
    return next((one.place for one in related if isinstance(one.place, str) and one.relation is Relation.SAME), None)


def _replacements(related: Sequence[Related[str | int]], places: Mapping[int, int], *, trusted: bool) -> tuple[Replacement, ...]:
    """Return the replacements of a new statement; an earlier one of the batch is named by its place among the new ones."""
    found = []
    for one in related:
        place = places.get(one.place) if isinstance(one.place, int) else one.place
        if place is not None and one.relation in (Relation.REPLACES, Relation.CHALLENGES):
            found.append(one.replacement(place, sure=trusted))
    return tuple(found)


def _pairs(
    candidates: Sequence[Candidate],
    mine: Mapping[int, Sequence[tuple[Memory, float]]],
    comparison: Comparison,
    *,
    of_assistants: bool = False,
) -> Iterator[PairCandidate[str | int]]:
    """Yield the pairs of each statement with its neighbours where the reader stands and with earlier statements of the batch.

    of_assistants: only the statements of assistants, each beside those of anybody, which it may echo; else only those of people.
    """
    may = may_echo if of_assistants else may_pair
    vectors = [one.vector for one in candidates]
    known = [number for number, vector in enumerate(vectors) if vector is not None]
    rows = np.stack([vectors[number] for number in known]) if known else np.empty((0, 0), np.float32)  # type: ignore[misc]
    for row, number in enumerate(known):
        candidate = candidates[number]
        later = candidate.statement.proposition
        if is_assistant(later.speaker) is not of_assistants or (candidate.is_echo and not of_assistants):
            continue
        for memory, cosine in mine.get(number, ()):
            if may(later, memory, comparison.pairs) and (of_assistants or is_later(candidate.at, memory)):
                yield PairCandidate(number, later, memory.id, memory, cosine)
        cosines = rows[:row] @ rows[row]
        for place in np.flatnonzero(cosines >= comparison.least_cosine).tolist():
            earlier = candidates[known[place]]
            if earlier.turn != candidate.turn and (of_assistants or not earlier.is_echo):
                if may(later, earlier.statement.proposition, comparison.pairs):
                    yield PairCandidate(number, later, known[place], earlier.statement.proposition, float(cosines[place]))


def _slot_pairs(
    candidates: Sequence[Candidate],
    slots: Mapping[int, Sequence[Fact]],
    known: Mapping[int, Sequence[Memory]],
    comparison: Comparison,
) -> Iterator[PairCandidate[str | int]]:
    """Yield the pairs of each statement with memories and with earlier statements of the batch that share a slot with it."""
    earlier_ones: dict[tuple[str, str], list[int]] = {}
    for number, stated in slots.items():
        candidate = candidates[number]
        later = candidate.statement.proposition
        for memory in known.get(number, ()):
            if may_pair(later, memory, comparison.pairs) and is_later(candidate.at, memory):
                yield PairCandidate(number, later, memory.id, memory, 1.0, of_slot=True)
        own, most = [(fact.subject, fact.predicate) for fact in stated], comparison.pairs.most_at_once
        for other in dict.fromkeys(other for slot in own for other in earlier_ones.get(slot, [])[-most:]):
            earlier = candidates[other]
            apart = earlier.turn != candidate.turn
            if apart and share_a_slot(stated, slots[other]) and may_pair(later, earlier.statement.proposition, comparison.pairs):
                yield PairCandidate(number, later, other, earlier.statement.proposition, 1.0, of_slot=True)
        for slot in own:
            earlier_ones.setdefault(slot, []).append(number)


def _echoed(known: Mapping[bytes, str], candidate: Candidate) -> str | None:
    """Return the id of a memory whose words the candidate quotes."""
    return next((known[digest] for digest in candidate.quoted if digest in known), None)


def _quotations(proposition: Proposition) -> Iterator[bytes]:
    """Yield digests of words that may have been recalled: an assistant's, a quoted or numbered line's, and those between
    quotation marks with few words around them.

    Each is looked for as it was remembered, and as it was said by the user.
    """
    words = proposition.words
    quoted = [_QUOTE.sub("", unnumbered(words))] if _may_be_copied(proposition) else []
    for match in _QUOTED.finditer(words):
        size = len(match.group(1).split())
        if size >= _QUOTED_WORDS and len(words.split()) - size <= _WORDS_AROUND:
            quoted.append(match.group(1))
    for text in quoted:
        yield digest_of(text)
        yield digest_of(f"{_USER}: {text}")


def _may_be_copied(proposition: Proposition) -> bool:
    """Return True for the words of an assistant, and for a line that is quoted or has the number of a line of a context."""
    words = proposition.words
    is_quoted = words.startswith(">") or _QUOTED_WHOLE.fullmatch(words) is not None
    return is_assistant(proposition.speaker) or is_quoted or unnumbered(words) != words


def _remembered(store: Store, reader: Reader, candidates: Sequence[Candidate]) -> dict[int, str]:
    """Ids of memories that hold the bare words as the same speaker gave them to be remembered, by the candidate's number.

    What carries earlier words is about those; what tells of a day is another on another day.
    """
    bare = {
        number: identity_of(replace(one.statement.proposition, text=one.statement.proposition.words))
        for number, one in enumerate(candidates)
        if not one.is_echo and not one.statement.proposition.carries
    }
    found = store.memories.by_digest(reader, list(dict.fromkeys(bare.values()))) if bare else {}
    kept = {memory.id: memory for memory in store.memories.get(reader, list(dict.fromkeys(found.values())))} if found else {}
    return {
        number: found[digest]
        for number, digest in bare.items()
        if found.get(digest) in kept and _by_whom(kept[found[digest]], candidates[number].statement.proposition.speaker)
    }


def known_as(memory: Memory, said: Said) -> list[bytes]:
    """Return the digests under which an equal memory would be stored: those of its wordings, if a user stated it."""
    if memory.source is not Source.USER:
        return [identity_of(memory)]
    return [identity_of(replace(memory, text=wording)) for wording in said.wordings]


@frozen
class Compared:
    """A statement beside what is known: the id of a memory that says the same, if there is one; else its surprise, and the
    memories that it replaces. notes: if it could not be compared."""

    twin: str | None = None
    surprise: float = 0.0
    replaces: tuple[Replacement, ...] = ()
    notes: tuple[str, ...] = ()
    waiting: int = 0


def compared(
    store: Store,
    index: LiveIndex | None,
    reader: Reader,
    memory: Memory,
    said: Said,
    comparison: Comparison,
    stated: Sequence[Fact] | None = None,
) -> Compared:
    """Return what a statement does to the memories of the reader's scope. `stated`: its facts, if they are known."""
    vector, weights = said.vector, comparison.words
    here = replace(reader, policy=Policy.OWN)
    found = (
        index.search_many(here, vector[None], comparison.pairs.neighbours) if index is not None and vector is not None else None
    )
    cosines = dict(zip(found[0].keys.tolist(), found[0].scores.tolist(), strict=True)) if found else {}
    close = [key for key, cosine in cosines.items() if cosine >= comparison.least_cosine]
    neighbours = [
        one
        for one in (store.memories.fetch(here, close) if close else ())
        if one.kind is memory.kind or Kind.SKILL not in (one.kind, memory.kind)
    ]
    for one in neighbours:
        near_enough = cosines[one.key] >= weights.duplicate_cosine and _by_whom(one, memory.speaker)
        near_enough = near_enough and _one_day(day_of(memory), day_of(one))
        if near_enough and any(says_the_same(wording, one.text, weights) for wording in said.wordings):
            return Compared(one.id)
    pairs = [
        PairCandidate(0, memory, one.id, one, cosines[one.key])
        for one in neighbours
        if memory.kind is not Kind.SKILL
        and may_pair(memory, one, comparison.pairs)
        and (comparison.trusted or is_later(memory.happened_at, one))
    ]
    if memory.kind is not Kind.SKILL:
        slots = {0: slots_of(memory.words, memory.speaker, stated)}
        pairs += [
            PairCandidate(0, memory, one.id, one, 1.0, of_slot=True)
            for one in sharing(store, here, slots).get(0, ())
            if may_pair(memory, one, comparison.pairs)
        ]
    related = relations(comparison.reader, pairs, comparison.pairs)
    own = related.found.get(0, [])
    twin = next((one.place for one in own if one.relation is Relation.SAME), None)
    if twin is not None:
        return Compared(twin, notes=related.notes, waiting=related.waiting)
    replaced = (one for one in own if one.relation in (Relation.REPLACES, Relation.CHALLENGES))
    unlike = surprise(found[0] if found else None, np.empty(0, np.float32), comparison.background)
    replaces = tuple(one.replacement(one.place, sure=comparison.trusted) for one in replaced)
    return Compared(None, unlike, replaces, related.notes, related.waiting)


def _by_whom(memory: Memory, speaker: str) -> bool:
    return named(memory.speaker) == named(speaker)


def surprise(near: Nearest | None, cosines: Vectors, background: float) -> float:
    """Return the distance from known memories (k = 5): novel up to +0.3, redundant down to -0.1 (C5).

    It is measured by the likeness to the five nearest, which is their mean cosine over `background`, that of unrelated texts. In
    a vault of 50 memories on as many topics a new topic has a likeness of .33 to .38, and a remark on a known one .6 and more.
    """
    scores = np.sort(np.concatenate((near.scores[:_NEIGHBOURS], cosines)))[-_NEIGHBOURS:] if near is not None else cosines[:0]
    if len(scores) < _NEIGHBOURS:
        return 0.0
    likeness = (float(scores.mean()) - background) / (1.0 - background)
    return float(np.clip((_USUAL - likeness) * _STEEP, LEAST_SURPRISING, MOST_SURPRISING))


def says_the_same(said: str, known: str, weights: DuplicateWeights) -> bool:
    """May these words, whose vectors are near, be taken for one statement?"""
    return overlap(known, said) >= weights.duplicate_overlap and adds_nothing(said, known)


def _repeats(candidate: Candidate, known: Memory | Proposition, weights: DuplicateWeights) -> bool:
    """Return True if a statement near to a known one says the same: in the words of the same speaker, or as an echo of them."""
    proposition = candidate.statement.proposition
    if known.carries and proposition.carries and known.carries.casefold() != proposition.carries.casefold():
        return False  # "She works nights [Ana]" and "She works nights [Eve]"
    if not candidate.is_echo and named(known.speaker) != named(proposition.speaker):
        return False
    return says_the_same(proposition.words, known.words, weights) or says_the_same(proposition.text, known.text, weights)


def _one_day(one: str, other: str) -> bool:
    """May these be of one day? What tells of none may be of any."""
    return not one or not other or one == other


class _Batch:
    """The new statements of a batch so far, by their vectors."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: Vectors = np.empty((0, 0), np.float32)
        self._members: list[Candidate] = []

    def add(self, candidate: Candidate) -> None:
        if candidate.vector is None:
            return
        if not self._members:
            self._rows = np.empty((self._most, len(candidate.vector)), np.float32)
        self._rows[len(self._members)] = candidate.vector
        self._members.append(candidate)

    def cosines(self, candidate: Candidate) -> Vectors:
        if candidate.vector is None or not self._members:
            return np.empty(0, np.float32)
        made: Vectors = self._rows[: len(self._members)] @ candidate.vector
        return made

    def rephrased(self, candidate: Candidate, cosines: Vectors, weights: DuplicateWeights) -> Candidate | None:
        for place in np.flatnonzero(cosines >= weights.duplicate_cosine).tolist():
            other = self._members[place]
            if _one_day(candidate.day, other.day) and _repeats(candidate, other.statement.proposition, weights):
                return other
        return None


def _near(index: LiveIndex | None, reader: Reader, candidates: Sequence[Candidate], most: int) -> dict[int, Nearest]:
    """The nearest memories that the reader sees, by the candidate's number."""
    numbers = [number for number, candidate in enumerate(candidates) if candidate.vector is not None]
    if index is None or not numbers:
        return {}
    found = index.search_many(reader, np.stack([candidates[n].vector for n in numbers]), most)  # type: ignore[misc]
    return {} if found is None else dict(zip(numbers, found, strict=True))


def _own_neighbours(
    store: Store,
    index: LiveIndex | None,
    reader: Reader,
    candidates: Sequence[Candidate],
    near: dict[int, Nearest],
    comparison: Comparison,
) -> dict[int, list[tuple[Memory, float]]]:
    """Return the neighbours of each candidate in the reader's own scope with their cosines, the nearest first."""
    here, least = replace(reader, policy=Policy.OWN), comparison.least_cosine
    close = {n: one.keys[one.scores >= least].tolist() for n, one in near.items()}
    mine = _fetched(store, here, close)
    # Where all of the nearest are so close and none is from here, one from here may stand behind them.
    crowded = [
        n for n, keys in close.items() if len(keys) == comparison.pairs.neighbours and not any(key in mine for key in keys)
    ]
    if crowded and index is not None:
        again = _near(index, here, [candidates[n] for n in crowded], comparison.pairs.neighbours)
        near = near | {crowded[n]: one for n, one in again.items()}
        close |= {crowded[n]: one.keys[one.scores >= least].tolist() for n, one in again.items()}
        mine |= _fetched(store, here, {n: close[n] for n in crowded})
    cosines = {n: dict(zip(one.keys.tolist(), one.scores.tolist(), strict=True)) for n, one in near.items()}
    return {n: [(mine[key], cosines[n][key]) for key in keys if key in mine] for n, keys in close.items()}


def _twins(
    candidates: Sequence[Candidate], mine: Mapping[int, Sequence[tuple[Memory, float]]], weights: DuplicateWeights
) -> dict[int, str]:
    """Return the ids of memories that say the same nearly word for word, by the candidate's number."""
    found = {}
    for number, neighbours in mine.items():
        one = candidates[number]
        same = (
            memory.id
            for memory, cosine in neighbours
            if cosine >= weights.duplicate_cosine and _one_day(one.day, day_of(memory)) and _repeats(one, memory, weights)
        )
        twin = next(same, None)
        if twin is not None:
            found[number] = twin
    return found


def _fetched(store: Store, here: Reader, close: dict[int, list[int]]) -> dict[int, Memory]:
    keys = list(dict.fromkeys(key for some in close.values() for key in some))
    return {memory.key: memory for memory in store.memories.fetch(here, keys)} if keys else {}


_USER = "The user"
_QUOTED_WORDS = 4
_WORDS_AROUND = 8  # more words around a quotation say something of their own
_QUOTED = re.compile(r"[\"“«„]([^\"“”«»„\n]{12,400})[\"”»“]")
_QUOTED_WHOLE = re.compile(r"[\"“«„][^\"“”«»„]+[\"”»“]?[.,!?…]*")
_QUOTE = re.compile(r"^[ \t>|*\"“«„]{1,16}|[\"”»“]$", re.MULTILINE)
