"""The operation that purges everything of one user, agent, channel, squad or project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from engram.serve.operations.operation import Arg, Effect, Operation
from engram.types import Report, Role
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class PurgeInput:
    dimension: Annotated[Literal["user", "agent", "channel", "squad", "project"], Arg("What sort of place.", positional=True)]
    name: Annotated[str, Arg("Its name.", positional=True)]
    dry_run: Annotated[bool, Arg("Only count what would go.")] = False


def purge(mem: Engram, given: PurgeInput) -> Report:
    return mem.purge(dry_run=given.dry_run, **{given.dimension: given.name})


OPERATIONS = (
    Operation(
        name="purge",
        help="Remove everything of one user, agent, channel, squad or project from every table, for good.",
        input=PurgeInput,
        output=Report,
        run=purge,
        effect=Effect.DESTRUCTIVE,
        role=Role.OWNER,
    ),
)
