"""Operations on background passes: consolidate, dream, undo_dream, dreams."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.operation import Arg, Effect, Operation, progress_callback
from engram.types import Report, Role
from engram.values.dreams import Pass, PassReport
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.dream.runner import Progress
    from engram.engine import Engram


@frozen(kw_only=True)
class PassInput:
    jobs: Annotated[tuple[str, ...], Arg("Only this job.", high=32, flags=("--job", "-j"))] = ()
    dry_run: Annotated[bool, Arg("Only tell what would change.")] = False


def consolidate(mem: Engram, given: PassInput) -> PassReport:
    return mem.consolidate(jobs=given.jobs, dry_run=given.dry_run, progress=_report_pages())


def dream(mem: Engram, given: PassInput) -> PassReport:
    return mem.dream(jobs=given.jobs, dry_run=given.dry_run, progress=_report_pages())


def _report_pages() -> Callable[[Progress], None]:
    report = progress_callback()
    return lambda page: report(f"{page.job}: {page.visited:,} looked at, {page.changed:,} changed", None)


@frozen(kw_only=True)
class UndoDreamInput:
    id: Annotated[str, Arg("The id of a pass.", positional=True)]


def undo_dream(mem: Engram, given: UndoDreamInput) -> Report:
    return mem.undo_dream(given.id)


@frozen(kw_only=True)
class DreamsInput:
    limit: Annotated[int, Arg("How many at most.", low=1, high=1000, flags=("--limit", "-n"))] = 20


@frozen
class PassList:
    """Passes of `consolidate` and `dream`, the latest first."""

    passes: tuple[Pass, ...]


def dreams(mem: Engram, given: DreamsInput) -> PassList:
    return PassList(tuple(mem.dreams(limit=given.limit)))


OPERATIONS = (
    Operation(
        name="consolidate",
        help="Merge memories that say the same, decide contradictions, put away what has faded.",
        input=PassInput,
        output=PassReport,
        run=consolidate,
        effect=Effect.WRITE,
        role=Role.AGENT,
        reports_progress=True,
    ),
    Operation(
        name="dream",
        help="Run all jobs for a memory at rest, those of `consolidate` among them; it is undone if recall gets worse by it.",
        input=PassInput,
        output=PassReport,
        run=dream,
        effect=Effect.WRITE,
        role=Role.AGENT,
        reports_progress=True,
    ),
    Operation(
        name="undo_dream",
        help="Take back what a pass of `consolidate` or `dream` did.",
        input=UndoDreamInput,
        output=Report,
        run=undo_dream,
        effect=Effect.WRITE,
        idempotent=False,
        role=Role.AGENT,
    ),
    Operation(
        name="dreams",
        help="Show what was done at rest, the latest first.",
        input=DreamsInput,
        output=PassList,
        run=dreams,
        role=Role.AGENT,
    ),
)
