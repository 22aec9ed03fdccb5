"""Where each operation is found: method and path. What is not named here is `POST /v1/<its name>`.

Entity tags (RFC 9110): what `If-Match` and `If-None-Match` say of a memory, whose tag is the moment of its last change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, get_args, get_origin

from engram.env import from_micros, to_micros
from engram.errors import InvalidQuery
from engram.serve.operations import OPERATIONS, Operation
from engram.serve.operations.operation import InputField
from engram.values.frozen import frozen

_PLACES: Mapping[str, str] = {
    "remember": "POST /v1/memories",
    "list": "GET /v1/memories",
    "get": "GET /v1/memories/{id}",
    "update": "PATCH /v1/memories/{id}",
    "forget": "DELETE /v1/memories/{ids}",
    "show": "GET /v1/memories/{id}/whole",
    "versions": "GET /v1/memories/{id}/versions",
    "words": "GET /v1/memories/{id}/words",
    "traverse": "GET /v1/memories/{id}/links",
    "restore": "POST /v1/memories/{id}/restore",
    "pin": "PUT /v1/memories/{id}/pin",
    "feedback": "POST /v1/memories/{id}/feedback",
    "recall": "POST /v1/search",
    "relate": "POST /v1/edges",
    "edges": "GET /v1/edges",
    "events": "GET /v1/changes",
    "working": "GET /v1/working",
    "attend": "POST /v1/working",
    "clear_working": "DELETE /v1/working",
    "checkpoint": "PUT /v1/checkpoint",
    "resume": "GET /v1/checkpoint",
    "dreams": "GET /v1/dreams",
    "undo_dream": "POST /v1/dreams/{id}/undo",
    "status": "GET /v1/status",
    "audit": "GET /v1/audit",
    "backup": "POST /v1/backups",
    "backups": "GET /v1/backups",
}

_WITHOUT_BODY = frozenset({"GET", "DELETE"})
_TRUTHS = {"true": True, "false": False}


@frozen
class Route:
    """One operation at one place. Arguments come by the path, and the rest by the query or by the body."""

    operation: Operation
    method: str
    path: str

    @property
    def in_path(self) -> tuple[str, ...]:
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def rest(self) -> tuple[InputField, ...]:
        return tuple(one for one in self.operation.fields if one.name not in self.in_path)

    @property
    def has_body(self) -> bool:
        return self.method not in _WITHOUT_BODY

    @property
    def makes(self) -> bool:
        """Does it answer 201?"""
        return self.method == "POST" and self.operation.name in ("remember", "backup")


def routes() -> tuple[Route, ...]:
    return tuple(_route(operation) for operation in OPERATIONS.values())


def _route(operation: Operation) -> Route:
    method, path = _PLACES.get(operation.name, f"POST /v1/{operation.name.replace('_', '-')}").split()
    return Route(operation, method, path)


def arguments(route: Route, path: Mapping[str, str], query: Sequence[tuple[str, str]], body: object) -> dict[str, object]:
    """What the request says, by the names of the operation's arguments; it may say each once."""
    if not isinstance(body, dict):
        raise InvalidQuery("the body must be a JSON object.")
    known = {one.name: one for one in route.operation.fields}
    said: dict[str, list[str]] = {}
    for name, value in query:
        said.setdefault(name, []).append(value)
    asked = {name: _of_query(known[name], values) if name in known else values for name, values in said.items()}
    placed: dict[str, object] = {name: [path[name]] if get_origin(known[name].type) is tuple else path[name] for name in path}
    if asked.keys() & body.keys() or placed.keys() & (asked.keys() | body.keys()):
        raise InvalidQuery("an argument is given twice.", way_out="Give it in the path, in the query or in the body.")
    return {**body, **asked, **placed}


def _of_query(field: InputField, values: list[str]) -> object:
    """Text from an address as JSON would have it; what does not fit is left for the reader of arguments to refuse."""
    if get_origin(field.type) is tuple:
        return values
    if get_origin(field.type) is Mapping:
        return _named(field.name, values)
    if len(values) > 1:
        return values
    return _single(field.type, values[0])


def _named(name: str, values: list[str]) -> dict[str, str]:
    """`name:value`, once for each name: an address has no objects."""
    pairs = [value.partition(":") for value in values]
    if not all(key and colon for key, colon, _ in pairs) or len({key for key, _, _ in pairs}) < len(pairs):
        raise InvalidQuery(f"`{name}` is said as `{name}=name:value`, once for each name.")
    return {key: value for key, _, value in pairs}


def _single(kind: Any, text: str) -> object:
    kinds = get_args(kind) if type(None) in get_args(kind) else (kind,)
    if bool in kinds:
        return _TRUTHS.get(text, text)
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                return text
    return text


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
