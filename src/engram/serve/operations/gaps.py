"""The operation of gaps: what is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.operation import Arg, Operation
from engram.values.entities import Gap
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class GapsInput:
    limit: Annotated[int, Arg("How many at most.", low=1, high=1000, flags=("--limit", "-n"))] = 20


@frozen
class GapList:
    """Unanswered questions, the most asked first; then memories in dispute, then memories that are old and often used."""

    gaps: tuple[Gap, ...]


def gaps(mem: Engram, given: GapsInput) -> GapList:
    return GapList(tuple(mem.gaps(limit=given.limit)))


OPERATIONS = (
    Operation(
        name="gaps",
        help="List what is not known: questions without an answer, memories that disagree, and what is much used and old.",
        input=GapsInput,
        output=GapList,
        run=gaps,
    ),
)
