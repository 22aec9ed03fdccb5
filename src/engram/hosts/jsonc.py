"""JSON with comments, trailing commas or a byte order mark, as settings files have it: parsing, and edits of one member that
leave every other character as it is.

Three views of a file have the same length, so that an offset in one is the same place in the others: `text` is the file, `bare`
has comments blanked out, `plain` has trailing commas blanked out too and is valid JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from engram.values.frozen import frozen

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=[ \t\r\n]*[}\]])', re.DOTALL)
_COMMENT_ON_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_BYTE_ORDER_MARK = "\ufeff"
_BLANK = " \t\r\n"
_DECODER = json.JSONDecoder()


@frozen
class _Member:
    """A member of an object: its name, and the offsets of the name, the value and the end of the value."""

    name: str
    start: int
    value: int
    end: int


@frozen
class _Object:
    """An object that begins at the offset `start`, with the index of the member to edit."""

    start: int
    members: tuple[_Member, ...]
    index: int

    @property
    def member(self) -> _Member:
        return self.members[self.index]


def loads(text: str) -> Any:
    """Parse JSON with comments. Raise `ValueError`, or `RecursionError` for deep nesting, if it is invalid."""
    return json.loads(_plain(_bare(text)))


def put(text: str, place: Sequence[str], value: object) -> str:
    """Return the text with a member set to a value, missing objects on the way created. place: the member's path of names. The
    root and all present objects on the way must be objects, which the caller has checked."""
    bare = _bare(text)
    plain = _plain(bare)
    start = _past_blank(plain, 0)
    for depth, name in enumerate(place):
        member = next((member for member in _members(plain, start) if member.name == name), None)
        if member is None:
            return _inserted(text, bare, plain, start, name, nested(place[depth + 1 :], value), depth + 1)
        if depth + 1 == len(place):
            return text[: member.value] + _written(text, value, depth + 1) + text[member.end :]
        start = member.value
    return text


def take(text: str, place: Sequence[str]) -> str | None:
    """Return the text without a member, and without objects that held nothing else; None if the text would be empty. The member
    must be there, which the caller has checked."""
    bare = _bare(text)
    plain = _plain(bare)
    path: list[_Object] = []
    start = _past_blank(plain, 0)
    for name in place:
        members = tuple(_members(plain, start))
        path.append(_Object(start, members, next(index for index, member in enumerate(members) if member.name == name)))
        start = path[-1].member.value
    while len(path) > 1 and _is_alone(text, plain, path[-1]):
        path.pop()
    if len(path) == 1 and _is_alone(text, plain, path[0], whole=True):
        return None
    return _cut(text, bare, path[-1])


def nested(place: Sequence[str], value: object) -> Any:
    """Return the value inside one object per name of the path."""
    result: Any = value
    for name in reversed(place):
        result = {name: result}
    return result


# ── parsing ────────────────────────────────────────────────────────────────────────────────────────────


def _bare(text: str) -> str:
    """Blank out comments and the byte order mark."""
    bare = _STRING_OR_COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\r\n]", " ", match[0]), text)
    return " " + bare[1:] if bare.startswith(_BYTE_ORDER_MARK) else bare


def _plain(bare: str) -> str:
    """Blank out trailing commas."""
    return _STRING_OR_TRAILING_COMMA.sub(lambda match: " " if match[0] == "," else match[0], bare)


def _members(plain: str, start: int) -> Iterator[_Member]:
    at = _past_blank(plain, start + 1)
    while plain[at] != "}":
        name, end = _DECODER.raw_decode(plain, at)
        value = _past_blank(plain, _past_blank(plain, end) + 1)
        _, after = _DECODER.raw_decode(plain, value)
        yield _Member(name, at, value, after)
        at = _past_blank(plain, after)
        if plain[at] == ",":
            at = _past_blank(plain, at + 1)


def _past_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _comma_after(bare: str, end: int) -> int | None:
    at = _past_blank(bare, end)
    return at if bare[at] == "," else None


# ── adding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _inserted(text: str, bare: str, plain: str, start: int, name: str, value: Any, depth: int) -> str:
    """Return the text with a new last member in the object that begins at `start`. A comment on the line of the member before
    stays there."""
    line, step = newline(text), _indent(text)
    member = f"{line}{step * depth}{json.dumps(name)}: {_written(text, value, depth)}"
    members = list(_members(plain, start))
    if not members:
        return text[: start + 1] + member + line + step * (depth - 1) + text[_past_blank(text, start + 1) :]
    end = members[-1].end
    comma = _comma_after(bare, end)
    at = end if comma is None else comma + 1
    comment = _COMMENT_ON_LINE.match(text, at)
    at = comment.end() if comment else at
    if comma is not None:
        return text[:at] + member + "," + text[at:]
    return text[:end] + "," + text[end:at] + member + text[at:]


def _written(text: str, value: Any, depth: int) -> str:
    """Return a value as JSON in the file's own indent and line ends."""
    step = _indent(text)
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", newline(text) + step * depth)


def newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str) -> str:
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


# ── removing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_alone(text: str, plain: str, parent: _Object, *, whole: bool = False) -> bool:
    """Return whether the object, or with `whole` the text, holds nothing beside the member, not even a comment."""
    end = len(text) if whole else _DECODER.raw_decode(plain, parent.start)[1]
    around = text[0 if whole else parent.start : parent.member.start] + text[parent.member.end : end]
    return len(parent.members) == 1 and not around.strip(_BLANK + _BYTE_ORDER_MARK + "{},")


def _cut(text: str, bare: str, parent: _Object) -> str:
    """Return the text without the member and its comma. Comments on the member before stay."""
    member, comma = parent.member, _comma_after(bare, parent.member.end)
    is_last = parent.index + 1 == len(parent.members)
    if not parent.index and not is_last and comma is not None:
        return text[: member.start] + text[_past_blank(text, comma + 1) :]
    before = parent.members[parent.index - 1].end if parent.index else parent.start + 1
    gap = text[before : member.start]
    if is_last and comma is not None:
        return text[:before] + gap.rstrip(_BLANK) + text[comma + 1 :]
    if (between := _comma_after(bare, before)) is not None and parent.index:
        gap = gap[: between - before] + gap[between - before + 1 :]
    return text[:before] + gap.rstrip(_BLANK) + text[member.end :]
