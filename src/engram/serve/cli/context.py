"""Display of a context window on a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from engram.context.window import ContextWindow
from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec

_ACCOUNT = Annotated[bool, typer.Option("--account", help="Say what became of each memory, and what it costs.")]


def _window(result: CommandResult) -> None:
    window: ContextWindow = result.value
    terminal.line(window.text)
    if result.options["account"]:
        _account(window)
    result.caller.remark(
        f"{window.tokens:,} of {window.budget:,} tokens; {terminal.many(_included(window), 'memory', 'memories')}."
    )
    for note in window.notes:
        result.caller.remark(f"note: {note}")


def _included(window: ContextWindow) -> int:
    return sum(item.tier is not None for item in window.items)


def _account(window: ContextWindow) -> None:
    terminal.line()
    rows = [
        [
            str(item.number or ""),
            "" if item.tier is None else item.tier.name.lower().replace("_", " "),
            str(item.tokens or ""),
            item.memory.short_id,
            item.reason,
        ]
        for item in window.items
    ]
    terminal.table(["number", "tier", "tokens", "id", "what became of it"], rows)


COMMANDS = {"context": CommandSpec(show=_window, options={"account": _ACCOUNT}, waits_for_vectors=True)}
