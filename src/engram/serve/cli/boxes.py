"""Display of boxes on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec

if TYPE_CHECKING:
    pass


def _boxes(result: CommandResult) -> None:
    rows = [
        [
            str(box.key),
            str(box.trace),
            terminal.when(box.opened_at),
            box.sealed.value or "open",
            str(box.size),
            ", ".join(box.topic),
        ]
        for box in result.value.boxes
    ]
    if rows:
        terminal.table(["box", "trace", "began", "closed by", "memories", "about"], rows)
    else:
        result.caller.remark("There are no boxes here.")


def _box(result: CommandResult) -> None:
    rows = [[memory.id, terminal.when(memory.learned_at), memory.text] for memory in result.value.memories]
    if rows:
        terminal.table(["id", "learned", "text"], rows)
    else:
        result.caller.remark("There is no box of that number here: `engram boxes` lists them.")


COMMANDS = {
    "boxes": CommandSpec(show=_boxes),
    "box": CommandSpec(show=_box),
}
