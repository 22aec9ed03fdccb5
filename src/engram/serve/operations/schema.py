"""The shapes of both ends of an operation as JSON Schema (2020-12), and JSON read into an input.

Made from the types of the values themselves, by the standard library: what is told is what is read and written, and no face
can tell it otherwise. What is refused is named by its argument and never quoted, because it may be somebody's words.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from enum import Enum
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from engram.errors import InvalidQuery
from engram.frozen import MISSING, fields, is_dataclass
from engram.serve import wire
from engram.serve.operations.operation import Arg, Field, Operation
from engram.text.messages import turn_of
from engram.types import Turn

Schema = dict[str, Any]

_MOST = 2**53
"""Whole numbers beyond this are not the same in every JSON reader."""

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    Path: {"type": "string"},
    type(None): {"type": "null"},
    object: {},
    Any: {},
}

_MESSAGE: Schema = {
    "type": "object",
    "description": "A message as most programs hold it; more than this is passed over.",
    "properties": {"role": {"type": "string"}, "content": {"type": ["string", "array", "null"], "items": {}}},
    "required": ["role"],
}


# ── JSON → input ───────────────────────────────────────────────────────────────────────────────────────────────────────


def read(operation: Operation, arguments: Mapping[str, object]) -> Any:
    """The input that these arguments mean; every argument that does not fit is refused by name."""
    known = {one.name: one for one in operation.fields}
    if any(name not in known for name in arguments):
        told = ", ".join(f"`{name}`" for name in known) or "none"
        raise InvalidQuery(f"there is an argument that is not known here; known are {told}.")
    missing = [name for name, one in known.items() if one.required and name not in arguments]
    if missing:
        raise InvalidQuery(f"`{missing[0]}` is missing.")
    return operation.input(**{name: _argument(known[name], value) for name, value in arguments.items()})


def _argument(field: Field, value: object) -> Any:
    made = _read(field.type, value, field.name)
    size = len(made) if isinstance(made, tuple | dict) else made
    if isinstance(size, int | float) and not isinstance(size, bool):
        _require_between(field, size)
    return made


def _require_between(field: Field, size: float) -> None:
    low, high = field.arg.low, field.arg.high
    if (low is not None and size < low) or size > (_MOST if high is None else high):
        bounds = f"at least {low:g}" if high is None else f"from {low or 0:g} to {high:,.12g}"
        what = "the number of" if _is_many(field.type) else "the value of"
        raise InvalidQuery(f"{what} `{field.name}` must be {bounds}.")


def _read(kind: Any, value: object, name: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None and type(None) in inner else _read(_without_none(inner), value, name)
    if origin is tuple:
        return tuple(_read(inner[0], each, name) for each in _required(value, list, name, "a list"))
    if origin is Mapping:
        found = _required(value, dict, name, "an object of names and texts")
        return {_text(each, name): _text(found[each], name) for each in found}
    if kind is Turn and isinstance(value, dict) and "role" in value:
        return _message(value, name)
    if is_dataclass(kind):
        return _object(kind, value, name)
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        return _word(kind, value, name)
    return _READERS[kind](value, name)


def _object(kind: Any, value: object, name: str) -> Any:
    row = _required(value, dict, name, "an object")
    hints = get_type_hints(kind)
    if any(each not in hints for each in row):
        raise InvalidQuery(f"`{name}` has a part that is not known; known are {', '.join(f'`{one}`' for one in hints)}.")
    for one in fields(kind):
        if one.default is MISSING and one.default_factory is MISSING and one.name not in row:
            raise InvalidQuery(f"`{name}` needs `{one.name}`.")
    return kind(**{each: _read(hints[each], row[each], f"{name}.{each}") for each in row})


def _message(value: Mapping[str, object], name: str) -> Turn:
    """A turn as most programs hold it, like the library and the command line take it."""
    turn = turn_of(value)
    if turn is None:
        raise InvalidQuery(f"`{name}` has a message whose `role` is no text, or whose `content` is no text and no list of parts.")
    return Turn(_text(turn.text, name), _text(turn.speaker, name))


def _word(kind: Any, value: object, name: str) -> Any:
    words = _words(kind)
    if isinstance(value, str) and value in words:
        return value if get_origin(kind) is Literal else kind(value)
    raise InvalidQuery(f"`{name}` is one of: {', '.join(map(str, words))}.")


def _required(value: object, kind: type, name: str, what: str) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise InvalidQuery(f"`{name}` must be {what}.")
    return value


def _text(value: object, name: str) -> str:
    text: str = _required(value, str, name, "text")
    if any("\ud800" <= character <= "\udfff" for character in text):  # half of a character: no encoding has it
        raise InvalidQuery(f"`{name}` is not text that can be written.")
    return text


def _integer(value: object, name: str) -> int:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value  # JSON has one sort of number
    return int(_required(whole, int, name, "a whole number"))


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _MOST or not math.isfinite(value):
        raise InvalidQuery(f"`{name}` must be a number.")
    return float(value)


def _moment(value: object, name: str) -> datetime:
    try:
        return moment(_text(value, name), name)
    except ValueError:
        raise InvalidQuery(f"`{name}` must be a time as in 2023-05-08T13:56:40Z, or a day as in 2023-05-08.") from None


def moment(text: str, name: str) -> datetime:
    """A day stands for its beginning; where it is the last of a span, for its end: who asks until Friday means all of it."""
    found = datetime.fromisoformat(text)
    if name != "until":
        return found
    with suppress(ValueError):
        date.fromisoformat(text)
        return found + timedelta(days=1, microseconds=-1)
    return found


_READERS: Mapping[Any, Callable[[object, str], Any]] = {
    str: _text,
    bool: lambda value, name: _required(value, bool, name, "true or false"),
    int: _integer,
    float: _number,
    datetime: _moment,
}


# ── values → JSON Schema ───────────────────────────────────────────────────────────────────────────────────────────────


def input_schema(operation: Operation) -> Schema:
    """What the arguments of an operation look like."""
    properties = {one.name: described(one) for one in operation.fields}
    required = [one.name for one in operation.fields if one.required]
    return _closed(properties, required)


def described(field: Field) -> Schema:
    """One argument, with its bounds, its default and what is said of it."""
    made = _bounded(_input(field.type), field.type, field.arg) | {"description": field.arg.help}
    return made if field.required or field.default is None else made | {"default": wire.plain(field.default)}


def _input(kind: Any) -> Schema:
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        required = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
        made = _closed({name: _input(hint) for name, hint in hints.items()}, required)
        return {"anyOf": [made, _MESSAGE]} if kind is Turn else made
    return _shape(kind, _input)


def _closed(properties: Schema, required: Sequence[str]) -> Schema:
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return made | ({"required": list(required)} if required else {})


def _bounded(schema: Schema, kind: Any, arg: Arg) -> Schema:
    if _is_many(kind):
        names = ("minProperties", "maxProperties") if schema.get("type") == "object" else ("minItems", "maxItems")
    elif arg.low is not None or arg.high is not None:
        names = ("minimum", "maximum")
    else:
        return schema
    found = {name: value for name, value in zip(names, (arg.low, arg.high), strict=True) if value is not None}
    if "anyOf" in schema:  # a number, or null
        return {"anyOf": [one | found if one != {"type": "null"} else one for one in schema["anyOf"]]}
    return schema | found


def output_schema(operation: Operation, ref: str = "#/$defs/") -> tuple[Schema, dict[str, Schema]]:
    """What an operation answers with, and the values it names by reference under `ref`."""
    named: dict[str, Schema] = {}
    return _output(operation.output, ref, named), named


def _output(kind: Any, ref: str, named: dict[str, Schema]) -> Schema:
    def inner(part: Any) -> Schema:
        return _output(part, ref, named)

    if not (is_dataclass(kind) and isinstance(kind, type)):
        return _shape(kind, inner)
    name = kind.__name__
    if name not in named:
        named[name] = {}  # it may hold others of its kind
        hints = get_type_hints(kind)
        shown = wire.shown(kind)
        named[name] = {
            "type": "object",
            "properties": {each: inner(hints[each]) for each in shown},
            "required": list(shown),
            "description": (kind.__doc__ or "").partition("\n")[0],
        }
    return {"$ref": ref + name}


def _shape(kind: Any, inner: Callable[[Any], Schema]) -> Schema:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [inner(part) for part in parts]}
    if origin is tuple and parts[-1] is not Ellipsis:
        sorts = [inner(part) for part in dict.fromkeys(parts)]
        items = sorts[0] if len(sorts) == 1 else {"anyOf": sorts}
        return {"type": "array", "items": items, "minItems": len(parts), "maxItems": len(parts)}
    if origin in (tuple, list, Sequence, frozenset, set):
        return {"type": "array", "items": inner(parts[0])}
    if origin in (Mapping, dict):
        return {"type": "object", "additionalProperties": inner(parts[1])}
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        words = _words(kind)
        return {"type": "string" if all(isinstance(word, str) for word in words) else "integer", "enum": list(words)}
    return dict(_PLAIN[kind])


def _words(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else tuple(one.value for one in kind)


def _is_many(kind: Any) -> bool:
    return get_origin(kind) in (tuple, Mapping)


def _without_none(parts: tuple[Any, ...]) -> Any:
    return next(part for part in parts if part is not type(None))
