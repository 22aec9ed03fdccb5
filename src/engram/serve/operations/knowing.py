"""Operations on what memories tell of the world."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from engram.errors import NotFound
from engram.frozen import frozen
from engram.known import Belief, Bucket, Knowledge, Profile, Revision
from engram.known import Entity as Known
from engram.serve.operations.operation import Arg, Effect, Operation
from engram.types import Memory, Role

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class Entity:
    name: Annotated[str, Arg("A name it goes by: Ada, @ada, my manager.", main=True, words=True)]
    limit: Annotated[int, Arg("How many memories of it at most.", low=1, high=1000, flags=("--limit", "-n"))] = 20


def entity(mem: Engram, given: Entity) -> Profile:
    found = mem.entity(given.name, limit=given.limit)
    if found is None:
        raise NotFound("nothing of that name is known here.", way_out="`engram entities` lists what is.")
    return found


@frozen(kw_only=True)
class Entities:
    kind: Annotated[str | None, Arg("Of this sort only: person, place, organisation, project, technology, file, thing.")] = None
    limit: Annotated[int, Arg("How many at most.", low=1, high=1000, flags=("--limit", "-n"))] = 50


@frozen
class Named:
    """Who and what the memories name, the most named first."""

    entities: tuple[Known, ...]


def entities(mem: Engram, given: Entities) -> Named:
    return Named(tuple(mem.entities(kind=given.kind, limit=given.limit)))


@frozen(kw_only=True)
class Timeline:
    about: Annotated[str, Arg("Somebody, something, or a topic.", main=True, words=True)]
    since: Annotated[datetime | None, Arg("What happened at this time or later only.")] = None
    until: Annotated[datetime | None, Arg("What happened before this time only.")] = None
    limit: Annotated[int, Arg("How many at most, the latest.", low=1, high=1000, flags=("--limit", "-n"))] = 50


@frozen
class Told:
    """Memories in the order in which it happened, which of them set which right, and how many there are by day, week, month or
    year (`width`); a peak has strikingly many."""

    memories: tuple[Memory, ...]
    revisions: tuple[Revision, ...]
    width: str
    buckets: tuple[Bucket, ...]


def timeline(mem: Engram, given: Timeline) -> Told:
    found = mem.timeline(given.about, since=given.since, until=given.until, limit=given.limit)
    return Told(found.memories, found.revisions, found.width, found.buckets)


@frozen(kw_only=True)
class Learn:
    subject: Annotated[str, Arg("Of whom, or of what.", main=True)]
    predicate: Annotated[str, Arg("What is said of it: works at, port, owner.", main=True)]
    object: Annotated[str, Arg("What it is.", main=True)]
    many: Annotated[bool, Arg("There may be many of these at a time: nothing is outdated by it.")] = False


def learn(mem: Engram, given: Learn) -> Memory:
    return mem.learn(given.subject, given.predicate, given.object, many=given.many)


@frozen(kw_only=True)
class Beliefs:
    subject: Annotated[str, Arg("Of whom, or of what.", main=True, words=True)]
    past: Annotated[bool, Arg("With what held once.")] = False
    inferred: Annotated[bool, Arg("With what follows from it, and is said nowhere.")] = False


@frozen
class Held:
    """Facts of a subject, the newest first, each with how it is held."""

    beliefs: tuple[Belief, ...]


def beliefs(mem: Engram, given: Beliefs) -> Held:
    return Held(tuple(mem.beliefs(given.subject, past=given.past, inferred=given.inferred)))


@frozen(kw_only=True)
class Knows:
    subject: Annotated[str | None, Arg("A subject, or a question; without one all that is known.", main=True, words=True)] = None
    limit: Annotated[int, Arg("How many subjects of the map at most.", low=1, high=1000, flags=("--limit", "-n"))] = 20


@frozen
class Assessed:
    """How well each subject is known, the best known first, of so many memories; one, if it was asked for. `said`:
    in a sentence."""

    domains: tuple[Knowledge, ...]
    memories: int
    said: str


def knows(mem: Engram, given: Knows) -> Assessed:
    if given.subject is None:
        found = mem.knows(limit=given.limit)
        return Assessed(found.domains, found.memories, found.said)
    known = mem.knows(given.subject)
    return Assessed((known,), known.figures.memories, known.said)


OPERATIONS = (
    Operation(
        name="entity",
        help="Show all about somebody or something: names, what holds of it now, and what was told of it.",
        input=Entity,
        output=Profile,
        run=entity,
    ),
    Operation(name="entities", help="List who and what the memories name.", input=Entities, output=Named, run=entities),
    Operation(
        name="timeline",
        help="Show what was told of somebody, something or a topic, in the order it happened: corrections, and when much was.",
        input=Timeline,
        output=Told,
        run=timeline,
    ),
    Operation(
        name="learn",
        help="Keep a fact as subject, predicate and object; what it contradicts is outdated.",
        input=Learn,
        output=Memory,
        run=learn,
        effect=Effect.WRITE,
        idempotent=False,
        role=Role.AGENT,
    ),
    Operation(
        name="beliefs",
        help="List the facts of a subject, and how each is held: held, contested, retracted or inferred.",
        input=Beliefs,
        output=Held,
        run=beliefs,
    ),
    Operation(
        name="knows",
        help="Tell how well a subject is known (confident, uncertain, unknown), from what, and what is missing; or a map of all.",
        input=Knows,
        output=Assessed,
        run=knows,
    ),
)
