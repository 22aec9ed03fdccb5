"""Operations on boxes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.operation import Arg, Operation
from engram.types import Memory
from engram.values.episodes import Box
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class BoxesInput:
    trace: Annotated[int | None, Arg("Of this trace only.", low=1)] = None
    limit: Annotated[int, Arg("How many at most.", low=1, high=10_000, flags=("--limit", "-n"))] = 50


@frozen
class BoxList:
    boxes: tuple[Box, ...]


def boxes(mem: Engram, given: BoxesInput) -> BoxList:
    return BoxList(tuple(mem.boxes(trace=given.trace, limit=given.limit)))


@frozen(kw_only=True)
class BoxInput:
    key: Annotated[int, Arg("The box's number.", low=1, positional=True)]


@frozen
class BoxContents:
    """The memories of a box, in the order in which they were stored."""

    memories: tuple[Memory, ...]


def box(mem: Engram, given: BoxInput) -> BoxContents:
    return BoxContents(tuple(mem.box(given.key)))


OPERATIONS = (
    Operation(
        name="boxes",
        help="Show stretches of what was kept, each about one thing; those of one trace are about the same.",
        input=BoxesInput,
        output=BoxList,
        run=boxes,
    ),
    Operation(
        name="box", help="Show the memories in a box, in the order they were kept.", input=BoxInput, output=BoxContents, run=box
    ),
)
