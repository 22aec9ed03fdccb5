"""Operations on a memory's lifecycle: its layer and state, promotion and demotion, and review by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.rules.lifecycle import LifecycleState, Review
from engram.serve.operations.operation import Arg, Effect, Id, IdInput, Operation
from engram.types import Memory
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


def promote(mem: Engram, given: IdInput) -> Memory:
    return mem.promote(given.id)


def demote(mem: Engram, given: IdInput) -> Memory:
    return mem.demote(given.id)


@frozen(kw_only=True)
class ReviewInput:
    """The input of `review`."""

    id: Id
    decision: Annotated[Review, Arg("Whether it holds.", positional=True)]
    reason: Annotated[str, Arg("Why; the history of the memory keeps it.")] = ""


def review(mem: Engram, given: ReviewInput) -> Memory:
    return mem.review(given.id, given.decision, reason=given.reason)


def standing(mem: Engram, given: IdInput) -> LifecycleState:
    return mem.standing(given.id)


OPERATIONS = (
    Operation(
        name="promote",
        help="Raise a memory by a layer: from working to episodic, from episodic to semantic.",
        input=IdInput,
        output=Memory,
        run=promote,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="demote",
        help="Lower a memory by a layer.",
        input=IdInput,
        output=Memory,
        run=demote,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="review",
        help="Decide by hand whether a memory holds: confirm, challenge, dispute or invalidate it.",
        input=ReviewInput,
        output=Memory,
        run=review,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="standing",
        help="Show where a memory stands: its layer, how far to rely on it, how long it is kept, how far it has faded.",
        input=IdInput,
        output=LifecycleState,
        run=standing,
    ),
)
