"""Operations on a memory at rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from engram.frozen import frozen
from engram.passes import Pass, PassReport
from engram.serve.operations.operation import Arg, Effect, Operation
from engram.serve.operations.telling import teller
from engram.types import Report, Role

if TYPE_CHECKING:
    from engram.dream.runner import Progress
    from engram.engine import Engram


@frozen(kw_only=True)
class Rest:
    jobs: Annotated[tuple[str, ...], Arg("Only this job.", high=32, flags=("--job", "-j"))] = ()
    dry_run: Annotated[bool, Arg("Only tell what would change.")] = False


def consolidate(mem: Engram, given: Rest) -> PassReport:
    return mem.consolidate(jobs=given.jobs, dry_run=given.dry_run, progress=_by_pages())


def dream(mem: Engram, given: Rest) -> PassReport:
    return mem.dream(jobs=given.jobs, dry_run=given.dry_run, progress=_by_pages())


def _by_pages() -> Callable[[Progress], None]:
    tell = teller()
    return lambda one: tell(f"{one.job}: {one.visited:,} looked at, {one.changed:,} changed", None)


@frozen(kw_only=True)
class Undo:
    id: Annotated[str, Arg("The id of a pass.", main=True)]


def undo_dream(mem: Engram, given: Undo) -> Report:
    return mem.undo_dream(given.id)


@frozen(kw_only=True)
class Dreams:
    limit: Annotated[int, Arg("How many at most.", low=1, high=1000, flags=("--limit", "-n"))] = 20


@frozen
class Past:
    """Passes, the latest first."""

    passes: tuple[Pass, ...]


def dreams(mem: Engram, given: Dreams) -> Past:
    return Past(tuple(mem.dreams(limit=given.limit)))


OPERATIONS = (
    Operation(
        name="consolidate",
        help="Merge memories that say the same, decide contradictions, put away what has faded.",
        input=Rest,
        output=PassReport,
        run=consolidate,
        effect=Effect.WRITE,
        role=Role.AGENT,
        tells=True,
    ),
    Operation(
        name="dream",
        help="Run all jobs for a memory at rest, those of `consolidate` among them; it is undone if recall gets worse by it.",
        input=Rest,
        output=PassReport,
        run=dream,
        effect=Effect.WRITE,
        role=Role.AGENT,
        tells=True,
    ),
    Operation(
        name="undo_dream",
        help="Take back what a pass of `consolidate` or `dream` did.",
        input=Undo,
        output=Report,
        run=undo_dream,
        effect=Effect.WRITE,
        idempotent=False,
        role=Role.AGENT,
    ),
    Operation(
        name="dreams",
        help="Show what was done at rest, the latest first.",
        input=Dreams,
        output=Past,
        run=dreams,
        role=Role.AGENT,
    ),
)
