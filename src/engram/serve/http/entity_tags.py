"""Entity tags (RFC 9110): the tag of a memory is the time of its last change; `If-Match` and `If-None-Match` name such tags."""

from __future__ import annotations

import re
from datetime import datetime

from engram.env import from_micros, to_micros

_TAG = re.compile(r'(W/)?("[^"]*"|[^\s,"]+)')  # quotes may be missing: people who type a tag leave them out
_OWN_TAG = re.compile(r'"?([0-9]{1,17})"?')


def tag_of(updated_at: datetime) -> str:
    """Return the entity tag of a memory."""
    return f'"{to_micros(updated_at)}"'


def is_any(header: str) -> bool:
    """Return whether a header is `*`, which stands for any tag."""
    return header.strip() == "*"


def matches_weakly(header: str, tag: str) -> bool:
    """Return whether an `If-None-Match` header names a tag, by weak comparison."""
    return is_any(header) or tag in {named for _, named in _TAG.findall(header)}


def times_of(header: str) -> list[datetime]:
    """Return the times that an `If-Match` header names. The comparison is strong: weak and foreign tags are left out."""
    own = (_OWN_TAG.fullmatch(named) for weak, named in _TAG.findall(header) if not weak)
    return [from_micros(int(match[1])) for match in own if match is not None]
