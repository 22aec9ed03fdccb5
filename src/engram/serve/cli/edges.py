"""Display of edges on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec

if TYPE_CHECKING:
    pass


def _related(result: CommandResult) -> None:
    result.caller.say(f"{result.value.source} → {result.value.target} ({result.value.kind})")


def _reached(result: CommandResult) -> None:
    rows = [
        [
            reached.memory.id,
            f"{reached.strength:.2f}",
            " → ".join(reached.by) + (f" ({reached.inferred})" if reached.inferred else ""),
            reached.memory.text,
        ]
        for reached in result.value.reached
    ]
    if rows:
        terminal.table(["id", "strength", "by", "text"], rows)
    else:
        result.caller.remark("No link is strong enough to follow.")


COMMANDS = {
    "relate": CommandSpec(show=_related),
    "traverse": CommandSpec(show=_reached),
}
