"""Values as the wire has them: dictionaries, lists, text, numbers. Times are ISO 8601 in UTC, enums are their words.

Comes in: any value that the engine answers with. Goes out: what `json.dumps` takes as it is. Field names are the names
of the values' fields, and so part of the interface.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from pathlib import Path

from engram.errors import EngramError
from engram.types import Memory

Plain = None | bool | int | float | str | list["Plain"] | dict[str, "Plain"]

_KEPT_INSIDE: Mapping[type, frozenset[str]] = {Memory: frozenset({"key", "screened"})}
"""Fields that mean nothing outside the store: a memory's `key` is for indexes, its `id` for everyone else."""


_AS_IT_IS = frozenset({str, int, bool, type(None)})


def plain(value: object) -> Plain:
    """The wire form of a value, however it is nested."""
    if type(value) in _AS_IT_IS:  # most parts of a value: asked first, for abstract classes are slow to ask
        return value  # type: ignore[return-value]
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in shown(type(value))}
    if isinstance(value, Mapping):
        return {str(plain(name)): plain(each) for name, each in value.items()}
    if isinstance(value, datetime):
        return moment(value)
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # JSON has no word for the others
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Sequence | set | frozenset) and not isinstance(value, bytes | bytearray):
        return [plain(each) for each in value]
    raise TypeError(f"{type(value).__name__} has no wire form")


@cache
def shown(kind: type) -> tuple[str, ...]:
    """The fields of a value's type that go out."""
    hidden = _KEPT_INSIDE.get(kind, frozenset())
    return tuple(field.name for field in fields(kind) if field.name not in hidden)


def problem(error: EngramError) -> dict[str, str]:
    """An error: its stable code, what happened, what to do. None of the three holds anybody's words."""
    return {"code": error.code, "message": error.message, "way_out": error.way_out}


def moment(value: datetime) -> str:
    """ISO 8601, UTC, with a Z; a naive time is taken as UTC, as everywhere in Engram."""
    aware = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return aware.isoformat().removesuffix("+00:00") + "Z"
