"""Other programs' settings files: one entry put in or taken out, everything else left as it stands, character by character.

Comes in: the text of a JSON or TOML file, and where the entry belongs. Goes out: an `Edit`, which shows its difference, and is
written whole or not at all, beside a backup. A file that cannot be read as what it should be is refused and left alone.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from engram.errors import ConfigInvalid
from engram.frozen import frozen

_SPACE = re.compile(r"[ \t\r\n]*")
_BY_HAND = "It was left as it is; `--print` shows what to add by hand."
_DECODER = json.JSONDecoder()


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
        backup = path.with_name(f"{path.name}.{now:%Y%m%d-%H%M%S}.engram-backup")
        _replace(backup, edit.before, path)
    if edit.after is None:
        path.unlink()
    else:
        _replace(path, edit.after, path)
    return backup


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


@frozen
class _Member:
    name: str
    start: int
    value: int
    end: int


def put_json(path: Path, text: str | None, place: Sequence[str], entry: object) -> Edit:
    """The entry at this place, as in ("mcpServers", "engram"); objects on the way are made."""
    if text is None or not text.strip():
        return Edit(path, text, json.dumps(_nested(place, entry), indent=2, ensure_ascii=False) + "\n")
    whole = _object(path, text)
    step, depth, start = _indent(text), 0, _past_space(text, 0)
    while True:
        member = next((one for one in _members(text, start) if one.name == place[depth]), None)
        if member is None:
            after = _inserted(text, start, place[depth], _nested(place[depth + 1 :], entry), step, depth + 1)
        elif depth + 1 == len(place):
            after = text[: member.value] + _written(entry, step, depth + 1) + text[member.end :]
        elif text[member.value] == "{":
            start, depth = member.value, depth + 1
            continue
        else:
            raise ConfigInvalid(f"`{'.'.join(place[: depth + 1])}` in {path} is no object.", way_out="It was left as it is.")
        break
    if _at(whole, place) == entry:
        return Edit(path, text, text)
    return _checked(Edit(path, text, after), json.loads(after), place, entry)


def found_json(path: Path, text: str | None, place: Sequence[str]) -> Any:
    """What stands at this place; None if nothing does."""
    return _at(_object(path, text), place) if text is not None and text.strip() else None


def take_json(path: Path, text: str | None, place: Sequence[str]) -> Edit:
    """Without the entry at this place, and without the objects that held nothing else; a file of nothing else goes."""
    if text is None or _at(_object(path, text), place) is None:
        return Edit(path, text, text)
    while len(place) > 1 and len(_at(json.loads(text), place[:-1])) == 1:
        place = place[:-1]
    if len(place) == 1 and len(json.loads(text)) == 1:
        return Edit(path, text, None)
    start = _past_space(text, 0)
    for name in place[:-1]:
        start = next(one.value for one in _members(text, start) if one.name == name)
    members = list(_members(text, start))
    at = next(number for number, one in enumerate(members) if one.name == place[-1])
    if at:  # with the comma before it
        after = text[: members[at - 1].end] + text[members[at].end :]
    else:
        after = text[: members[0].start] + text[members[1].start :]
    return Edit(path, text, after)


def _object(path: Path, text: str) -> dict[str, Any]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if not isinstance(whole, dict):
        raise ConfigInvalid(f"{path} is not valid JSON (comments are not).", way_out=_BY_HAND)
    return whole


def _checked(edit: Edit, read_again: Any, place: Sequence[str], entry: object) -> Edit:
    """A name that stands twice, say, may hide what was put in: then nothing is written."""
    if _at(read_again, place) != entry:
        raise ConfigInvalid(f"{edit.path} is laid out in a way that is not understood.", way_out=_BY_HAND)
    return edit


def _nested(place: Sequence[str], entry: object) -> Any:
    made: Any = entry
    for name in reversed(place):
        made = {name: made}
    return made


def _at(whole: Any, place: Sequence[str]) -> Any:
    for name in place:
        whole = whole.get(name) if isinstance(whole, dict) else None
    return whole


def _members(text: str, start: int) -> Iterator[_Member]:
    """The members of the object that begins at `start`, by where they stand. The text is known to be JSON."""
    at = _past_space(text, start + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        value = _past_space(text, _past_space(text, end) + 1)
        _, after = _DECODER.raw_decode(text, value)
        yield _Member(name, at, value, after)
        at = _past_space(text, after)
        if text[at] == ",":
            at = _past_space(text, at + 1)


def _past_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _inserted(text: str, start: int, name: str, value: Any, step: str, depth: int) -> str:
    """A new last member of the object that begins at `start`."""
    line = "\n" + step * depth
    made = f"{line}{json.dumps(name)}: {_written(value, step, depth)}"
    members = list(_members(text, start))
    if members:
        return text[: members[-1].end] + "," + made + text[members[-1].end :]
    close = _past_space(text, start + 1)
    return text[: start + 1] + made + "\n" + step * (depth - 1) + text[close:]


def _written(value: Any, step: str, depth: int) -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", "\n" + step * depth)


def _indent(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


# ── TOML ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def put_toml(path: Path, text: str | None, place: Sequence[str], entry: Mapping[str, Any]) -> Edit:
    """The entry as a table of its own, in the place of the one that was there, else at the end."""
    before = text or ""
    if _at(_table(path, before), place) == entry:
        return Edit(path, text, text)
    rest, at = _without_table(path, before, place)
    block = _block(place, entry)
    head, tail = (rest, "") if at is None else (rest[:at], rest[at:])
    gap = "" if not head or head.endswith("\n\n") else "\n" if head.endswith("\n") else "\n\n"
    after = head + gap + block + ("\n" if tail else "") + tail
    return _checked(Edit(path, text, after), tomllib.loads(after), place, entry)


def take_toml(path: Path, text: str | None, place: Sequence[str]) -> Edit:
    if text is None or _at(_table(path, text), place) is None:
        return Edit(path, text, text)
    rest, _ = _without_table(path, text, place)
    rest = rest.rstrip("\n") + "\n" if rest.strip() else ""
    return Edit(path, text, rest or None)


def _table(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise ConfigInvalid(f"{path} is not valid TOML.", way_out=_BY_HAND) from None


def _without_table(path: Path, text: str, place: Sequence[str]) -> tuple[str, int | None]:
    """The text without the table and those inside it, and where it stood."""
    name = re.escape(".".join(place))
    head = re.compile(rf"^[ \t]*\[{name}(?:\.[^\]]*)?\][^\n]*\n?(?:(?![ \t]*\[)[^\n]*(?:\n|\Z))*", re.MULTILINE)
    first = head.search(text)
    rest = head.sub("", text)
    if _at(tomllib.loads(rest), place) is not None:
        raise ConfigInvalid(
            f"{path} has `{'.'.join(place)}` written in another way than as a table.",
            way_out="It was left as it is; take that out by hand first.",
        )
    return rest, None if first is None else first.start()


def _block(place: Sequence[str], entry: Mapping[str, Any]) -> str:
    """A table, with what is an object as a table inside it. JSON's text and numbers are TOML's too."""
    name = ".".join(place)
    plain = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items() if not isinstance(value, dict)]
    tables = [_block((*place, key), value) for key, value in entry.items() if isinstance(value, dict) and value]
    return "\n".join([f"[{name}]", *plain]) + "\n" + "".join("\n" + one for one in tables)
