"""The verbs of entities and facts: profiles, timelines, beliefs, and facts to learn."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from engram.errors import InvalidQuery
from engram.store.validation import check_fact
from engram.text.english.entities import KINDS, folded
from engram.text.english.facts import Fact
from engram.types import Kind, Memory
from engram.values.entities import Belief, Entity, Profile, Timeline
from engram.verbs import recall
from engram.verbs.view import View, id_of, require_positive

_LEARNED_CONFIDENCE = 0.8
"""The confidence in a fact that the caller states as one."""


def entity(view: View, name: str, *, limit: int = 20) -> Profile | None:
    """Return the profile of a person, place or thing: names, present facts, latest memories; None if it is unknown.

    It is found by its name, by another name of it ("@ada", "my manager") or, with an encoder, by a name of the same meaning.
    """
    require_positive("limit", limit)
    return view.entities.profile(_name(name), limit)


def entities(view: View, *, kind: str | None = None, limit: int = 50) -> Sequence[Entity]:
    """Return the entities that memories name, the most named first; `kind`: only people, places and so on."""
    if kind is not None and kind not in KINDS:
        raise InvalidQuery(f"unknown kind; the kinds are {', '.join(KINDS)}.")
    require_positive("limit", limit)
    return view.vault.store.entities.select(view.reader, kind=kind, limit=limit)


def timeline(
    view: View, about: str, *, since: datetime | None = None, until: datetime | None = None, limit: int = 50
) -> Timeline:
    """Return the memories of an entity or topic in the order in which they happened, and how many fall into each period.

    Corrected memories are included, marked by their status; `revisions` name their corrections.
    """
    require_positive("limit", limit)

    def search(topic: str) -> list[Memory]:
        return [hit.memory for hit in recall.recall(view, topic)]  # with a limit, memories far from the topic would come too

    return view.entities.timeline(_name(about), since, until, limit, search)


def learn(view: View, subject: str, predicate: str, thing: str, *, many: bool = False) -> Memory:
    """Store a fact: "Ada", "works at", "Acme". It outdates facts that it contradicts, unless a subject may have `many` of them.

    Memory and fact are one write. A statement that is stored encrypted (an address) becomes a memory and no fact, because facts
    are stored unencrypted within the vault.
    """
    check_fact(subject, predicate, thing)
    text = f"{subject.strip()} {predicate.strip()} {thing.strip()}."
    draft = Memory(text=text, kind=Kind.FACT, confidence=_LEARNED_CONFIDENCE, scope=view.reader.scope)
    fact = Fact(folded(subject), " ".join(predicate.casefold().split()), folded(thing), single=not many)
    write = partial(view.vault.observer.remember, view.reader, draft, stated=[fact])
    return view.write_once(("learn", draft, fact), write, id_of, view.stored)


def beliefs(view: View, subject: str, *, past: bool = False, inferred: bool = False) -> Sequence[Belief]:
    """Return the present facts of a subject, newest first; `past`: also former ones.

    inferred: also facts that follow from these and are stated nowhere: the parser is part of the compiler, and that of the
    toolchain. They are inferred on each call, so that they are gone with any of their premises.
    """
    return view.entities.beliefs(_name(subject), past=past, inferred=inferred)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidQuery("a name must be a text.")
    return name
