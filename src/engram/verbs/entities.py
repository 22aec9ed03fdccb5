"""The verbs on what memories tell of the world: who and what there is, what holds of it, and what was when."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from engram.errors import InvalidContent, InvalidQuery
from engram.recall.selection import without_flagged
from engram.rules.inference import Relation, supports_inference
from engram.rules.inference import infer as following
from engram.rules.knowledge import buckets
from engram.text.english.entities import KINDS, folded
from engram.text.english.facts import Fact
from engram.types import Kind, Memory
from engram.values.edges import OUTDATING, REVISIONS
from engram.values.entities import Belief, Entity, Profile, Revision, Timeline
from engram.verbs import recall
from engram.verbs.view import View, id_of, require_positive

_NEAR = 0.8  # cosine of two names that mean the same and have a word, or the beginning of one, in common

_SAME = 0.92  # of two that have nothing in common: "Portugal" and "Lisbon" have 0.86, "Postgres" and "PostgreSQL" 0.94

_STEM = 4

_NAMES = 200

_TOLD = 20

_BACK = 5  # corrections of corrections that a timeline goes back

_SELF = ("i", "me", "myself", "we")

_TOLD_AS_SUCH = 0.8
"""How sure a fact is that somebody gave as one."""
_FAR, _BROAD = 4, 64  # premises after the first, and subjects that are looked at, for what follows


def _leads(one: Belief) -> bool:
    return one.status == "held" and supports_inference(one.predicate)


def _stems(name: str) -> set[str]:
    return {word[:_STEM] for word in re.findall(r"\w+", folded(name))}


def _aware(moment: datetime, like: datetime) -> datetime:
    return moment.replace(tzinfo=like.tzinfo) if moment.tzinfo is None else moment


def _says_something(part: object) -> bool:
    return isinstance(part, str) and bool(part.strip())


def _words(name: object) -> str:
    if not isinstance(name, str):
        raise InvalidQuery("a name is a text.")
    return name


def entity(view: View, name: str, *, limit: int = _TOLD) -> Profile | None:
    """All about somebody or something: its names, what holds of it now, what was told of it, newest first; None if unknown.

    Found by its name, by another one it goes by ("@ada", "my manager"), or, with a model, by one that means the same.
    """
    require_positive("limit", limit)
    found = view.vault.store.entities.get(view.reader, _words(name))
    if found is None and (meant := _meant(view, name)) is not None:
        found = view.vault.store.entities.get(view.reader, meant)
    if found is None:
        return None
    entity, keys = found
    return Profile(
        entity,
        tuple(beliefs(view, entity.name)),
        tuple(view.vault.store.entities.cooccurring(view.reader, entity.name)),
        tuple(without_flagged(view.vault.store.memories.fetch(view.reader, keys[: 2 * limit]), view.vault.live.now)[:limit]),
    )


def entities(view: View, *, kind: str | None = None, limit: int = 50) -> Sequence[Entity]:
    """Who and what the memories name, the most named first; `kind`: people, places and so on only."""
    if kind is not None and kind not in KINDS:
        raise InvalidQuery(f"there is no such kind; there are {', '.join(KINDS)}.")
    require_positive("limit", limit)
    return view.vault.store.entities.select(view.reader, kind=kind, limit=limit)


def timeline(
    view: View, about: str, *, since: datetime | None = None, until: datetime | None = None, limit: int = 50
) -> Timeline:
    """What was told of somebody, something or a topic, in the order in which it happened, and when much was.

    What has been corrected since is among it, marked by its status; `revisions` say by what.
    """
    require_positive("limit", limit)
    found = view.vault.store.entities.get(view.reader, _words(about))
    if found is not None:
        told = without_flagged(view.vault.store.memories.fetch(view.reader, found[1][: 10 * limit]), view.vault.live.now)
    else:
        told = [hit.memory for hit in recall.recall(view, about)]  # with a limit what is far from it would come too
    told, revisions = _with_corrected(view, told)
    when = [(memory.happened_at or memory.learned_at, memory) for memory in told]
    dated = [(at, memory) for at, memory in when if at is not None]
    kept = [
        (at, memory)
        for at, memory in dated
        if (since is None or at >= _aware(since, at)) and (until is None or at < _aware(until, at))
    ]
    kept = sorted(kept, key=lambda one: (one[0], one[1].key))[-limit:]
    here = {memory.id for _, memory in kept}
    marks = tuple(one for one in revisions if one.memory in here and one.other in here)
    return Timeline(tuple(memory for _, memory in kept), marks, *buckets([at for at, _ in kept]))


def _with_corrected(view: View, told: Sequence[Memory]) -> tuple[list[Memory], list[Revision]]:
    """These, and what they took the place of, and what that took the place of; with the links that say so."""
    known = {memory.id: memory for memory in told}
    revisions: dict[Revision, None] = {}
    news = list(known)
    for _ in range(_BACK):
        links = view.vault.store.edges.of(view.reader, news) if news else []
        revised = [one for one in links if one.kind in REVISIONS]
        revisions |= dict.fromkeys(Revision(one.source, one.target, one.kind) for one in revised)
        before = [one.target for one in revised if one.kind in OUTDATING and one.source in known and one.target not in known]
        older = without_flagged(view.vault.store.memories.get(view.reader, before), view.vault.live.now) if before else []
        known |= {memory.id: memory for memory in older}
        news = [memory.id for memory in older]
    return list(known.values()), list(revisions)


def learn(view: View, subject: str, predicate: str, thing: str, *, many: bool = False) -> Memory:
    """Keep a fact: "Ada", "works at", "Acme". It outdates what it contradicts, unless a subject may have `many` of these.

    Memory and fact are one write. What is kept closely (an address) is a memory and no fact: facts stand in the clear.
    """
    if not all(map(_says_something, (subject, predicate, thing))):
        raise InvalidContent("a fact is a subject, a predicate and an object, each with a word.")
    text = f"{subject.strip()} {predicate.strip()} {thing.strip()}."
    draft = Memory(text=text, kind=Kind.FACT, confidence=_TOLD_AS_SUCH, scope=view.reader.scope)
    fact = Fact(folded(subject), " ".join(predicate.casefold().split()), folded(thing), single=not many)
    write = partial(view.vault.observer.remember, view.reader, draft, told=[fact])
    return view.write_once(("learn", draft, fact), write, id_of, view.stored)


def beliefs(view: View, subject: str, *, past: bool = False, inferred: bool = False) -> Sequence[Belief]:
    """The facts of a subject as they are held now, newest first; `past`: with those that held once.

    inferred: with what follows from them and is said nowhere: the parser is part of the compiler, and that of the toolchain.
    It is worked out when it is asked for, so that it is gone with any of its premises.
    """
    subject = "the user" if folded(_words(subject)) in _SELF else subject
    held = _held(view, subject, past)
    return [*held, *_following(view, subject, held)] if inferred else held


def _following(view: View, subject: str, held: Sequence[Belief]) -> list[Belief]:
    """What follows from what is held of a subject and of those that it is in a relation to, a few of them far."""
    told: dict[str, Sequence[Belief]] = {folded(subject): held}
    reached = [folded(subject)]
    for _ in range(_FAR):
        nearer = [one.object for name in reached for one in told[name] if _leads(one) and one.object not in told]
        reached = list(dict.fromkeys(nearer))[: _BROAD - len(told)]
        told |= {name: _held(view, name, past=False) for name in reached}
    known = {
        Relation(name, one.predicate, one.object, one.confidence, one.memory)
        for name, some in told.items()
        for one in some
        if _leads(one)
    }
    return [
        Belief(one.source, one.kind, one.target, "inferred", one.confidence, None, None, "", one.premises)
        for one in following(known, folded(subject))
    ]


def _held(view: View, subject: str, past: bool) -> list[Belief]:
    held = view.vault.store.facts.beliefs(view.reader, subject, past=past)
    told = view.vault.store.memories.get(view.reader, list({belief.memory for belief in held}))
    clean = {memory.id for memory in without_flagged(told, view.vault.live.now)}
    return [belief for belief in held if belief.memory in clean]


def _meant(view: View, name: str) -> str | None:
    """The known name that means nearly the same as this one."""
    embedder = view.vault.embedder
    names = [one.name for one in view.vault.store.entities.select(view.reader, limit=_NAMES)] if embedder is not None else []
    if embedder is None or not names or not any(map(str.isalpha, name)):
        return None
    cosines = embedder.passages(names) @ embedder.passages([name])[0]
    own = _stems(name)
    near = [
        (float(like), one) for like, one in zip(cosines, names, strict=True) if like >= (_NEAR if own & _stems(one) else _SAME)
    ]
    return max(near)[1] if near else None
