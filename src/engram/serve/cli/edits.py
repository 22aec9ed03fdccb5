"""An edit of another program's settings as a person at a terminal meets it: the difference, a question, a backup."""

from __future__ import annotations

from engram.serve import hosts
from engram.serve.cli import show
from engram.serve.cli.caller import Caller
from engram.serve.hosts import Edit


def settle(asked: Caller, edit: Edit, *, nothing: str, done: str, yes: bool, dry_run: bool = False) -> bool:
    """Show it, ask, and make it so; False if there was nothing to do, or nothing was to be done."""
    if not edit.changes:
        asked.say(f"Nothing to do: {edit.path} {nothing}.")
        return False
    show.remark(edit.diff().rstrip("\n"))
    if dry_run:
        return False
    asked.confirm(f"Write {edit.path}?", yes)
    backup = hosts.write(edit, asked.env.now())
    asked.say(done.rstrip())
    if backup is not None:
        asked.remark(f"What was there is in {backup}.")
    return True
