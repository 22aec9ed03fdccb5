"""Operations on facts: learn one, withdraw it, list what is believed of a subject, find how two names are connected."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from engram.serve.operations.operation import Arg, Effect, Operation
from engram.types import Memory, Role
from engram.values.entities import Belief, FactPath
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


AnyStrength = Literal[
    "axiomatic", "observed", "computed", "consensus", "stated", "reported", "inferred", "hypothetical", "hearsay"
]
AsOf = Annotated[datetime | None, Arg("What held at that time, by all that is known today.")]


@frozen(kw_only=True)
class LearnInput:
    subject: Annotated[str, Arg("Of whom, or of what.", positional=True)]
    predicate: Annotated[str, Arg("What is said of it: works at, port, owner.", positional=True)]
    object: Annotated[str, Arg("What it is.", positional=True)]
    many: Annotated[bool, Arg("There may be many of these at a time: nothing is outdated by it.")] = False
    since: Annotated[datetime | None, Arg("Since when it holds.")] = None
    until: Annotated[datetime | None, Arg("Until when it held; what is over outdates nothing.")] = None
    strength: Annotated[
        AnyStrength | None, Arg("The evidence for it; by default a statement of yours, or hearsay of the teller.")
    ] = None
    teller: Annotated[str, Arg("Somebody else whose words it gives; it then contests what is known and does not outdate it.")] = (
        ""
    )
    kind: Annotated[str, Arg("What the subject is: person, place, organisation; else the predicate tells.")] = ""
    object_kind: Annotated[str, Arg("What the object is.")] = ""
    memory: Annotated[str | None, Arg("The id of a memory that says so; by default a new one is stored.", is_id=True)] = None


def learn(mem: Engram, given: LearnInput) -> Memory:
    return mem.learn(
        given.subject,
        given.predicate,
        given.object,
        many=given.many,
        since=given.since,
        until=given.until,
        strength=given.strength,
        teller=given.teller,
        kind=given.kind,
        object_kind=given.object_kind,
        memory=given.memory,
    )


@frozen(kw_only=True)
class UnlearnInput:
    id: Annotated[str, Arg("The id of the memory that states the fact.", positional=True, is_id=True)]
    subject: Annotated[str, Arg("Of whom, or of what.", positional=True)]
    predicate: Annotated[str, Arg("What is said of it.", positional=True)]


def unlearn(mem: Engram, given: UnlearnInput) -> Memory:
    return mem.unlearn(given.id, given.subject, given.predicate)


@frozen(kw_only=True)
class BeliefsInput:
    subject: Annotated[str, Arg("Of whom, or of what.", positional=True, free_text=True)]
    predicate: Annotated[str, Arg("Only facts of this predicate.")] = ""
    past: Annotated[bool, Arg("With what held once.")] = False
    inferred: Annotated[bool, Arg("With what follows from it, and is said nowhere.")] = False
    as_of: AsOf = None


@frozen
class BeliefList:
    """Facts about a subject, the newest first, each with its status, strength and revisions."""

    beliefs: tuple[Belief, ...]


def beliefs(mem: Engram, given: BeliefsInput) -> BeliefList:
    found = mem.beliefs(given.subject, given.predicate, past=given.past, inferred=given.inferred, as_of=given.as_of)
    return BeliefList(tuple(found))


@frozen(kw_only=True)
class PathInput:
    start: Annotated[str, Arg("The name that the path begins with.", positional=True)]
    end: Annotated[str, Arg("The name that it leads to.", positional=True)]
    predicates: Annotated[tuple[str, ...], Arg("By facts of these predicates only.", high=64, flags=("--predicate",))] = ()
    most: Annotated[int, Arg("How many links it may have.", low=1, high=6)] = 4
    as_of: AsOf = None


def path(mem: Engram, given: PathInput) -> FactPath:
    return mem.path(given.start, given.end, predicates=given.predicates, most=given.most, as_of=given.as_of)


OPERATIONS = (
    Operation(
        name="learn",
        help="Keep a fact as subject, predicate and object; what it contradicts is outdated.",
        input=LearnInput,
        output=Memory,
        run=learn,
        effect=Effect.WRITE,
        idempotent=False,
        role=Role.AGENT,
    ),
    Operation(
        name="unlearn",
        help="Take a fact back from its memory; beliefs that it had replaced hold again.",
        input=UnlearnInput,
        output=Memory,
        run=unlearn,
        effect=Effect.WRITE,
        idempotent=False,
        role=Role.AGENT,
    ),
    Operation(
        name="beliefs",
        help="List the facts of a subject, and how each is held: held, contested, retracted or inferred.",
        input=BeliefsInput,
        output=BeliefList,
        run=beliefs,
    ),
    Operation(
        name="path",
        help="Show the shortest chain of facts between two names, with the memories that state them.",
        input=PathInput,
        output=FactPath,
        run=path,
    ),
)
