"""An edit of another program's settings as a person at a terminal meets it: the difference, a question, a backup."""

from __future__ import annotations

from pathlib import Path

from engram.serve import hosts
from engram.serve.cli import show
from engram.serve.cli.caller import Caller
from engram.serve.hosts import Edit


def settle(asked: Caller, edit: Edit, *, nothing: str, done: str, yes: bool, dry_run: bool = False) -> bool:
    """Show it, ask, and make it so; False if there was nothing to do, or nothing was to be done."""
    if not edit.changes:
        _answer(asked, edit, f"Nothing to do: {edit.path} {nothing}.")
        return False
    show.remark(edit.diff().rstrip("\n"))
    if dry_run:
        _answer(asked, edit)
        return False
    asked.confirm(f"Write {edit.path}?", yes)
    backup = hosts.write(edit, asked.env.now())
    _answer(asked, edit, done.rstrip(), written=True, backup=backup)
    if backup is not None:
        asked.remark(f"What was there is in {backup}.")
    return True


def would_stand(asked: Caller, path: Path, text: str) -> None:
    """What would stand in a file of its own, for who adds it by hand."""
    if asked.json:
        show.data({"path": str(path), "text": text})
    else:
        show.line(text.rstrip("\n"))


def _answer(asked: Caller, edit: Edit, told: str = "", *, written: bool = False, backup: Path | None = None) -> None:
    if asked.json:
        show.data({"path": str(edit.path), "written": written, "backup": None if backup is None else str(backup)})
    elif told:
        asked.say(told)
