"""Operations on entities: entity, entities, timeline."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from engram.errors import NotFound
from engram.serve.operations.operation import Arg, Operation
from engram.values.entities import Entity, Profile, Timeline
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
)
