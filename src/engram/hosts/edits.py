"""Other programs' settings files: one entry put in or taken out, everything else left as it stands, character by character.

Comes in: the text of a JSON (comments are fine) or TOML file, and where the entry belongs. Goes out: an `Edit`, which shows its
difference, and is written whole or not at all, beside a backup. What cannot be read as what it should be is left alone.
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
    """A file as it is and as it shall be; None where it is not there, or shall not be."""

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
    """How to start this very installation, wherever a host looks for programs; never with modules from there (`-P`)."""
    script = Path(sys.executable).with_name("engram.exe" if sys.platform == "win32" else "engram")
    return [str(script)] if script.exists() else [sys.executable, "-P", "-m", "engram.serve.cli"]


def read(path: Path) -> str | None:
    """The text of a settings file; None if there is none. A link is followed: many keep such files elsewhere."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise ConfigInvalid(f"{path} cannot be read ({type(problem).__name__}).", way_out="It was left as it is.") from None


def write(edit: Edit, now: datetime) -> Path | None:
    """Make it so, in one step; returns the backup of what was there."""
    path = edit.path.resolve()
    if not edit.changes:
        return None
    if path.exists() and not path.stat().st_mode & _WRITABLE:
        raise ConfigInvalid(f"{edit.path} is marked as read-only.", way_out="Make it writable, or add what is shown by hand.")
    if read(path) != edit.before:
        raise ConfigInvalid(f"{edit.path} was changed by somebody else meanwhile.", way_out="Run it again.")
    try:
        return _write(path, edit, now)
    except OSError as error:
        raise ConfigInvalid(
            f"{edit.path} cannot be written ({error.strerror}).", way_out="Make it writable, or add what is shown by hand."
        ) from error


def _write(path: Path, edit: Edit, now: datetime) -> Path | None:
    path.parent.mkdir(parents=True, exist_ok=True)
    backup = None
    if edit.before is not None:
        backup = _free(path, now)
        _replace(backup, edit.before, path)
    if edit.after is None:
        path.unlink()
    else:
        _replace(path, edit.after, path)
    return backup


def _free(path: Path, now: datetime) -> Path:
    """A name for a backup that no other has: two changes in one second keep two."""
    names = (f"{path.name}.{now:%Y%m%d-%H%M%S}{f'-{more}' if more else ''}{_BACKUP}" for more in range(1000))
    return next(one for one in map(path.with_name, names) if not one.exists())


def backups(path: Path) -> list[str]:
    """The file as it was before each change of ours, the latest first."""
    path = path.resolve()
    return [read(one) or "" for one in sorted(path.parent.glob(f"{path.name}.*{_BACKUP}"), reverse=True)]


def _replace(path: Path, text: str, like: Path) -> None:
    """A new file in the place of the old one, for the same eyes: such files may hold other servers' keys."""
    mode = stat.S_IMODE(like.stat().st_mode) if like.exists() else 0o600
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, mode)
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


# ── JSON ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def put_json(path: Path, text: str | None, place: Sequence[str], entry: object) -> Edit:
    """The entry at this place, as in ("mcpServers", "engram"); objects on the way are made."""
    if text is None or not text.strip():
        return Edit(path, text, json.dumps(jsonc.nested(place, entry), indent=2, ensure_ascii=False) + "\n")
    whole = _object(path, text)
    for depth in range(1, len(place)):
        if not isinstance(_at(whole, place[:depth]), dict) and place[depth - 1] in (_at(whole, place[: depth - 1]) or {}):
            raise ConfigInvalid(f"`{'.'.join(place[:depth])}` in {path} is no object.", way_out="It was left as it is.")
    if _at(whole, place) == entry:
        return Edit(path, text, text)
    after = jsonc.put(text, place, entry)
    return _checked(Edit(path, text, after), _with(whole, place, entry), _object(path, after))


def found_json(path: Path, text: str | None, place: Sequence[str]) -> Any:
    """What stands at this place; None if nothing does."""
    return _at(_object(path, text), place) if text is not None and text.strip() else None


def take_json(path: Path, text: str | None, place: Sequence[str]) -> Edit:
    """Without the entry at this place, and without the objects that held nothing else; a file of nothing else goes."""
    if text is None or found_json(path, text, place) is None:
        return Edit(path, text, text)
    after = jsonc.take(text, place)
    left = {} if after is None else _object(path, after)
    return _checked(Edit(path, text, after), _without(_object(path, text), place), _without(left, place))


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        whole = jsonc.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        raise ConfigInvalid(f"{path} is not valid JSON.", way_out=_BY_HAND)
    return whole


def _checked(edit: Edit, expected: object, found: object) -> Edit:
    """A name that stands twice, say, may hide what was put in, or bring back what was hidden: then nothing is written."""
    if found != expected:
        raise ConfigInvalid(f"{edit.path} is laid out in a way that is not understood.", way_out=_BY_HAND)
    return edit


def _at(whole: Any, place: Sequence[str]) -> Any:
    for name in place:
        whole = whole.get(name) if isinstance(whole, dict) else None
    return whole


def _with(whole: Mapping[str, Any], place: Sequence[str], entry: object) -> Any:
    made = inner = copy.deepcopy(dict(whole))
    for name in place[:-1]:
        inner = inner.setdefault(name, {})
    inner[place[-1]] = entry
    return made


def _without(whole: Mapping[str, Any], place: Sequence[str]) -> Any:
    """What is left without the entry, and without what was there for it alone."""
    name, rest = place[0], place[1:]
    inner = whole.get(name)
    less = _without(inner, rest) if rest and isinstance(inner, dict) else {}
    others = {other: value for other, value in whole.items() if other != name}
    return {**others, name: less} if less else others


# ── TOML ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def put_toml(path: Path, text: str | None, place: Sequence[str], entry: Mapping[str, Any]) -> Edit:
    """The entry as a table of its own, in the place of the one that was there, else at the end."""
    before = text or ""
    whole = _table(path, before)
    if _at(whole, place) == entry:
        return Edit(path, text, text)
    line = jsonc.newline(before)
    head, tail = _around_table(before, place)
    block = _block(place, entry).replace("\n", line)
    gap = "" if not head or head.endswith(line * 2) else line if head.endswith(line) else line * 2
    after = head + gap + block + (line if tail and not tail.startswith(line) else "") + tail
    return _checked(Edit(path, text, after), _with(whole, place, entry), _table_made(path, after))


def found_toml(path: Path, text: str | None, place: Sequence[str]) -> Any:
    """What stands at this place; None if nothing does."""
    return _at(_table(path, text or ""), place)


def take_toml(path: Path, text: str | None, place: Sequence[str]) -> Edit:
    if text is None or found_toml(path, text, place) is None:
        return Edit(path, text, text)
    head, tail = _around_table(text, place)
    after = head.rstrip("\r\n") + jsonc.newline(text) + tail if head.strip() else tail.lstrip("\r\n")
    left = _without(_table_made(path, after), place)
    return _checked(Edit(path, text, after if after.strip() else None), _without(_table(path, text), place), left)


def _table(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        raise ConfigInvalid(f"{path} is not valid TOML.", way_out=_BY_HAND) from None


def _table_made(path: Path, text: str) -> dict[str, Any]:
    """The same of what we made; where it is none, the entry was written otherwise than as a table of its own."""
    try:
        return _table(path, text)
    except ConfigInvalid:
        raise ConfigInvalid(f"{path} is laid out in a way that is not understood.", way_out=_BY_HAND) from None


def _around_table(text: str, place: Sequence[str]) -> tuple[str, str]:
    """What stands before the table and behind it and those inside it; all of the text, and nothing, if it is not there.

    Blank lines and comments at its end are not its own: they lead to what follows.
    """
    name = r"[ \t]*\.[ \t]*".join(rf"(?:{one}|\"{one}\"|'{one}')" for one in map(re.escape, place))
    head = rf"^[ \t]*\[[ \t]*{name}[ \t]*(?:\.[^\]\n]*)?\][^\n]*(?:\n|\Z)"
    line, idle = r"(?![ \t]*\[)[^\n]*(?:\n|\Z)", r"[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)"
    table = re.compile(rf"{head}(?:(?!\Z){line})*?(?=(?:(?!\Z){idle})*(?:^[ \t]*\[|\Z))", re.MULTILINE)
    found = list(table.finditer(text))
    if not found:
        return text, ""
    between = [text[one.end() : other.start()] for one, other in pairwise(found)]
    return text[: found[0].start()], "".join(one for one in between if one.strip()) + text[found[-1].end() :]


def _block(place: Sequence[str], entry: Mapping[str, Any]) -> str:
    """A table, with what is an object as a table inside it. JSON's text and numbers are TOML's too."""
    name = ".".join(place)
    plain = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items() if not isinstance(value, dict)]
    tables = [_block((*place, key), value) for key, value in entry.items() if isinstance(value, dict) and value]
    return "\n".join([f"[{name}]", *plain]) + "\n" + "".join("\n" + one for one in tables)
