"""The operation of feedback: a memory judged or corrected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.errors import InvalidQuery
from engram.serve.operations.operation import Arg, Effect, Id, Operation
from engram.types import Memory
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class FeedbackInput:
    id: Id
    helpful: Annotated[bool | None, Arg("Did it help? Yes, if nothing is said.", flags=("--helpful/--unhelpful",))] = None
    query: Annotated[
        str | None, Arg("The question it was recalled for: what did not help is left out of answers to such questions.")
    ] = None
    correction: Annotated[str | None, Arg("What is true instead; it takes its place.")] = None

    def __post_init__(self) -> None:
        if self.correction is not None and self.helpful:
            raise InvalidQuery("a memory that needs a correction cannot be marked helpful.", way_out="Give `correction` alone.")


def feedback(mem: Engram, given: FeedbackInput) -> Memory:
    return mem.feedback(given.id, given.helpful is not False, query=given.query, correction=given.correction)


OPERATIONS = (
    Operation(
        name="feedback",
        help="Say whether a memory helped, or what is true instead.",
        input=FeedbackInput,
        output=Memory,
        run=feedback,
        effect=Effect.WRITE,
        idempotent=False,
    ),
)
