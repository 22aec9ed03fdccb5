"""Edits of other programs' settings files on a terminal: show the difference, ask, write, name the backup."""

from __future__ import annotations

from pathlib import Path

from engram.serve import hosts
from engram.serve.cli import show
from engram.serve.cli.caller import Caller
from engram.serve.hosts import Edit


def apply(caller: Caller, edit: Edit, *, unchanged: str, done: str, yes: bool, dry_run: bool = False) -> bool:
    """Show an edit, ask and write it. Return whether the file was written. unchanged: why there was nothing to do; done: the
    confirmation."""
    if not edit.changes:
        _answer(caller, edit, f"Nothing to do: {edit.path} {unchanged}.")
        return False
    show.remark(edit.diff().rstrip("\n"))
    if dry_run:
        _answer(caller, edit)
        return False
    caller.confirm(f"Write {edit.path}?", yes)
    backup = hosts.write(edit, caller.env.now())
    _answer(caller, edit, done.rstrip(), written=True, backup=backup)
    if backup is not None:
        caller.remark(f"The earlier file is kept as {backup}.")
    return True


def print_entry(caller: Caller, path: Path, text: str) -> None:
    """Print the text that an empty file would get, for somebody who edits the file by hand."""
    if caller.json:
        show.data({"path": str(path), "text": text})
    else:
        show.line(text.rstrip("\n"))


def _answer(caller: Caller, edit: Edit, message: str = "", *, written: bool = False, backup: Path | None = None) -> None:
    if caller.json:
        show.data({"path": str(edit.path), "written": written, "backup": None if backup is None else str(backup)})
    elif message:
        caller.say(message)
