"""The verbs of entities: profiles, timelines, and decisions by hand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from engram.errors import InvalidQuery, NotFound
from engram.rules.entity_decisions import names_in
from engram.text.english.entities import KINDS, folded
from engram.types import Memory
from engram.values.entities import Entity, EntityAction, EntityDecision, Profile, Timeline
from engram.verbs import recall
from engram.verbs.view import View, require_name, require_positive


def entity(view: View, name: str, *, limit: int = 100) -> Profile | None:
    """Return the profile of a person, place or thing: names, roles, facts, latest memories; None if it is unknown.

    It is found by its name, by another name of it ("@ada", "my manager") or, with an encoder, by a name of the same meaning. A
    role means the one who has it now; `holders` of the profile are all who have or had it, with their times.
    """
    require_positive("limit", limit)
    return view.entities.profile(require_name(name), limit)


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

    return view.entities.timeline(require_name(about), since, until, limit, search)


def decide_entity(
    view: View,
    name: str,
    action: EntityAction | str,
    other: str,
    *,
    names: Sequence[str] = (),
    memories: Sequence[str] = (),
    reason: str = "",
) -> EntityDecision:
    """Decide by hand which names and memories are one entity (M21). It comes before all rules, now and for later mentions.

    `alias`: it is called `other` too. `unalias`: `other` is not its name. `merge`: it is `other`. `split`: the `names`, or its
    mentions in the `memories`, are of `other`. `rename`: it is called `other`. `kind`: it is a person, a place and so on.
    `apart`: it is not `other`. The decision can be taken back (`undo_entity_decision`).
    """
    decided = _action_of(action)
    if decided is EntityAction.KIND and other not in KINDS:
        raise InvalidQuery(f"unknown kind; the kinds are {', '.join(KINDS)}.")
    if (names or memories) and decided is not EntityAction.SPLIT:
        raise InvalidQuery("only a split takes names or memories.")
    if names and memories:
        raise InvalidQuery("a split takes names or memories, not both.", way_out="Make two decisions.")
    draft = EntityDecision(
        id="",
        action=decided,
        name=" ".join(require_name(name).split()),
        other=" ".join(require_name(other).split()),
        names=tuple(require_name(one) for one in names),
        memories=tuple(dict.fromkeys(require_name(one) for one in memories)),
        reason=view.vault.observer.cleaned(require_name(reason)).strip(),
    )
    write = partial(view.vault.store.entities.decide, view.reader, draft)
    return view.write_once(("decide_entity", draft), write, _id_of, partial(_stored, view))


def undo_entity_decision(view: View, decision_id: str) -> EntityDecision:
    """Take a decision on an entity back: the mentions that it was about are read again without it."""
    write = partial(view.vault.store.entities.undo_decision, view.reader, require_name(decision_id))
    return view.write_once(("undo_entity_decision", decision_id), write, _id_of, partial(_stored, view))


def entity_decisions(view: View, *, name: str | None = None, limit: int = 50) -> Sequence[EntityDecision]:
    """Return the decisions on entities by hand, the latest first, those taken back among them; `name`: on names of one entity."""
    require_positive("limit", limit)
    found = {decision.id: decision for _, decision in view.vault.store.entities.decisions(view.reader, limit=_DECISIONS)}
    if name is not None:
        entity = view.vault.store.entities.get(view.reader, require_name(name))
        called = {folded(name), *(entity[0].names if entity else ())}
        found = {key: decision for key, decision in found.items() if not called.isdisjoint(names_in(decision))}
    return list(found.values())[:limit]


_DECISIONS = 10_000


def _action_of(action: EntityAction | str) -> EntityAction:
    try:
        return EntityAction(action)
    except ValueError:
        problem = InvalidQuery(f"unknown decision; the decisions are {', '.join(one.value for one in EntityAction)}.")
    raise problem


def _id_of(decision: EntityDecision) -> str:
    return decision.id


def _stored(view: View, decision_id: str) -> EntityDecision:
    for decision in entity_decisions(view, limit=_DECISIONS):
        if decision.id == decision_id:
            return decision
    raise NotFound("this decision was made before, and its memories have been erased since.")
