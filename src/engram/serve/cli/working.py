"""Commands on what is in mind: look, attend, hand over, take up again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from engram.memory.export import Form
from engram.memory.mind import Age, Resumed
from engram.memory.working import Slot, SlotSource
from engram.serve.cli import caller, show
from engram.serve.cli.caller import BadCall, Json

_AGES = {
    Age.NOTHING: "nothing was put away here",
    Age.FRESH: "as it was left",
    Age.DECAYED: "fainter than it was left",
    Age.DROPPED: "what was in mind is too old to go on with",
}


def add_to(app: typer.Typer) -> None:
    commands: dict[str, Callable[..., None]] = {"working": working, "checkpoint": checkpoint, "resume": resume}
    for name, command in commands.items():
        app.command(name, rich_help_panel="At work")(command)


def working(
    ctx: typer.Context,
    attend: Annotated[
        list[str] | None, typer.Option(show_default=False, help="Bring this to mind first; may be repeated.")
    ] = None,
    source: Annotated[SlotSource, typer.Option(help="How it came to mind.")] = SlotSource.SAID,
    form: Annotated[
        Form | None, typer.Option("--form", show_default=False, help="Print it as it would stand in a prompt.")
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, show_default=False, help="Tokens that it may have there.")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Forget all of it, and the checkpoint.")] = False,
    as_json: Json = False,
) -> None:
    """Show what is in mind where you stand, the liveliest first."""
    asked = caller.of(ctx)
    with asked.open(make=bool(attend)) as vault:
        mind = vault.working
        if clear:
            mind.clear()
        for text in attend or ():
            mind.attend(text, source=source)
        slots, exported = mind.slots, mind.export(form or Form.PLAIN, budget)
    if asked.json or as_json:
        show.data(exported if form is not None or budget is not None else {"slots": slots, "tokens": exported.tokens})
    elif form is not None or budget is not None:
        show.line(exported.text)
    elif slots:
        show.table(["active", "source", "since", "id", "text"], [_row(slot) for slot in slots], wrap=True)
    else:
        asked.remark("Nothing is in mind here.")


def _row(slot: Slot) -> list[str]:
    return [f"{slot.activation:.2f}", slot.source.value, show.when(slot.entered_at), slot.memory_id, slot.text]


def checkpoint(
    ctx: typer.Context,
    goal: Annotated[
        list[str] | None, typer.Argument(show_default=False, help="What is being done; a single - reads input.")
    ] = None,
    decided: Annotated[list[str] | None, typer.Option(show_default=False, help="What was decided; may be repeated.")] = None,
    open_: Annotated[list[str] | None, typer.Option("--open", show_default=False, help="What is left open; the same.")] = None,
    as_json: Json = False,
) -> None:
    """Note what is being done, decided and left open, for whoever goes on here. A vault that is missing is made."""
    asked = caller.of(ctx)
    if not goal and not decided and not open_:
        raise BadCall("Say what is being done, or give --decided or --open.")
    words = caller.words(goal) if goal else ""
    with asked.open(make=True) as vault:
        made = vault.working.checkpoint(words, decided=decided or (), open=open_ or ())
    show.data(made) if asked.json or as_json else asked.say("Noted.")


def resume(ctx: typer.Context, as_json: Json = False) -> None:
    """Tell what was being done where you stand, what was decided and what is left open."""
    asked = caller.of(ctx)
    with asked.open() as vault:
        found = vault.resume()
    if asked.json or as_json:
        show.data(found)
        return
    show.pairs(
        [
            ("doing", found.goal),
            ("decided", "\n".join(found.decided)),
            ("open", "\n".join(found.open)),
            ("noted", show.when(found.noted_at)),
            ("in mind", "\n".join(show.one_line(slot.text) for slot in found.slots)),
        ]
    )
    asked.remark(_outcome(found))


def _outcome(found: Resumed) -> str:
    left = f" (left {show.when(found.saved_at)})" if found.saved_at is not None else ""
    return f"{found.age.value}: {_AGES[found.age]}{left}."
