"""JSON as people keep it in settings files, with comments, a comma too many or a mark of its encoding: read, and edited by one
member, everything else left character by character.

Whatever is not JSON is blanked out, so that every place in what is parsed is the same place in the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from engram.values.frozen import frozen

_WORDS_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_WORDS_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=[ \t\r\n]*[}\]])', re.DOTALL)
_REMARK = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_MARK = "\ufeff"
_BLANK = " \t\r\n"
_DECODER = json.JSONDecoder()


@frozen
class _Member:
    """One member of an object, by where it stands."""

    name: str
    start: int
    value: int
    end: int


@frozen
class _Object:
    """An object that begins at `start`, and that of its members which is meant."""

    start: int
    members: tuple[_Member, ...]
    at: int

    @property
    def member(self) -> _Member:
        return self.members[self.at]


def loads(text: str) -> Any:
    """What it says; `ValueError` (or `RecursionError`) if that cannot be read."""
    return json.loads(_plain(_bare(text)))


def put(text: str, place: Sequence[str], value: object) -> str:
    """With this value there. The text is known to be an object, and what stands on the way to be objects."""
    bare = _bare(text)
    plain = _plain(bare)
    start = _past_blank(plain, 0)
    for depth, name in enumerate(place):
        member = next((one for one in _members(plain, start) if one.name == name), None)
        if member is None:
            return _inserted(text, bare, plain, start, name, nested(place[depth + 1 :], value), depth + 1)
        if depth + 1 == len(place):
            return text[: member.value] + _written(text, value, depth + 1) + text[member.end :]
        start = member.value
    return text


def take(text: str, place: Sequence[str]) -> str | None:
    """Without the member there, and without the objects that held nothing else; None if that was all. It is known to be there."""
    bare = _bare(text)
    plain = _plain(bare)
    way: list[_Object] = []
    start = _past_blank(plain, 0)
    for name in place:
        members = tuple(_members(plain, start))
        way.append(_Object(start, members, next(at for at, one in enumerate(members) if one.name == name)))
        start = way[-1].member.value
    while len(way) > 1 and _is_alone(text, plain, way[-1]):
        way.pop()
    if len(way) == 1 and _is_alone(text, plain, way[0], whole=True):
        return None
    return _cut(text, bare, way[-1])


def nested(place: Sequence[str], value: object) -> Any:
    made: Any = value
    for name in reversed(place):
        made = {name: made}
    return made


# ── what is JSON, and where ────────────────────────────────────────────────────────────────────────────────────────────


def _bare(text: str) -> str:
    blank = _WORDS_OR_COMMENT.sub(lambda one: one[0] if one[0][0] == '"' else re.sub(r"[^\r\n]", " ", one[0]), text)
    return " " + blank[1:] if blank.startswith(_MARK) else blank


def _plain(bare: str) -> str:
    return _WORDS_OR_COMMA.sub(lambda one: " " if one[0] == "," else one[0], bare)


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


# ── putting in ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _inserted(text: str, bare: str, plain: str, start: int, name: str, value: Any, depth: int) -> str:
    """A new last member of the object that begins at `start`; a remark on the line of the one before stays there."""
    line, step = newline(text), _indent(text)
    made = f"{line}{step * depth}{json.dumps(name)}: {_written(text, value, depth)}"
    members = list(_members(plain, start))
    if not members:
        return text[: start + 1] + made + line + step * (depth - 1) + text[_past_blank(text, start + 1) :]
    end = members[-1].end
    comma = _comma_after(bare, end)
    at = end if comma is None else comma + 1
    remark = _REMARK.match(text, at)
    at = remark.end() if remark else at
    if comma is not None:
        return text[:at] + made + "," + text[at:]
    return text[:end] + "," + text[end:at] + made + text[at:]


def _written(text: str, value: Any, depth: int) -> str:
    step = _indent(text)
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", newline(text) + step * depth)


def newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _indent(text: str) -> str:
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


# ── taking out ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _is_alone(text: str, plain: str, one: _Object, *, whole: bool = False) -> bool:
    """Is there nothing else in the object, not even a comment, or in the whole of the text?"""
    end = len(text) if whole else _DECODER.raw_decode(plain, one.start)[1]
    around = text[0 if whole else one.start : one.member.start] + text[one.member.end : end]
    return len(one.members) == 1 and not around.strip(_BLANK + _MARK + "{},")


def _cut(text: str, bare: str, one: _Object) -> str:
    """Without the member and the comma that came with it; remarks of the one before stay."""
    member, comma = one.member, _comma_after(bare, one.member.end)
    last = one.at + 1 == len(one.members)
    if not one.at and not last and comma is not None:
        return text[: member.start] + text[_past_blank(text, comma + 1) :]
    before = one.members[one.at - 1].end if one.at else one.start + 1
    gap = text[before : member.start]
    if last and comma is not None:
        return text[:before] + gap.rstrip(_BLANK) + text[comma + 1 :]
    if (between := _comma_after(bare, before)) is not None and one.at:
        gap = gap[: between - before] + gap[between - before + 1 :]
    return text[:before] + gap.rstrip(_BLANK) + text[member.end :]
