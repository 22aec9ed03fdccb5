"""Statements that come from a file, into quarantine: believed no more than `import_confidence`, cleaned, dated no later than
now, with vectors of our own, and passed over where they are known or were corrected.

What a file says of its own trust, counts or scope is not taken over, unless the owner trusts it: an archive made here. Nor is the
strength of its facts, beyond that of a statement. Corrected statements of an archive arrive retired, after all others, so that
they do not come back here either (M19).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple
from datetime import datetime
from typing import Any

import numpy as np

from engram.capture import redaction, screen
from engram.capture.corrections import Said, heirs_of
from engram.capture.drafts import weighed
from engram.capture.duplicates import Compared, compared
from engram.capture.embeddings import Tools, encoded, passage, space_of
from engram.capture.pairs import Comparison, comparison_of, may_pair
from engram.errors import EmbeddingError, EngramError
from engram.index.vectors.matrix import encode
from engram.models.embedders import Vectors
from engram.settings import Settings
from engram.store.validation import check_memory, check_name, check_speaker
from engram.text.english.facts import facts as read_facts
from engram.text.terms import identity_of
from engram.types import NEUTRAL, Draft, Fact, Memory, Reader, Scope, Source, Strength, Turn
from engram.values.frozen import frozen, replace
from engram.values.identity import strictest
from engram.values.memories import Correction, CorrectionFate


@frozen
class Arrival:
    """A statement from a file, the numbers of the turns it came from, the scope it goes to, and its facts; None if its words are
    to be read."""

    memory: Memory
    turns: tuple[int, ...] = ()
    scope: Scope | None = None
    facts: tuple[Fact, ...] | None = None


@frozen
class Admitted:
    """The result of an import: the memory that each arrival became, None where it was refused and why."""

    kept: dict[int, Memory]
    known: dict[int, str]
    refused: dict[int, str]
    notes: tuple[str, ...] = ()
    waiting: int = 0  # pairs of near statements that are compared at rest
    facts: int = 0  # facts that memories which were here already state now


@frozen
class Retired:
    """The result of corrections from a file: the fate of each, except of those that were refused and why."""

    fates: dict[int, CorrectionFate]
    refused: dict[int, str]
    notes: tuple[str, ...] = ()


def believed(memory: Memory, now: datetime, settings: Settings) -> Memory:
    """Return a memory read from a file's turns, with the confidence that a file is given. A plan keeps the day that it names."""
    return replace(
        memory,
        source=Source.IMPORT,
        confidence=min(memory.confidence, settings.import_confidence),
        happened_at=past(memory.happened_at, now) if memory.happened_until is None else memory.happened_at,
    )


def quarantined(memory: Memory, now: datetime, settings: Settings) -> Memory:
    """As it may be believed: an import's word, and nothing from the future."""
    return Memory(
        text=memory.text,
        kind=memory.kind,
        category=memory.category,
        source=Source.IMPORT,
        confidence=min(memory.confidence, settings.import_confidence),
        importance=memory.importance,
        status=memory.status,
        happened_at=past(memory.happened_at, now),
        happened_until=past(memory.happened_until, now),
        session=memory.session,
        speaker=memory.speaker,
        tier=memory.tier,  # what came in can only be kept more closely for it
        attributes=memory.attributes,
        words_at=memory.words_at,
    )


def past(at: datetime | None, now: datetime) -> datetime | None:
    return at if at is None or at <= now else now


def admit(
    tools: Tools, reader: Reader, arrivals: Sequence[Arrival], said: Sequence[Turn] = (), *, trusted: bool = False
) -> Admitted:
    """Keep statements of one scope, with the turns they came from; all that is new, in one transaction."""
    settings, now = tools.live.now, tools.env.now()
    scope = (arrivals[0].scope if arrivals else None) or reader.scope
    here = replace(reader, scope=scope)
    ready: dict[int, Memory] = {}
    refused: dict[int, str] = {}
    for number, one in enumerate(arrivals):
        try:
            ready[number] = _cleaned(one.memory if trusted else quarantined(one.memory, now, settings), scope, settings)
        except EngramError as problem:
            refused[number] = f"{problem.code}: {problem.message.rstrip('.')}"
    identities = {number: identity_of(memory) for number, memory in ready.items()}
    held = tools.store.memories.by_digest(here, list(identities.values()))
    known = {number: held[digest] for number, digest in identities.items() if digest in held}
    taught = _add_facts(tools, here, {known[n]: (arrivals[n], ready[n]) for n in known}, trusted=trusted)
    fresh = [number for number in ready if number not in known]
    vectors, notes = _vectors(tools, [ready[number] for number in fresh])
    comparison = comparison_of(tools.live, tools.embedder, trusted=False)
    heirs = heirs_of(
        tools.store,
        tools.index,
        here,
        (Said.of(ready[n], v) for n, v in zip(fresh, vectors, strict=True)),
        comparison,
    )
    known |= {fresh[place]: heir.id for place, heir in heirs.items()}
    beside: dict[int, Compared] = {}
    for number, vector in zip(fresh, vectors, strict=True):
        if number not in known and not trusted:  # an archive of our own is restored as it was
            said_of = Said.of(ready[number], vector)
            beside[number] = compared(tools.store, tools.index, here, ready[number], said_of, comparison)
    known |= {number: one.twin for number, one in beside.items() if one.twin is not None}
    notes = (*notes, *dict.fromkeys(note for one in beside.values() for note in one.notes))
    drafts = {
        number: Draft(
            memory=replace(ready[number], **_weighed(ready[number], settings)),
            turns=arrivals[number].turns,
            vector=None if vector is None else encode(vector)[0],
            replaces=beside[number].replaces if number in beside else (),
            facts=_taken_over(arrivals[number].facts, ready[number], now, settings, trusted=trusted),
        )
        for number, vector in zip(fresh, vectors, strict=True)
        if number not in known
    }
    sources = sorted({turn for draft in drafts.values() for turn in draft.turns})  # of what is new: the rest is here
    place = {turn: number for number, turn in enumerate(sources)}
    new = [replace(one, turns=tuple(place[turn] for turn in one.turns)) if one.turns else one for one in drafts.values()]
    heard = [screen.heard(said[turn], settings) for turn in sources]
    kept = tools.store.capture.write(reader, scope, heard, new, space=space_of(tools.embedder))
    waiting = sum(one.waiting for one in beside.values()) + (
        0 if trusted else _near_pairs(ready, fresh, vectors, drafts, comparison)
    )
    return Admitted(dict(zip(drafts, kept, strict=True)), known, refused, notes, waiting, taught)


def retire(tools: Tools, reader: Reader, arrivals: Sequence[tuple[Arrival, Correction]], *, trusted: bool = False) -> Retired:
    """Keep corrected statements of one scope as retired ones, so that they are known when they come again."""
    settings, now = tools.live.now, tools.env.now()
    scope = (arrivals[0][0].scope if arrivals else None) or reader.scope
    ready: dict[int, Memory] = {}
    refused: dict[int, str] = {}
    for number, (one, _) in enumerate(arrivals):
        try:
            ready[number] = _cleaned(one.memory if trusted else quarantined(one.memory, now, settings), scope, settings)
        except EngramError as problem:
            refused[number] = f"{problem.code}: {problem.message.rstrip('.')}"
    vectors, notes = _vectors(tools, list(ready.values()))
    corrections = []
    for (number, memory), vector in zip(ready.items(), vectors, strict=True):
        arrival, mark = arrivals[number]
        facts = _taken_over(arrival.facts, memory, now, settings, trusted=trusted)
        draft = Draft(memory=memory, vector=None if vector is None else encode(vector)[0], facts=facts)
        reason = redaction.cut(mark.reason, catch_secrets=settings.catch_secrets).text
        corrections.append((draft, replace(mark, reason=reason, at=min(mark.at, now))))
    fates = tools.store.feedback.adopt_corrections(reader, scope, corrections, space=space_of(tools.embedder), trusted=trusted)
    return Retired(dict(zip(ready, fates, strict=True)), refused, notes)


def _add_facts(tools: Tools, here: Reader, known: Mapping[str, tuple[Arrival, Memory]], *, trusted: bool) -> int:
    """Add the facts of a file to memories of the same words; return how many are new. Of somebody's own words, an archive that is
    not trusted can only report them."""
    settings, now = tools.live.now, tools.env.now()
    facts = {
        memory_id: taken
        for memory_id, (arrival, memory) in known.items()
        if (taken := _taken_over(arrival.facts, memory, now, settings, trusted=trusted))
    }
    if not facts:
        return 0
    own = set() if trusted else {one.id for one in tools.store.memories.get(here, list(facts)) if one.source is not Source.IMPORT}
    return tools.store.facts.adopt(
        here, {memory_id: [_reported(one) if memory_id in own else one for one in taken] for memory_id, taken in facts.items()}
    )


def _reported(fact: Fact) -> Fact:
    return replace(fact, strength=Strength.REPORTED) if fact.strength in (None, Strength.STATED) else fact


def _taken_over(
    given: Sequence[Fact] | None, memory: Memory, now: datetime, settings: Settings, *, trusted: bool
) -> tuple[Fact, ...] | None:
    """Return the facts of a file as they may be believed; None if they are what the words of the memory say.

    A fact that holds a secret or reads as an attack is left out. One that is not trusted is a statement at most, and does not
    begin in the future.
    """
    if given is None or _slots(given) == _slots(read_facts(memory.words, memory.speaker)):
        return None
    sound = [fact for fact in given if _is_sound(fact, settings)]
    if trusted:
        return tuple(sound)
    return tuple(
        replace(fact, since=past(fact.since, now), strength=Strength.STATED if fact.strength in _STRONG else fact.strength)
        for fact in sound
    )


def _slots(facts: Sequence[Fact]) -> set[tuple[object, ...]]:
    return {astuple(fact) for fact in facts}


def _is_sound(fact: Fact, settings: Settings) -> bool:
    words = f"{fact.subject} {fact.predicate} {fact.object} {fact.teller}"
    parts = (fact.subject, fact.predicate, fact.object)
    return (
        all(part.strip() for part in parts)
        and len(words.encode(errors="replace")) <= settings.summary_bytes
        and redaction.cut(words, catch_secrets=settings.catch_secrets).text == words
        and screen.is_sound(words, settings)
    )


_STRONG = (Strength.AXIOMATIC, Strength.OBSERVED, Strength.COMPUTED, Strength.CONSENSUS)


def _near_pairs(
    ready: Mapping[int, Memory],
    fresh: Sequence[int],
    vectors: Sequence[Vectors | None],
    kept: Collection[int],
    comparison: Comparison,
) -> int:
    """Return the number of pairs of new statements that are near to each other: they are compared at rest."""
    near = [
        (ready[number], vector) for number, vector in zip(fresh, vectors, strict=True) if vector is not None and number in kept
    ]
    if len(near) < 2:
        return 0
    rows = np.stack([vector for _, vector in near])
    earlier, later = np.nonzero(np.triu(rows @ rows.T >= comparison.least_cosine, 1))
    return sum(may_pair(near[j][0], near[i][0], comparison.pairs) for i, j in zip(earlier.tolist(), later.tolist(), strict=True))


def _weighed(memory: Memory, settings: Settings) -> dict[str, Any]:
    """Return the affect of a memory; one that an archive of our own brings stays, as it may come from more than its words."""
    made = weighed(memory.text, settings)
    return made if memory.affect == NEUTRAL else {**made, "affect": memory.affect}


def _cleaned(memory: Memory, scope: Scope, settings: Settings) -> Memory:
    check_memory(memory, settings)  # before its words are cleaned
    check_name("category", memory.category, settings)
    check_speaker(memory.speaker, settings)
    text = redaction.cut(memory.text, catch_secrets=settings.catch_secrets).text
    attributes = {
        name: redaction.cut(value, catch_secrets=settings.catch_secrets).text for name, value in memory.attributes.items()
    }
    marked: dict[str, Any] = {**screen.screened(text, settings), "tier": strictest(memory.tier, screen.tier_of(text, settings))}
    words_at = memory.words_at if text == memory.text else (0, 0)
    made = replace(memory, text=text, attributes=attributes, scope=scope, words_at=words_at, **marked)
    if text != memory.text or attributes != memory.attributes:
        check_memory(made, settings)  # the store would refuse the whole batch for one memory of which nothing is left
    return made


def _vectors(tools: Tools, memories: Sequence[Memory]) -> tuple[list[Vectors | None], tuple[str, ...]]:
    nothing: list[Vectors | None] = [None] * len(memories)
    if tools.embedder is None or not memories:
        return nothing, ()
    try:
        return list(encoded(tools.store, tools.embedder, [passage(one.speaker, one.text) for one in memories])), ()
    except EmbeddingError as error:
        return nothing, (f"{error.code}: {error.message} These memories are kept and have no vectors yet.",)
