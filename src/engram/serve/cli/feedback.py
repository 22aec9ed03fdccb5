"""Display of feedback on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec

if TYPE_CHECKING:
    pass


def _judged(result: CommandResult) -> None:
    if result.given.correction is not None:
        terminal.line(result.value.id)
        result.caller.remark("It supersedes the memory that was corrected.")
    else:
        result.caller.say(f"{result.value.helpful:,} found it helpful, {result.value.unhelpful:,} did not.")


COMMANDS = {
    "feedback": CommandSpec(show=_judged),
}
