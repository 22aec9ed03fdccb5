"""The operation of the change log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.operation import Arg, Operation
from engram.types import ChangeEvents
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class EventsInput:
    after: Annotated[int | None, Arg("What came after this point only; else only where to ask on from.", low=0)] = None
    limit: Annotated[int, Arg("How many at most.", low=1, high=10_000, flags=("--limit", "-n"))] = 100


def events(mem: Engram, given: EventsInput) -> ChangeEvents:
    return mem.events(after=given.after, limit=given.limit)


OPERATIONS = (
    Operation(
        name="events",
        help="Tell which memories changed, by their ids, after a point that an earlier answer named (`upto`); "
        "`missed` says that the log does not reach back so far, so that what is held must be read anew.",
        input=EventsInput,
        output=ChangeEvents,
        run=events,
    ),
)
