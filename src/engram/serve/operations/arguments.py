"""Arguments that several operations take."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from engram.serve.operations.operation import Arg
from engram.types import Turn

Id = Annotated[str, Arg("The memory's id.", main=True)]
Ids = Annotated[tuple[str, ...], Arg("Ids of memories.", low=1, high=1000, main=True)]
Budget = Annotated[int | None, Arg("Tokens that it may have.", low=1, high=10_000_000)]
Turns = Annotated[tuple[Turn, ...], Arg("What was said, in order: turns, or messages of `role` and `content`.", high=10_000)]

Unchanged = Annotated[datetime | None, Arg("The `updated_at` that it was read with: if it has another now, nothing is done.")]

AnyStatus = Literal["active", "challenged", "invalidated", "merged", "superseded", "archived", "any"]
