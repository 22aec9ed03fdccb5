"""Contradiction (M6, K2): which of two facts stands when they disagree, and what follows for their memories. Pure but for the
table that is passed in.

A fact is outdated by a newer one with the same subject and predicate and another object, if a subject has one such object at a
time and both objects are of one type (`text/english/object_types.py`); or by a statement that it no longer holds. The newer fact
wins unless its evidence is weaker by more than `MARGIN`: then it stands beside the known one, contested, until corroboration
decides. A fact about an earlier time than the known one outdates nothing: it held until then. Nor does a fact that was stated
with an end. The newer fact takes over a share of the older one's
confidence, because that the subject has such an object at all was known already.

Two facts whose texts name the subject by names of which one is longer may be about two people: "Tom" is found under Tom Baker,
but may be another Tom. Neither outdates the other. A memory all of whose facts have ended, and that says little besides, is
superseded; one that says more stays without the fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from engram.rules.entities import canonical, set_kind
from engram.store.rule_ports import FactTable
from engram.text.english.entities import KINDS
from engram.text.english.facts import facts as facts_in
from engram.text.english.object_types import clash, covers, same
from engram.text.english.slots import IS_A
from engram.types import Edge, Fact, Memory, Source, Strength
from engram.values.facts import CONTRADICTS, OUTDATES, PAST, SUPERSEDES, Consequences, FactOutcome, Occasion
from engram.values.frozen import frozen, replace

MARGIN = 0.3
SHARE = 0.2
WITNESS = 0.2  # share of the remaining doubt that one more witness removes
_LATELY_DAYS = 62
_SOON = timedelta(days=1)
SOON_DAYS = 14  # appointments further apart than this are different appointments
_SHORT = 160  # characters up to which a memory without a second clause says nothing but its facts
_SECOND_CLAUSE = re.compile(r"\b(?:and|but|because|while|although|which)\b|;")


_WEIGHTS = {
    Strength.AXIOMATIC: (1.0, 0.0),
    Strength.OBSERVED: (0.95, 0.0),
    Strength.COMPUTED: (0.9, 0.0),
    Strength.CONSENSUS: (0.7, 0.2),
    Strength.STATED: (0.0, 1.0),
    Strength.REPORTED: (0.4, 0.3),
    Strength.INFERRED: (0.3, 0.4),
    Strength.HYPOTHETICAL: (0.2, 0.0),
    Strength.HEARSAY: (0.1, 0.0),
}
"""The weight of each strength: a constant, and the share of the confidence in the memory that is added (spec 001)."""

WEAK = frozenset({Strength.HYPOTHETICAL, Strength.HEARSAY})
"""Strengths of what is supposed or only heard: a premise of nothing."""

_OF_SOURCE = {Source.ASSISTANT: Strength.REPORTED, Source.INFERRED: Strength.INFERRED}


def strength_of(given: Strength | None, source: Source, corroborations: int) -> Strength:
    """Return the strength of a belief: the given one, else that of its source. Several witnesses make a consensus."""
    own = given or _OF_SOURCE.get(source, Strength.STATED)
    return Strength.CONSENSUS if own is Strength.STATED and corroborations > 0 else own


def weight_of(given: Strength | None, source: Source, confidence: float, corroborations: int) -> float:
    """Return the strength of a belief as a number. Each witness removes a fifth of the doubt, as of the confidence itself."""
    strength = strength_of(given, source, corroborations)
    constant, share = _WEIGHTS[strength]
    if strength is Strength.CONSENSUS and given is None:
        return max(confidence, constant + share * confidence)
    return constant + share * confidence if share else 1.0 - (1.0 - constant) * (1.0 - WITNESS) ** corroborations


class Epistemic(StrEnum):
    HELD = "held"
    CONTESTED = "contested"
    RETRACTED = "retracted"


class Ruling(StrEnum):
    """The effect of a new fact on a known one. `past`: the known fact stands, and the new one held before it."""

    STANDS = "stands"
    PAST = "past"
    OUTDATED = "outdated"
    CONTESTED = "contested"


@frozen
class FactClaim:
    """A fact with the weight of its evidence, its start and the time of the statement. `dated`: the start was stated, not
    assumed."""

    fact: Fact
    weight: float
    since: datetime | None = None
    said: datetime | None = None
    dated: bool = True


def disagree(new: Fact, old: Fact) -> bool:
    """True if the two facts cannot both hold now."""
    if (new.subject, new.predicate) != (old.subject, old.predicate) or not old.holds:
        return False
    if not new.holds:
        return covers(new.object, old.object) if new.predicate == "uses" else same(new.object, old.object)
    return new.single and old.single and clash(new.predicate, new.object, old.object)


def ruling(new: FactClaim, old: FactClaim) -> Ruling:
    if not disagree(new.fact, old.fact):
        return Ruling.STANDS
    if new.since is not None and old.since is not None:
        if new.fact.predicate == "scheduled" and abs(new.since - old.since).days > SOON_DAYS:
            return Ruling.STANDS
        if _earlier(new, old):
            if old.weight < new.weight - MARGIN:
                return Ruling.CONTESTED  # what is only heard since ends nothing
            return Ruling.PAST if new.fact.holds and new.since < old.since else Ruling.STANDS
    return Ruling.OUTDATED if new.weight >= old.weight - MARGIN else Ruling.CONTESTED


def _earlier(new: FactClaim, old: FactClaim) -> bool:
    """True if the new fact is about a time before the old one.

    An undated old fact may have been outdated when it was stated: a move in April, told in May, outdates an address mentioned in
    between. A new fact about a time over `_LATELY_DAYS` before the old statement does not.
    """
    if new.since is None or old.since is None or new.said is None or old.said is None:
        return new.since is not None and old.since is not None and new.since < old.since
    if old.dated or not new.dated:
        return new.since < old.since
    return new.said < old.said or (old.said - new.since).days > _LATELY_DAYS


def transferred_confidence(confidence: float, outdated: Sequence[float]) -> float:
    """Return the confidence of a fact that replaces others (§4.3)."""
    return min(confidence + SHARE * max(outdated, default=0.0), 1.0)


def epistemic_status(weight: float, against: Sequence[float]) -> Epistemic:
    """Return the status of a fact that has not ended: contested, unless all facts that contradict it are much weaker."""
    return Epistemic.CONTESTED if against and max(against) >= weight - MARGIN else Epistemic.HELD


def record(table: FactTable, memory: Memory, facts: Sequence[Fact], first: int = 0) -> list[FactOutcome]:
    """Store the facts of a memory, end those that they outdate, and return the outcomes for other memories.

    The outcome `past` counts only if the memory states nothing that still holds. first: the number of the first of the facts.
    """
    outcomes: dict[str, FactOutcome] = {}
    for number, stated in enumerate(facts, first):
        fact = replace(stated, subject=canonical(table.entities, stated.subject))
        if fact.predicate == IS_A and fact.object in KINDS and fact.holds and fact.strength not in WEAK:
            set_kind(table.entities, fact.subject, fact.object)
        since = fact.since or _since(memory)
        if is_past(fact, memory):
            table.put(memory, number, fact, fact.since, fact.until)
            continue
        ended = fact.until if fact.holds else since
        for outcome in _outcomes(table, memory, fact, stated.subject):
            if outcome.link == PAST:
                ended = outcome.since if ended is None or outcome.since is None else min(ended, outcome.since)
            outcomes[outcome.older] = outcome
        table.put(memory, number, fact, since, ended)
    past = any(outcome.link == PAST for outcome in outcomes.values())
    spent = past and is_spent(memory.text, table.holding(memory.key))
    return [outcome for outcome in outcomes.values() if outcome.link != PAST or spent]


def is_past(fact: Fact, memory: Memory) -> bool:
    """True if a fact was stated with an end that was over when its memory was learned: it outdates nothing."""
    return fact.until is not None and (memory.learned_at is None or fact.until <= memory.learned_at)


def may_replace(fact: Fact, memory: Memory) -> bool:
    """True if a stated fact can end another: it is the only one of its slot, not over, and more than heard or supposed."""
    return fact.single and fact.strength not in WEAK and not is_past(fact, memory)


def record_derived(table: FactTable, memory: Memory, facts: Sequence[Fact]) -> None:
    """Store the facts of a memory that was derived from others: they outdate nothing."""
    for number, fact in enumerate(facts):
        subject, since = canonical(table.entities, fact.subject), fact.since or _since(memory)
        table.put(memory, number, replace(fact, subject=subject), since, fact.until if fact.holds else since)


def settle(table: FactTable, memory: Memory) -> list[FactOutcome]:
    """Compare the stored facts of a memory with others again, after its confidence or status has changed."""
    outcomes = {outcome.older: outcome for fact in table.of(memory.key) for outcome in _outcomes(table, memory, fact, "")}
    return list(outcomes.values())


def _outcomes(table: FactTable, memory: Memory, fact: Fact, named: str) -> Iterator[FactOutcome]:
    """Yield the outcome for each memory that one fact disagrees with. `named`: the subject as the text names it."""
    since = fact.since or _since(memory)
    weight = weight_of(fact.strength, memory.source, memory.confidence, memory.corroborations)
    dated = memory.happened_until is not None or since != _since(memory)
    new = FactClaim(fact, weight, since, table.said_at(memory), dated)
    for rival in table.rivals(fact.subject, fact.predicate, memory.key, since):
        ruled = ruling(new, FactClaim(rival.fact, rival.weight, rival.since, rival.said, rival.dated))
        if ruled is Ruling.STANDS:
            continue
        if may_be_two(named, _subject_in(rival.text, rival.speaker, rival.number, fact.predicate)):
            continue
        if ruled is Ruling.PAST:
            yield FactOutcome(rival.memory_id, PAST, rival.confidence, rival.since)
        elif ruled is Ruling.CONTESTED or rival.pinned:
            yield FactOutcome(rival.memory_id, CONTRADICTS, rival.confidence)
        else:
            table.end(rival.memory, rival.number, since)
            if since is not None and new.said is not None and since > new.said + _SOON:
                continue  # it holds until then
            link = SUPERSEDES if is_spent(rival.text, table.holding(rival.memory)) else OUTDATES
            yield FactOutcome(rival.memory_id, link, rival.confidence)


def _since(memory: Memory) -> datetime | None:
    return memory.happened_at or memory.learned_at


def _subject_in(text: str, speaker: str, number: int, predicate: str) -> str:
    """Return the subject of a fact as its memory's text names it; empty if the fact was not read from the text."""
    found = facts_in(text, speaker)
    return found[number].subject if number < len(found) and found[number].predicate == predicate else ""


def may_be_two(one: str, other: str) -> bool:
    """True if one name is the beginning of the other, so that they may be names of two people."""
    return bool(one and other) and (one.startswith(f"{other} ") or other.startswith(f"{one} "))


def is_spent(text: str, holding: int) -> bool:
    """True if a memory with so many facts that hold says nothing any more."""
    return not holding and len(text) <= _SHORT and not _SECOND_CLAUSE.search(text)


def consequences(
    memory: Memory, outcomes: Sequence[FactOutcome], occasion: Occasion, *, from_turns: bool = False
) -> Consequences:
    """Return what follows from outcomes for the memory and for those it was compared with.

    A new memory that states the past is superseded if it was taken from turns; one that was given to be remembered is history and
    stays. A reinstated memory is disputed by what was stated since.
    """
    past = [outcome for outcome in outcomes if outcome.link == PAST]
    if past and occasion is Occasion.STATED:
        if not from_turns:
            return Consequences(confidence=memory.confidence)
        edge = Edge(past[0].older, memory.id, SUPERSEDES)
        return Consequences(confidence=memory.confidence, edges=(edge,), superseded=((memory.id, "a newer statement was known"),))
    disputes = [Edge(outcome.older, memory.id, CONTRADICTS) for outcome in past if occasion is Occasion.REINSTATED]
    kinds = (SUPERSEDES, OUTDATES) if occasion is Occasion.SETTLED else (SUPERSEDES, OUTDATES, CONTRADICTS)
    current = [outcome for outcome in outcomes if outcome.link in kinds]
    return Consequences(
        confidence=transferred_confidence(
            memory.confidence, [outcome.confidence for outcome in current if outcome.link != CONTRADICTS]
        ),
        edges=(*disputes, *(Edge(memory.id, outcome.older, outcome.link) for outcome in current)),
        superseded=tuple(
            (outcome.older, "a newer statement says otherwise") for outcome in current if outcome.link == SUPERSEDES
        ),
        weakened=tuple(outcome.older for outcome in current if outcome.link == OUTDATES),
    )


def corroborated(memory: Memory, turns: int, by_assistants: bool, now: datetime) -> Memory:
    """Return a memory after it was stated again: one more witness removes a fifth of the doubt.

    An inferred memory that a person states is theirs from then on, and stands without its premises.
    """
    taken = memory.source is Source.INFERRED and not by_assistants
    return replace(
        memory,
        confidence=memory.confidence + (1.0 - memory.confidence) * WITNESS,
        corroborations=memory.corroborations + max(turns, 1),
        source=Source.USER if taken else memory.source,
        updated_at=now,
    )


def merged(heir: Memory, old: Memory, witnesses: int, now: datetime) -> Memory:
    """Return the memory that stays after another was merged into it: it has the witnesses and uses of both and is as old as the
    older one, and each new witness removes a fifth of the doubt."""
    confidence = max(heir.confidence, old.confidence)
    used = [moment for moment in (heir.accessed_at, old.accessed_at) if moment is not None]
    learned = [moment for moment in (heir.learned_at, old.learned_at) if moment is not None]
    return replace(
        heir,
        corroborations=heir.corroborations + old.corroborations + witnesses,
        confidence=1.0 - (1.0 - confidence) * (1.0 - WITNESS) ** witnesses,
        importance=max(heir.importance, old.importance),
        accesses=heir.accesses + old.accesses,
        accessed_at=max(used) if used else None,
        helpful=heir.helpful + old.helpful,
        unhelpful=heir.unhelpful + old.unhelpful,
        learned_at=min(learned) if learned else None,
        updated_at=now,
    )
