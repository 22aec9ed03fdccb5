"""The verbs of facts: learn one, withdraw it, list what is believed of a subject, find how two names are connected."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial

from engram.errors import InvalidQuery
from engram.recall import paths
from engram.store.validation import check_fact
from engram.text.english.entities import KINDS, folded
from engram.text.english.facts import Fact
from engram.text.english.slots import IS_A
from engram.types import Kind, Memory, Strength
from engram.values.entities import Belief, BeliefQuery, FactPath
from engram.verbs.view import View, id_of, require_name, require_positive

_LEARNED_CONFIDENCE = 0.8
"""The confidence in a fact that the caller states as one."""

_USER = ("user", "i", "me", "myself")
"""Tellers who are the user: what they tell is a statement and no report."""


def learn(
    view: View,
    subject: str,
    predicate: str,
    thing: str,
    *,
    many: bool = False,
    since: datetime | None = None,
    until: datetime | None = None,
    strength: Strength | str | None = None,
    teller: str = "",
    kind: str = "",
    object_kind: str = "",
    memory: str | None = None,
) -> Memory:
    """Store a fact: "Ada", "works at", "Acme". It outdates facts that it contradicts, unless a subject may have `many` of them.

    since, until: the time for which it holds; a fact that is over outdates nothing.
    strength: the evidence, from axiomatic to hearsay; by default a statement of the caller. teller: whose words it gives.
    What a teller other than the user says is hearsay by default, as "Tom says that …" is. A fact that is weaker than the known
    one by more than 0.3 contests it and does not outdate it.
    kind, object_kind: what the subject and the object are (person, place, organisation …); by default the predicate tells.
    memory: the id of a memory that states it; by default a new one is stored. `unlearn` takes the fact back.

    Memory and fact are one write. A statement that is stored encrypted (an address) becomes a memory and no entity, because
    entities are listed unencrypted within the vault.
    """
    check_fact(subject, predicate, thing)
    kinds = [(subject, _kind_of("kind", kind)), (thing, _kind_of("object_kind", object_kind))]
    begin, end = _interval(since, until)
    name = require_name(teller).strip()
    name = "" if folded(name) in (*_USER, folded(view.reader.scope.user)) else name
    evidence = _strength_of(strength) or (Strength.HEARSAY if name else None)
    said = " ".join(predicate.casefold().split())
    fact = Fact(folded(subject), said, folded(thing), not many, True, begin, end, evidence, folded(name))
    typed = [Fact(folded(one), IS_A, sort, single=False) for one, sort in kinds if sort]
    if memory is not None:
        state = partial(view.vault.store.facts.state, view.reader, memory, [fact, *typed])
        return view.write_once(("learn", memory, fact, *typed), state, id_of, view.stored)
    text = f"{subject.strip()} {predicate.strip()} {thing.strip()}{_period(begin, end)}."
    draft = Memory(
        text=f"{name} says that {text}" if name else text,
        kind=Kind.FACT,
        confidence=_LEARNED_CONFIDENCE,
        scope=view.reader.scope,
        valid_from=begin,
        valid_until=end,
    )
    write = partial(view.vault.observer.remember, view.reader, draft, stated=[fact, *typed])
    return view.write_once(("learn", draft, fact, *typed), write, id_of, view.stored)


def unlearn(view: View, memory_id: str, subject: str, predicate: str) -> Memory:
    """Take a fact back from the memory that states it; the memory stays. Beliefs that it had replaced hold again."""
    check_fact(subject, predicate, "-")
    slot = folded(subject), " ".join(predicate.casefold().split())
    write = partial(view.vault.store.facts.withdraw, view.reader, memory_id, *slot)
    return view.write_once(("unlearn", memory_id, *slot), write, id_of, view.stored)


def beliefs(
    view: View,
    subject: str,
    predicate: str = "",
    *,
    past: bool = False,
    inferred: bool = False,
    as_of: datetime | None = None,
) -> Sequence[Belief]:
    """Return the present facts of a subject, newest first, each with its strength and its revisions; `past`: also former ones.

    predicate: only facts of this one. as_of: the facts that held at that time, by all that is known today.
    inferred: also facts that follow from these and are stated nowhere: the parser is part of the compiler, and that of the
    toolchain. They are inferred on each call, so that they are gone with any of their premises.
    """
    said = " ".join(require_name(predicate).casefold().split())
    asked = BeliefQuery(subject=require_name(subject), predicate=said, past=past, as_of=_moment("as_of", as_of))
    return view.entities.beliefs(asked, inferred=inferred)


def path(
    view: View, start: str, end: str, *, predicates: Sequence[str] = (), most: int = 4, as_of: datetime | None = None
) -> FactPath:
    """Return the shortest chain of facts between two names, in either direction of each fact, with the memories that state them.

    predicates: only by these. most: links of the chain, up to 6. as_of: by the facts that held at that time. Facts that are only
    heard or supposed are no link. Without a chain, `steps` is empty.
    """
    require_positive("number of links", most)
    if most > paths.LONGEST:
        raise InvalidQuery(f"a path has at most {paths.LONGEST} links.", way_out=f"Pass `most` up to {paths.LONGEST}.")
    said = [" ".join(require_name(one).casefold().split()) for one in predicates]
    ends = require_name(start), require_name(end)
    return paths.shortest(view.vault.store, view.reader, *ends, predicates=said, most=most, as_of=_moment("as_of", as_of))


def _kind_of(name: str, kind: str) -> str:
    if kind and kind not in KINDS:
        raise InvalidQuery(f"unknown `{name}`; the kinds are {', '.join(KINDS)}.", way_out="Use one of these, or leave it out.")
    return kind


def _strength_of(strength: Strength | str | None) -> Strength | None:
    try:
        return None if strength is None else Strength(strength)
    except ValueError:
        problem = InvalidQuery("there is no such strength.", way_out=f"Use one of {', '.join(Strength)}.")
    raise problem


def _interval(since: datetime | None, until: datetime | None) -> tuple[datetime | None, datetime | None]:
    begin, end = _moment("since", since), _moment("until", until)
    if begin is not None and end is not None and begin >= end:
        raise InvalidQuery("`since` lies after `until`, or they are equal.", way_out="Exchange the two.")
    return begin, end


def _moment(name: str, moment: datetime | None) -> datetime | None:
    """Return a moment with a time zone: UTC unless it has another."""
    if moment is not None and not isinstance(moment, datetime):
        raise InvalidQuery(f"`{name}` must be a datetime.", way_out="Pass a datetime, or leave it out.")
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _period(since: datetime | None, until: datetime | None) -> str:
    """Return the words for an interval."""
    if since is not None and until is not None:
        return f" from {since:%Y-%m-%d} until {until:%Y-%m-%d}"
    return f" since {since:%Y-%m-%d}" if since is not None else f" until {until:%Y-%m-%d}" if until is not None else ""
