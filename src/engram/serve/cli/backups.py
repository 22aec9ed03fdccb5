"""`engram backups` and `engram restore-backup`, which work on a vault that cannot be opened; and the display of a new backup."""

from __future__ import annotations

from typing import Annotated

import typer

from engram.serve.cli import terminal
from engram.serve.cli.caller import Json, Yes, caller_of
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.serve.operations.backups import BackupList
from engram.store import maintenance
from engram.types import Backup

_PANEL = "Vault"


def add_to(app: typer.Typer) -> None:
    app.command("backups", rich_help_panel=_PANEL)(list_backups)
    app.command("restore-backup", rich_help_panel=_PANEL)(restore_backup)


def _made(result: CommandResult) -> None:
    made: Backup = result.value
    result.caller.say(f"Backup {made.number} holds {terminal.many(made.memories, 'memory', 'memories')}: {made.path}")


def list_backups(ctx: typer.Context, as_json: Json = False) -> None:
    """Show the backups there are, of a vault that cannot be opened too."""
    caller = caller_of(ctx, as_json)
    live = caller.live()
    caller.harden(live)
    listed = BackupList(tuple(maintenance.list_backups(caller.path, live, caller.env, caller.credentials)))
    if caller.json:
        terminal.data(listed)
        return
    terminal.table(("number", "made", "memories", "state", "file"), [_backup(backup) for backup in listed.backups], wrap=True)
    if not listed.backups:
        caller.remark("There is no backup yet.")


def _backup(backup: Backup) -> list[str]:
    state = "intact" if backup.intact else "damaged"
    return [str(backup.number), terminal.when(backup.made_at), str(backup.memories), state, str(backup.path)]


def restore_backup(
    ctx: typer.Context,
    number: Annotated[
        int | None, typer.Argument(min=1, show_default=False, help="Which one; the newest intact one if none is named.")
    ] = None,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of the vault's database, which is kept beside the backups."""
    caller = caller_of(ctx, as_json)
    live = caller.live()
    caller.harden(live)
    maintenance.key_facts(caller.path)  # raises for a missing vault before the question is asked
    which = "the newest intact backup" if number is None else f"backup {number}"
    caller.confirm(f"Put {which} in the place of what {caller.path} holds now?", yes)
    restored = maintenance.restore_backup(caller.path, live, caller.env, caller.credentials, number)
    if caller.json:
        terminal.data(restored)
    else:
        made = f" of {terminal.when(restored.made_at)}" if restored.made_at else ""
        caller.say(f"Backup {restored.number}{made} is in place, with {terminal.many(restored.memories, 'memory', 'memories')}.")
        caller.remark("The replaced database is kept in backups/.")


COMMANDS = {
    # No scheduled backup beside the one that was asked for.
    "backup": CommandSpec(panel=_PANEL, show=_made, whole_vault=True, offers_all=False, settings={"backup_hours": 0}),
}
