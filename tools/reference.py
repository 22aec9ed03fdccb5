"""Print `docs/reference.md`: every operation with its arguments, its command and its route, and the table of error codes."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from datetime import datetime
from enum import Enum
from typing import Any, Literal, Union, get_args, get_origin

from engram.context.sections import ContextSection
from engram.serve.http.routes import Route, routes
from engram.serve.operations.operation import InputField, Operation
from engram.types import Turn

_HEAD = """\
# Operations

Written by `make docs` from the table in `src/engram/serve/operations/`: change it there.

Everything that can be asked of a memory, once. The library has each as a verb of `Engram`, the command line as a command, the
HTTP API as a route, MCP as a tool; they take the same arguments and answer with the same JSON. Who asks is no argument: it is
fixed when the vault is opened, and on the wire it is the token's. Besides those below, every operation takes a `timeout` in
seconds (`--timeout`, `?timeout=`), and every write a key of the caller's under which it is made once (`mem.keyed`, the header
`Idempotency-Key`, `--idempotency-key`, `engram/idempotency-key` in the `_meta` of a tool call).

An error has a code, a sentence and a way out, which the [table of codes](#codes) lists.
"""
_CODES = """
## Codes

On the command line an error ends with exit code 1 (2 for a bad call) and is JSON under `--json`; over HTTP it is a problem
document (`application/problem+json`).

| code | what | status over HTTP |
|---|---|---|
"""
_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    datetime: "time",
    Turn: "turn",
    ContextSection: "section",
}


def documentation() -> str:
    return "".join([_HEAD, *(_section(route) for route in routes()), _CODES, *_codes()])


def _section(route: Route) -> str:
    operation = route.operation
    repeats = "" if operation.reads else ", safe to repeat" if operation.idempotent else ", each call counts"
    head = f"\n## {operation.name}\n\n{operation.help}\n\n"
    calls = f"`engram {_command(operation)}` · `{route.method} {route.path}`"
    what = f" · {operation.effect.value}{repeats} · from the role {operation.role.value} · gives `{operation.output.__name__}`\n"
    rows = "".join(_row(field) for field in operation.fields)
    return head + calls + what + (f"\n| argument | type | default | what it is |\n|---|---|---|---|\n{rows}" if rows else "")


def _command(operation: Operation) -> str:
    """Return the command with its positional arguments: ids before free text, optional ones in brackets."""
    positional = sorted((field for field in operation.fields if field.arg.positional), key=lambda field: field.arg.free_text)
    arguments = [field.name.upper() if field.required else f"[{field.name.upper()}]" for field in positional]
    return " ".join([operation.name.replace("_", "-"), *arguments])


def _row(field: InputField) -> str:
    default = "needed" if field.required else "" if field.default in (None, (), "", {}) else f"`{_plain(field.default)}`"
    return f"| `{field.name}` | {_type(field.type)}{_bounds(field)} | {default} | {field.arg.help} |\n"


def _plain(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_plain, value))
    return str(value.value if isinstance(value, Enum) else value).lower() if isinstance(value, bool | Enum) else str(value)


def _bounds(field: InputField) -> str:
    low, high = field.arg.low, field.arg.high
    if high is None:
        return "" if low is None else f", from {low:g}"
    is_collection = get_origin(field.type) in (tuple, Mapping)
    return f", up to {high:,.12g}" if is_collection else f", {low or 0:g} … {high:,.12g}"


def _type(kind: Any) -> str:
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _type(next(part for part in parts if part is not type(None)))
    if origin is tuple:
        return f"list of {_type(parts[0])}"
    if origin is Mapping:
        return "names and texts"
    if origin is Literal:
        return ", ".join(f"`{word}`" for word in parts)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{word.value}`" for word in kind)
    return _WORDS[kind]


def _codes() -> Iterator[str]:
    from engram import errors
    from engram.serve.network.problems import status_of

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.EngramError)]
    for kind in sorted(kinds, key=lambda kind: kind.code):
        if kind.default_way_out or not kind.code.endswith("000"):
            way_out = kind.default_way_out or "Its message says what to do."
            yield f"| {kind.code} | {kind.__name__.rstrip('_')}: {way_out} | {status_of(kind(''))} |\n"


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    sys.stdout.write(documentation())
