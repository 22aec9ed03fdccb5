"""Operations on entities: entity, entities, timeline, and decisions by hand."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from engram.errors import NotFound
from engram.serve.operations.operation import Arg, Effect, Operation
from engram.values.entities import Entity, EntityAction, EntityDecision, Profile, Timeline
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class EntityInput:
    name: Annotated[str, Arg("A name it goes by: Ada, @ada, my manager.", positional=True, free_text=True)]
    limit: Annotated[int, Arg("How many memories of it at most.", low=1, high=1000, flags=("--limit", "-n"))] = 100


def entity(mem: Engram, given: EntityInput) -> Profile:
    profile = mem.entity(given.name, limit=given.limit)
    if profile is None:
        raise NotFound("no entity of that name is known here.", way_out="`engram entities` lists those that are.")
    return profile


@frozen(kw_only=True)
class EntitiesInput:
    kind: Annotated[str | None, Arg("Of this sort only: person, place, organisation, project, technology, file, thing.")] = None
    limit: Annotated[int, Arg("How many at most.", low=1, high=1000, flags=("--limit", "-n"))] = 50


@frozen
class EntityList:
    """Entities that memories mention, the most mentioned first."""

    entities: tuple[Entity, ...]


def entities(mem: Engram, given: EntitiesInput) -> EntityList:
    return EntityList(tuple(mem.entities(kind=given.kind, limit=given.limit)))


@frozen(kw_only=True)
class TimelineInput:
    about: Annotated[str, Arg("Somebody, something, or a topic.", positional=True, free_text=True)]
    since: Annotated[datetime | None, Arg("What happened at this time or later only.")] = None
    until: Annotated[datetime | None, Arg("What happened before this time only.")] = None
    limit: Annotated[int, Arg("How many at most, the latest.", low=1, high=1000, flags=("--limit", "-n"))] = 50


def timeline(mem: Engram, given: TimelineInput) -> Timeline:
    return mem.timeline(given.about, since=given.since, until=given.until, limit=given.limit)


@frozen(kw_only=True)
class DecideEntityInput:
    """The input of `decide_entity`."""

    name: Annotated[str, Arg("A name that it goes by.", positional=True)]
    action: Annotated[EntityAction, Arg("What is decided.", positional=True)]
    other: Annotated[str, Arg("The other name or entity; for `kind`, what it is.", positional=True)]
    names: Annotated[tuple[str, ...], Arg("For `split`: the names that are of the other.", high=64, flags=("--its-name",))] = ()
    memories: Annotated[
        tuple[str, ...], Arg("For `split`: ids of memories that speak of the other.", high=1000, flags=("--memory",))
    ] = ()
    reason: Annotated[str, Arg("Why; the history keeps it.")] = ""


def decide_entity(mem: Engram, given: DecideEntityInput) -> EntityDecision:
    return mem.decide_entity(
        given.name, given.action, given.other, names=given.names, memories=given.memories, reason=given.reason
    )


@frozen(kw_only=True)
class UndoEntityDecisionInput:
    id: Annotated[str, Arg("The id of the decision.", positional=True)]


def undo_entity_decision(mem: Engram, given: UndoEntityDecisionInput) -> EntityDecision:
    return mem.undo_entity_decision(given.id)


@frozen(kw_only=True)
class EntityDecisionsInput:
    name: Annotated[str | None, Arg("On this entity only.", positional=True)] = None
    limit: Annotated[int, Arg("How many at most.", low=1, high=1000, flags=("--limit", "-n"))] = 50


@frozen
class EntityDecisionList:
    """Decisions on entities by hand, the latest first."""

    decisions: tuple[EntityDecision, ...]


def entity_decisions(mem: Engram, given: EntityDecisionsInput) -> EntityDecisionList:
    return EntityDecisionList(tuple(mem.entity_decisions(name=given.name, limit=given.limit)))


OPERATIONS = (
    Operation(
        name="entity",
        help="Show all about somebody or something: names, roles, facts and statements, each with the memory it comes from.",
        input=EntityInput,
        output=Profile,
        run=entity,
    ),
    Operation(name="entities", help="List who and what the memories name.", input=EntitiesInput, output=EntityList, run=entities),
    Operation(
        name="timeline",
        help="Show what was told of somebody, something or a topic, in the order it happened: corrections, and when much was.",
        input=TimelineInput,
        output=Timeline,
        run=timeline,
    ),
    Operation(
        name="decide_entity",
        help="Decide by hand which names and memories are one entity: alias, unalias, merge, split, rename, kind, apart.",
        input=DecideEntityInput,
        output=EntityDecision,
        run=decide_entity,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="undo_entity_decision",
        help="Take back a decision on an entity.",
        input=UndoEntityDecisionInput,
        output=EntityDecision,
        run=undo_entity_decision,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="entity_decisions",
        help="Show the decisions on entities by hand, the latest first.",
        input=EntityDecisionsInput,
        output=EntityDecisionList,
        run=entity_decisions,
    ),
)
