"""Operations on facts: learn one, list what is believed of a subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.operation import Arg, Effect, Operation
from engram.types import Memory, Role
from engram.values.entities import Belief
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class LearnInput:
    subject: Annotated[str, Arg("Of whom, or of what.", positional=True)]
    predicate: Annotated[str, Arg("What is said of it: works at, port, owner.", positional=True)]
    object: Annotated[str, Arg("What it is.", positional=True)]
    many: Annotated[bool, Arg("There may be many of these at a time: nothing is outdated by it.")] = False


def learn(mem: Engram, given: LearnInput) -> Memory:
    return mem.learn(given.subject, given.predicate, given.object, many=given.many)


@frozen(kw_only=True)
class BeliefsInput:
    subject: Annotated[str, Arg("Of whom, or of what.", positional=True, free_text=True)]
    past: Annotated[bool, Arg("With what held once.")] = False
    inferred: Annotated[bool, Arg("With what follows from it, and is said nowhere.")] = False


@frozen
class BeliefList:
    """Facts about a subject, the newest first, each with its status."""

    beliefs: tuple[Belief, ...]


def beliefs(mem: Engram, given: BeliefsInput) -> BeliefList:
    return BeliefList(tuple(mem.beliefs(given.subject, past=given.past, inferred=given.inferred)))


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
        name="beliefs",
        help="List the facts of a subject, and how each is held: held, contested, retracted or inferred.",
        input=BeliefsInput,
        output=BeliefList,
        run=beliefs,
    ),
)
