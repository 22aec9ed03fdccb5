"""Values as JSON: dictionaries, lists, text and numbers. Times are ISO 8601 in UTC, enums are their values.

In: any value that the engine returns. Out: what `json.dumps` accepts. Member names are the names of the values' fields, and so
part of the interface.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Any

from engram.errors import EngramError
from engram.types import Memory
from engram.values.frozen import fields, is_dataclass

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]

_HIDDEN: Mapping[type, frozenset[str]] = {Memory: frozenset({"key", "screened", "words_at"})}
"""Fields that mean nothing outside the store: a memory's `key` is for indexes, its `id` for everyone else."""

_COMPUTED: Mapping[type, tuple[str, ...]] = {Memory: ("words", "carries")}
"""Properties, all of them texts, that are shown beside the fields."""

_JSON_TYPES = frozenset({str, int, bool, type(None)})


def plain(value: object) -> Plain:
    """Return the wire form of a value and of all values inside it."""
    kind = type(value)
    convert = _CONVERTERS.get(kind)
    if convert is None:
        convert = _CONVERTERS[kind] = _converter(kind)
    return convert(value)


_CONVERTERS: dict[type, Callable[[Any], Plain]] = {}
"""Converters by type, made once: `issubclass` on abstract classes took half the time of a listing."""


def _converter(kind: type) -> Callable[[Any], Plain]:
    if is_dataclass(kind):
        return partial(_parts, shown(kind))
    if issubclass(kind, Mapping):
        return lambda value: {str(plain(name)): plain(member) for name, member in value.items()}
    if issubclass(kind, datetime):
        return moment
    if issubclass(kind, Enum):
        return lambda value: plain(value.value)
    if issubclass(kind, float):
        return lambda value: value if math.isfinite(value) else None  # JSON has no NaN and no infinities
    if issubclass(kind, bool | int | str | None):
        return lambda value: value
    if issubclass(kind, Path):
        return str
    if issubclass(kind, Sequence | set | frozenset) and not issubclass(kind, bytes | bytearray):
        return lambda value: [plain(item) for item in value]
    raise TypeError(f"{kind.__name__} has no wire form")


def _parts(names: tuple[str, ...], value: object) -> Plain:
    members = {name: getattr(value, name) for name in names}
    for name, member in members.items():
        if type(member) not in _JSON_TYPES:
            members[name] = plain(member)
    return members


@cache
def shown(kind: type) -> tuple[str, ...]:
    """Return the names of a type's fields that appear in its wire form."""
    hidden = _HIDDEN.get(kind, frozenset())
    return (*(field.name for field in fields(kind) if field.name not in hidden), *_COMPUTED.get(kind, ()))


def problem(error: EngramError) -> dict[str, str]:
    """Return the wire form of an error: its stable code, message and way out. None of them quotes stored text."""
    return {"code": error.code, "message": error.message, "way_out": error.way_out}


def moment(value: datetime) -> str:
    """Return a time as ISO 8601 in UTC with a Z. A naive time is taken as UTC, as everywhere in Engram."""
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return aware.isoformat().removesuffix("+00:00") + "Z"
