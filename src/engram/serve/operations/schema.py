"""JSON Schema (2020-12) of an operation's input and output, and the reader that turns JSON into an input.

Schema and reader are both derived from the types of the values, so they cannot disagree. An error names the argument that was
refused and never quotes its value, which may be private.
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
from engram.serve.operations import wire
from engram.serve.operations.operation import Arg, InputField, Operation
from engram.text.transcripts import turn_of
from engram.types import Turn
from engram.values.frozen import MISSING, fields, is_dataclass

Schema = dict[str, Any]

_LARGEST = 2**53
"""The largest integer that every JSON reader represents exactly (RFC 8259, section 6)."""

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
    "description": "A chat message; other members are ignored.",
    "properties": {"role": {"type": "string"}, "content": {"type": ["string", "array", "null"], "items": {}}},
    "required": ["role"],
}


# ── JSON → input ───────────────────────────────────────────────────────────────────────────────────────────────────────


def read(operation: Operation, arguments: Mapping[str, object]) -> Any:
    """Return the input that JSON arguments describe. Raise `InvalidQuery`, which names the argument, if one is invalid."""
    known = {field.name: field for field in operation.fields}
    if any(name not in known for name in arguments):
        names = ", ".join(f"`{name}`" for name in known) or "none"
        raise InvalidQuery(f"there is an argument that is not known here; known are {names}.")
    missing = [name for name, field in known.items() if field.required and name not in arguments]
    if missing:
        raise InvalidQuery(f"`{missing[0]}` is missing.")
    return operation.input(**{name: read_argument(known[name], value) for name, value in arguments.items()})


def read_argument(field: InputField, value: object) -> Any:
    """Return the value of one field from its JSON. Raise `InvalidQuery` if it is invalid."""
    argument = _read(field.type, value, field.name)
    size = len(argument) if isinstance(argument, tuple | dict) else argument
    if isinstance(size, int | float) and not isinstance(size, bool):
        _require_within_bounds(field, size)
    return argument


def _require_within_bounds(field: InputField, size: float) -> None:
    low, high = field.arg.low, field.arg.high
    if (low is not None and size < low) or size > (_LARGEST if high is None else high):
        bounds = f"at least {low:g}" if high is None else f"from {low or 0:g} to {high:,.12g}"
        bounded = "the number of" if _is_collection(field.type) else "the value of"
        raise InvalidQuery(f"{bounded} `{field.name}` must be {bounds}.")


def _read(kind: Any, value: object, name: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return None if value is None and type(None) in inner else _read(_without_none(inner), value, name)
    if origin is tuple:
        return tuple(_read(inner[0], item, name) for item in _required(value, list, name, "a list"))
    if origin is Mapping:
        pairs = _required(value, dict, name, "an object of names and texts")
        return {_text(key, name): _text(pairs[key], name) for key in pairs}
    if kind is Turn and isinstance(value, dict) and "role" in value:
        return _message(value, name)
    if is_dataclass(kind):
        return _object(kind, value, name)
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        return _choice(kind, value, name)
    return _READERS[kind](value, name)


def _object(kind: Any, value: object, name: str) -> Any:
    members = _required(value, dict, name, "an object")
    hints = get_type_hints(kind)
    if any(member not in hints for member in members):
        raise InvalidQuery(f"`{name}` has a member that is not known; known are {', '.join(f'`{hint}`' for hint in hints)}.")
    for field in fields(kind):
        if field.default is MISSING and field.default_factory is MISSING and field.name not in members:
            raise InvalidQuery(f"`{name}` needs `{field.name}`.")
    return kind(**{member: _read(hints[member], members[member], f"{name}.{member}") for member in members})


def _message(value: Mapping[str, object], name: str) -> Turn:
    """Read a chat message of `role` and `content`, which the library and the command line accept too."""
    turn = turn_of(value)
    if turn is None:
        raise InvalidQuery(
            f"`{name}` has a message whose `role` is not text, or whose `content` is neither text nor a list of parts."
        )
    return Turn(_text(turn.text, name), _text(turn.speaker, name))


def _choice(kind: Any, value: object, name: str) -> Any:
    choices = _choices(kind)
    if isinstance(value, str) and value in choices:
        return value if get_origin(kind) is Literal else kind(value)
    raise InvalidQuery(f"`{name}` must be one of: {', '.join(map(str, choices))}.")


def _required(value: object, kind: type, name: str, expected: str) -> Any:
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise InvalidQuery(f"`{name}` must be {expected}.")
    return value


def _text(value: object, name: str) -> str:
    text: str = _required(value, str, name, "text")
    if any("\ud800" <= character <= "\udfff" for character in text):  # half of a surrogate pair, which UTF-8 cannot encode
        raise InvalidQuery(f"`{name}` holds half of a surrogate pair, which cannot be stored as text.")
    return text


def _integer(value: object, name: str) -> int:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value  # JSON has one number type: 5.0 is 5
    return int(_required(whole, int, name, "a whole number"))


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _LARGEST or not math.isfinite(value):
        raise InvalidQuery(f"`{name}` must be a number.")
    return float(value)


def _moment(value: object, name: str) -> datetime:
    try:
        return moment(_text(value, name), name)
    except ValueError:
        raise InvalidQuery(f"`{name}` must be a time as in 2023-05-08T13:56:40Z, or a day as in 2023-05-08.") from None


def moment(text: str, name: str) -> datetime:
    """Parse a time in ISO 8601. A bare day means its beginning, except for `until`, where it means its end: "until Friday"
    includes all of Friday."""
    parsed = datetime.fromisoformat(text)
    if name != "until":
        return parsed
    with suppress(ValueError):
        date.fromisoformat(text)
        return parsed + timedelta(days=1, microseconds=-1)
    return parsed


_READERS: Mapping[Any, Callable[[object, str], Any]] = {
    str: _text,
    bool: lambda value, name: _required(value, bool, name, "true or false"),
    int: _integer,
    float: _number,
    datetime: _moment,
}


# ── values → JSON Schema ───────────────────────────────────────────────────────────────────────────────────────────────


def input_schema(operation: Operation) -> Schema:
    """Return the schema of an operation's arguments, as an object."""
    properties = {field.name: argument_schema(field) for field in operation.fields}
    required = [field.name for field in operation.fields if field.required]
    return _closed(properties, required)


def argument_schema(field: InputField) -> Schema:
    """Return the schema of one argument, with its bounds, default and description."""
    schema = _bounded(_input(field.type), field.type, field.arg) | {"description": field.arg.help}
    return schema if field.required or field.default is None else schema | {"default": wire.plain(field.default)}


def _input(kind: Any) -> Schema:
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        required = [field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
        schema = _closed({name: _input(hint) for name, hint in hints.items()}, required)
        return {"anyOf": [schema, _MESSAGE]} if kind is Turn else schema
    return _shape(kind, _input)


def _closed(properties: Schema, required: Sequence[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema | ({"required": list(required)} if required else {})


def _bounded(schema: Schema, kind: Any, arg: Arg) -> Schema:
    if _is_collection(kind):
        names = ("minProperties", "maxProperties") if schema.get("type") == "object" else ("minItems", "maxItems")
    elif arg.low is not None or arg.high is not None:
        names = ("minimum", "maximum")
    else:
        return schema
    bounds = {name: value for name, value in zip(names, (arg.low, arg.high), strict=True) if value is not None}
    if "anyOf" in schema:  # a number, or null
        return {"anyOf": [part | bounds if part != {"type": "null"} else part for part in schema["anyOf"]]}
    return schema | bounds


def output_schema(operation: Operation, ref: str = "#/$defs/") -> tuple[Schema, dict[str, Schema]]:
    """Return the schema of an operation's output, and the schemas of the values that it references under `ref`."""
    named: dict[str, Schema] = {}
    return _output(operation.output, ref, named), named


def _output(kind: Any, ref: str, named: dict[str, Schema]) -> Schema:
    def inner(part: Any) -> Schema:
        return _output(part, ref, named)

    if not (is_dataclass(kind) and isinstance(kind, type)):
        return _shape(kind, inner)
    name = kind.__name__
    if name not in named:
        named[name] = {}  # entered first: the type may refer to itself
        hints = get_type_hints(kind)
        shown = wire.shown(kind)
        named[name] = {
            "type": "object",
            "properties": {field: inner(hints.get(field, str)) for field in shown},
            "required": list(shown),
            "description": (kind.__doc__ or "").partition("\n")[0],
        }
    return {"$ref": ref + name}


def _shape(kind: Any, inner: Callable[[Any], Schema]) -> Schema:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return {"anyOf": [inner(part) for part in parts]}
    if origin is tuple and parts[-1] is not Ellipsis:
        alternatives = [inner(part) for part in dict.fromkeys(parts)]
        items = alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
        return {"type": "array", "items": items, "minItems": len(parts), "maxItems": len(parts)}
    if origin in (tuple, list, Sequence, frozenset, set):
        return {"type": "array", "items": inner(parts[0])}
    if origin in (Mapping, dict):
        return {"type": "object", "additionalProperties": inner(parts[1])}
    if origin is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        choices = _choices(kind)
        return {"type": "string" if all(isinstance(choice, str) for choice in choices) else "integer", "enum": list(choices)}
    return dict(_PLAIN[kind])


def _choices(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) is Literal else tuple(member.value for member in kind)


def _is_collection(kind: Any) -> bool:
    return get_origin(kind) in (tuple, Mapping)


def _without_none(parts: tuple[Any, ...]) -> Any:
    return next(part for part in parts if part is not type(None))
