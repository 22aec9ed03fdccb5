"""Argument types and inputs that several operations share."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from engram.frozen import frozen
from engram.serve.operations.operation import Arg
from engram.types import Turn

Id = Annotated[str, Arg("The memory's id.", positional=True)]
Ids = Annotated[tuple[str, ...], Arg("Ids of memories.", low=1, high=1000, positional=True)]
Budget = Annotated[int | None, Arg("Tokens that it may have.", low=1, high=10_000_000)]
Turns = Annotated[tuple[Turn, ...], Arg("What was said, in order: turns, or messages of `role` and `content`.", high=10_000)]

UnchangedSince = Annotated[
    datetime | None, Arg("The `updated_at` that it was read with: if it has another now, nothing is done.")
]

AnyStatus = Literal["active", "challenged", "invalidated", "merged", "superseded", "archived", "any"]


@frozen(kw_only=True)
class NoInput:
    """The input of an operation without arguments."""


@frozen(kw_only=True)
class IdInput:
    """The input of an operation on one memory."""

    id: Id


@frozen(kw_only=True)
class IdsInput:
    """The input of an operation on several memories."""

    ids: Ids
