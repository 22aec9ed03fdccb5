"""Display of gaps on a terminal."""

from __future__ import annotations

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.values.entities import Gap

_PANEL = "At work"


def _gaps(result: CommandResult) -> None:
    gaps: tuple[Gap, ...] = result.value.gaps
    if not gaps:
        result.caller.remark("Nothing is known to be missing here: no open question, no dispute, nothing old that is much used.")
        return
    rows = [
        [gap.kind.value, str(gap.times), terminal.when(gap.asked_at), terminal.when(gap.offered_at), gap.text] for gap in gaps
    ]
    terminal.table(["gap", "times", "last", "offered", "question"], rows, wrap=True)


COMMANDS = {
    "gaps": CommandSpec(panel=_PANEL, show=_gaps, waits_for_vectors=True),
}
