"""Entity tags (RFC 9110): what `If-Match` and `If-None-Match` say of a memory, whose tag is the moment of its last change."""

from __future__ import annotations

import re
from datetime import datetime

from engram.env import from_micros, to_micros

_ANY = "*"
_TAG = re.compile(r'(W/)?("[^"]*"|[^\s,"]+)')  # one without quotes is taken too: who types it leaves them out
_MOMENT = re.compile(r'"?([0-9]{1,17})"?')


def tag_of(updated_at: datetime) -> str:
    return f'"{to_micros(updated_at)}"'


def is_any(header: str) -> bool:
    return header.strip() == _ANY


def knows(header: str, tag: str) -> bool:
    """Does an `If-None-Match` name this one? Weakly, as reading compares."""
    return is_any(header) or tag in {named for _, named in _TAG.findall(header)}


def moments(header: str) -> list[datetime]:
    """The moments that an `If-Match` names: strongly, so that a weak tag, like one that is not ours, stands for none."""
    found = (_MOMENT.fullmatch(named) for weak, named in _TAG.findall(header) if not weak)
    return [from_micros(int(one[1])) for one in found if one is not None]
