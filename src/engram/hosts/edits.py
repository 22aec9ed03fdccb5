"""Edits of other programs' settings files: one entry is added or removed, every other character stays as it is.

In: the text of a JSON file (comments are fine) or a TOML file, and the path of names of the entry. Out: an `Edit`, which shows
its difference and is written atomically, beside a backup. A file of unexpected shape is left alone.
"""

from __future__ import annotations

import contextlib
import copy
import difflib
import json
import os
import re
import stat
import sys
import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from engram.errors import ConfigInvalid
from engram.hosts import jsonc
from engram.values.frozen import frozen

_BY_HAND = "It was left as it is; `--print` shows what to add by hand."
_BACKUP = ".engram-backup"
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


@frozen
class Edit:
    """The text of a file before and after a change; None stands for a file that does not exist."""

    path: Path
    before: str | None
    after: str | None

    @property
    def changes(self) -> bool:
        return self.before != self.after

    def diff(self) -> str:
        old, new = (text.splitlines(keepends=True) if text else [] for text in (self.before, self.after))
        name = str(self.path)
        lines = difflib.unified_diff(old, new, name if old else os.devnull, name if self.after is not None else os.devnull)
        return "".join(line if line.endswith("\n") else line + "\n" for line in lines)


def program() -> list[str]:
    """Return the command that starts this installation from any folder, without importing modules of that folder (`-P`)."""
    script = Path(sys.executable).with_name("engram.exe" if sys.platform == "win32" else "engram")
    return [str(script)] if script.exists() else [sys.executable, "-P", "-m", "engram.serve.cli"]


def read(path: Path) -> str | None:
    """Return the text of a settings file, or None if it does not exist. Links are followed: many keep such files elsewhere."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigInvalid(f"{path} cannot be read ({type(problem).__name__}).", way_out="It was not changed.") from None


def write(edit: Edit, now: datetime) -> Path | None:
    """Write an edit atomically and return the path of the backup; None if the file was new or nothing changes."""
    path = edit.path.resolve()
    if not edit.changes:
        return None
    if path.exists() and not path.stat().st_mode & _WRITABLE:
        raise ConfigInvalid(f"{edit.path} is read-only.", way_out="Make it writable, or add the entry shown by hand.")
    if read(path) != edit.before:
        raise ConfigInvalid(f"{edit.path} was changed by another program meanwhile.", way_out="Run the command again.")
    try:
        return _write(path, edit, now)
    except OSError as error:
        raise ConfigInvalid(
            f"{edit.path} cannot be written ({error.strerror}).", way_out="Make it writable, or add the entry shown by hand."
        ) from error


def _write(path: Path, edit: Edit, now: datetime) -> Path | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    if edit.before is not None:
        backup = _backup_path(path, now)
        _replace(backup, edit.before, path)
    if edit.after is None:
        path.unlink()
    else:
        _replace(path, edit.after, path)
    return backup


def _backup_path(path: Path, now: datetime) -> Path:
    """Return an unused path for a backup, numbered if there is one of the same second."""
    names = (f"{path.name}.{now:%Y%m%d-%H%M%S}{f'-{number}' if number else ''}{_BACKUP}" for number in range(1000))
    return next(candidate for candidate in map(path.with_name, names) if not candidate.exists())


def backups(path: Path) -> list[str]:
    """Return the texts of the file before each of our changes, the latest first."""
    path = path.resolve()
    return [read(backup) or "" for backup in sorted(path.parent.glob(f"{path.name}.*{_BACKUP}"), reverse=True)]


def _replace(path: Path, text: str, like: Path) -> None:
    """Replace a file atomically, with the permissions of `like`: such files may hold keys of other servers."""
    mode = stat.S_IMODE(like.stat().st_mode) if like.exists() else 0o600
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


# ── JSON ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def put_json(path: Path, text: str | None, place: Sequence[str], entry: object) -> Edit:
    """Return the edit that sets an entry, such as that at ("mcpServers", "engram"); missing objects on the way are created."""
    if text is None or not text.strip():
        return Edit(path, text, json.dumps(jsonc.nested(place, entry), indent=2, ensure_ascii=False) + "\n")
    root = _object(path, text)
    for depth in range(1, len(place)):
        if not isinstance(_at(root, place[:depth]), dict) and place[depth - 1] in (_at(root, place[: depth - 1]) or {}):
            raise ConfigInvalid(f"`{'.'.join(place[:depth])}` in {path} is not an object.", way_out="The file was not changed.")
    if _at(root, place) == entry:
        return Edit(path, text, text)
    after = jsonc.put(text, place, entry)
    return _checked(Edit(path, text, after), _with(root, place, entry), _object(path, after))


def found_json(path: Path, text: str | None, place: Sequence[str]) -> Any:
    """Return the value at this place, or None."""
    return _at(_object(path, text), place) if text is not None and text.strip() else None


def take_json(path: Path, text: str | None, place: Sequence[str]) -> Edit:
    """Return the edit that removes an entry and the objects that held nothing else; a file that held nothing else is removed."""
    if text is None or found_json(path, text, place) is None:
        return Edit(path, text, text)
    after = jsonc.take(text, place)
    remaining = {} if after is None else _object(path, after)
    return _checked(Edit(path, text, after), _without(_object(path, text), place), _without(remaining, place))


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        root = jsonc.loads(text)
    except (ValueError, RecursionError):
        root = None
    if not isinstance(root, dict):
        raise ConfigInvalid(f"{path} is not valid JSON.", way_out=_BY_HAND)
    return root


def _checked(edit: Edit, expected: object, parsed: object) -> Edit:
    """Return the edit if its text parses to the expected value. A duplicate name, for example, could hide the new entry; then
    nothing is written."""
    if parsed != expected:
        raise ConfigInvalid(f"{edit.path} is written in a form that cannot be edited safely.", way_out=_BY_HAND)
    return edit


def _at(value: Any, place: Sequence[str]) -> Any:
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with(root: Mapping[str, Any], place: Sequence[str], entry: object) -> Any:
    result = inner = copy.deepcopy(dict(root))
    for name in place[:-1]:
        inner = inner.setdefault(name, {})
    inner[place[-1]] = entry
    return result


def _without(root: Mapping[str, Any], place: Sequence[str]) -> Any:
    """Return the value without the entry and without objects that held nothing else."""
    name, rest = place[0], place[1:]
    inner = root.get(name)
    remaining = _without(inner, rest) if rest and isinstance(inner, dict) else {}
    others = {other: value for other, value in root.items() if other != name}
    return {**others, name: remaining} if remaining else others


# ── TOML ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def put_toml(path: Path, text: str | None, place: Sequence[str], entry: Mapping[str, Any]) -> Edit:
    """Return the edit that writes the entry as a table of its own, in the place of the old table or at the end."""
    before = text or ""
    root = _table(path, before)
    if _at(root, place) == entry:
        return Edit(path, text, text)
    line = jsonc.newline(before)
    head, tail = _around_table(before, place)
    block = _block(place, entry).replace("\n", line)
    gap = "" if not head or head.endswith(line * 2) else line if head.endswith(line) else line * 2
    after = head + gap + block + (line if tail and not tail.startswith(line) else "") + tail
    return _checked(Edit(path, text, after), _with(root, place, entry), _edited_table(path, after))


def found_toml(path: Path, text: str | None, place: Sequence[str]) -> Any:
    """Return the value at this place, or None."""
    return _at(_table(path, text or ""), place)


def take_toml(path: Path, text: str | None, place: Sequence[str]) -> Edit:
    if text is None or found_toml(path, text, place) is None:
        return Edit(path, text, text)
    head, tail = _around_table(text, place)
    after = head.rstrip("\r\n") + jsonc.newline(text) + tail if head.strip() else tail.lstrip("\r\n")
    remaining = _without(_edited_table(path, after), place)
    return _checked(Edit(path, text, after if after.strip() else None), _without(_table(path, text), place), remaining)


def _table(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        raise ConfigInvalid(f"{path} is not valid TOML.", way_out=_BY_HAND) from None


def _edited_table(path: Path, text: str) -> dict[str, Any]:
    """Parse the edited text. It is invalid if the entry had been written otherwise than as a table of its own."""
    try:
        return _table(path, text)
    except ConfigInvalid:
        raise ConfigInvalid(f"{path} is written in a form that cannot be edited safely.", way_out=_BY_HAND) from None


def _around_table(text: str, place: Sequence[str]) -> tuple[str, str]:
    """Return the text before and after a table and its subtables; all of the text and "" if the table is absent.

    Blank lines and comments at the end of a table count as belonging to the next one.
    """
    name = r"[ \t]*\.[ \t]*".join(rf"(?:{part}|\"{part}\"|'{part}')" for part in map(re.escape, place))
    head = rf"^[ \t]*\[[ \t]*{name}[ \t]*(?:\.[^\]\n]*)?\][^\n]*(?:\n|\Z)"
    line, blank = r"(?![ \t]*\[)[^\n]*(?:\n|\Z)", r"[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)"
    table = re.compile(rf"{head}(?:(?!\Z){line})*?(?=(?:(?!\Z){blank})*(?:^[ \t]*\[|\Z))", re.MULTILINE)
    tables = list(table.finditer(text))
    if not tables:
        return text, ""
    between = [text[first.end() : second.start()] for first, second in pairwise(tables)]
    return text[: tables[0].start()], "".join(part for part in between if part.strip()) + text[tables[-1].end() :]


def _block(place: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return the entry as a TOML table, with its objects as subtables. JSON's strings and numbers are valid TOML."""
    name = ".".join(place)
    plain = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items() if not isinstance(value, dict)]
    tables = [_block((*place, key), value) for key, value in entry.items() if isinstance(value, dict) and value]
    return "\n".join([f"[{name}]", *plain]) + "\n" + "".join("\n" + table for table in tables)
