"""The command that shows what an agent would read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from engram.context.window import ContextWindow
from engram.serve.cli import caller, show
from engram.serve.cli.caller import All, Json
from engram.serve.turns import read_turns
from engram.serve.warm import warm

_PATIENCE_S = 30.0


def add_to(app: typer.Typer) -> None:
    app.command("context", rich_help_panel="Memories")(context)


def context(
    ctx: typer.Context,
    message: Annotated[list[str], typer.Argument(show_default=False, help="What the agent was asked; a single - reads input.")],
    model: Annotated[str, typer.Option(help="Whose window and tokenizer count.")] = "gpt-4o",
    budget: Annotated[
        int | None, typer.Option(min=1, show_default=False, help="Tokens, else what the model has room for.")
    ] = None,
    profile: Annotated[str, typer.Option(help="chat, task, cron, orchestrator, swarm or flow.")] = "chat",
    history: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, show_default=False, help="What was said before: JSONL of turns.")
    ] = None,
    account: Annotated[bool, typer.Option("--account", help="Say what became of each memory, and what it costs.")] = False,
    everything: All = False,
    as_json: Json = False,
) -> None:
    """Show what an agent would read for this message: memories and history in a budget, fenced as data."""
    asked = caller.of(ctx)
    words = caller.words(message)
    refused: list[str] = []
    said = (
        ()
        if history is None
        else tuple(read_turns(history, asked.live().now, lambda line, reason: refused.append(f"line {line}: {reason}; skipped.")))
    )
    with asked.open(everything=everything) as vault:
        warm(vault, _PATIENCE_S)  # one question and the process ends
        window = vault.context(words, model=model, budget=budget, history=said, profile=profile)
    for one in refused:
        asked.remark(one)
    if asked.json or as_json:
        show.data(window)
        return
    show.line(window.text)
    if account:
        _account(window)
    asked.remark(f"{window.tokens:,} of {window.budget:,} tokens; {show.many(_standing(window), 'memory', 'memories')}.")
    for note in window.notes:
        asked.remark(f"note: {note}")


def _standing(window: ContextWindow) -> int:
    return sum(item.tier is not None for item in window.items)


def _account(window: ContextWindow) -> None:
    show.line()
    rows = [
        [
            str(item.number or ""),
            "" if item.tier is None else item.tier.name.lower().replace("_", " "),
            str(item.tokens or ""),
            item.memory.id,
            item.reason,
        ]
        for item in window.items
    ]
    show.table(["number", "tier", "tokens", "id", "what became of it"], rows)
