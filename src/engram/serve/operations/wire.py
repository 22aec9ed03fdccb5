"""Values as the wire has them: dictionaries, lists, text, numbers. Times are ISO 8601 in UTC, enums are their words.

Comes in: any value that the engine answers with. Goes out: what `json.dumps` takes as it is. Field names are the names
of the values' fields, and so part of the interface.
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

_KEPT_INSIDE: Mapping[type, frozenset[str]] = {Memory: frozenset({"key", "screened"})}
"""Fields that mean nothing outside the store: a memory's `key` is for indexes, its `id` for everyone else."""


_AS_IT_IS = frozenset({str, int, bool, type(None)})


def plain(value: object) -> Plain:
    """The wire form of a value, however it is nested."""
    kind = type(value)
    form = _FORMS.get(kind)
    if form is None:
        form = _FORMS[kind] = _form(kind)
    return form(value)


_FORMS: dict[type, Callable[[Any], Plain]] = {}
"""How values of a type look, found out once: asking abstract classes about every part took half the time of a list."""


def _form(kind: type) -> Callable[[Any], Plain]:
    if is_dataclass(kind):
        return partial(_parts, shown(kind))
    if issubclass(kind, Mapping):
        return lambda value: {str(plain(name)): plain(each) for name, each in value.items()}
    if issubclass(kind, datetime):
        return moment
    if issubclass(kind, Enum):
        return lambda value: plain(value.value)
    if issubclass(kind, float):
        return lambda value: value if math.isfinite(value) else None  # JSON has no word for the others
    if issubclass(kind, bool | int | str | None):
        return lambda value: value
    if issubclass(kind, Path):
        return str
    if issubclass(kind, Sequence | set | frozenset) and not issubclass(kind, bytes | bytearray):
        return lambda value: [plain(each) for each in value]
    raise TypeError(f"{kind.__name__} has no wire form")


def _parts(names: tuple[str, ...], value: object) -> Plain:
    made = {name: getattr(value, name) for name in names}
    for name, each in made.items():
        if type(each) not in _AS_IT_IS:
            made[name] = plain(each)
    return made


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
