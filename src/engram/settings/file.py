"""The configuration file: read it, change one line of it. `folders.py` finds it.

It is TOML, written by people. An edit touches the line of one setting and keeps every other byte.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from engram.errors import ConfigInvalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram.settings.tunable import Value


class Unreadable(Exception):
    """Raised when the configuration file exists but cannot be read, parsed or edited."""


# ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def file_text(path: Path) -> str:
    """Return the file's text with its line ends; empty if there is no file."""
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(type(error).__name__) from error


def parsed(text: str) -> dict[str, object]:
    """Return the values in a TOML text."""
    if not text:
        return {}
    import tomllib  # late: most users have no configuration file, and a hook must start fast

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(type(error).__name__) from error


# ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def write_line(path: Path, name: str, value: Value) -> None:
    """Give `name` a value in the configuration file, which is made if missing."""
    try:
        text = file_text(path)
        edited = with_line(text, name, value)
    except Unreadable as error:
        raise ConfigInvalid(f"{path} cannot be edited ({error}), so it was left alone.", way_out="Correct it by hand.") from error
    try:
        if edited != text:
            _replace_file(path, edited.encode("utf-8"))
    except OSError as error:
        raise ConfigInvalid(f"{path} cannot be written ({error.strerror}).", way_out="Make its folder writable.") from error


def with_line(text: str, name: str, value: Value) -> str:
    """Return TOML `text` in which `name` has `value`, every other byte kept.

    Each possible edit is tried: it counts only if it parses to the old content with this one value changed, so that a line that
    merely looks right (inside a multi-line string, under a table header) is never edited.
    """
    wanted = {**parsed(text), name: value}
    for edited in _edits(text, name, _toml(value)):
        try:
            if parsed(edited) == wanted:
                return edited
        except Unreadable:
            continue
    raise Unreadable(f"{name} has no line of its own")


def _edits(text: str, name: str, value: str) -> Iterator[str]:
    """Yield possible edits: on a line that looks like the setting's own, after the last top-level line, at the top."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if own := re.match(rf"""[ \t]*(?:{name}|"{name}"|'{name}')[ \t]*=[ \t]*""", line):
            yield "\n".join([*lines[:i], own.group() + value + _after_value(line), *lines[i + 1 :]])
    ending = "\r" if lines[0].endswith("\r") else ""
    if lines[-1]:
        lines = [*lines[:-1], lines[-1] + ending, ""]
    header = next((i for i, line in enumerate(lines) if line.lstrip(" \t").startswith("[")), len(lines) - 1)
    statements = [i for i in range(header) if lines[i].strip() and not lines[i].lstrip(" \t").startswith("#")]
    for place in (statements[-1] + 1 if statements else header, 0):
        yield "\n".join([*lines[:place], f"{name} = {value}{ending}", *lines[place:]])


def _after_value(line: str) -> str:
    """Return the rest of a line after its value: a comment, or the carriage return of a foreign line end."""
    for sign in re.finditer("[ \t]*#", line):
        try:
            parsed(line[: sign.start()])
        except Unreadable:
            continue  # this sign stands inside the value
        return line[sign.start() :]
    return "\r" if line.endswith("\r") else ""


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    plain = "".join(c if c >= " " and c not in '"\\\x7f' else f"\\u{ord(c):04X}" for c in text)
    return f'"{plain}"'


def _replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically, readable by its owner only. A link keeps pointing to its target, which is replaced."""
    import tempfile  # late, for start-up time: only `engram config set` needs it

    target = path.resolve()
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    if os.name == "posix":  # elsewhere a folder cannot be opened, and the file system logs the rename
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
