"""Method and path of each operation, and the arguments of a request. An operation without a path of its own is `POST
/v1/<name>`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from engram.errors import InvalidQuery
from engram.serve.operations import OPERATIONS, Operation
from engram.serve.operations.operation import InputField
from engram.values.frozen import frozen

_PATHS: Mapping[str, str] = {
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
_BOOLEANS = {"true": True, "false": False}


@frozen
class Route:
    """An operation at its method and path. Arguments come from the path, and the rest from the query or the body."""

    operation: Operation
    method: str
    path: str

    @property
    def in_path(self) -> tuple[str, ...]:
        return tuple(re.findall(r"{(\w+)}", self.path))

    @property
    def rest(self) -> tuple[InputField, ...]:
        """The arguments that are not in the path."""
        return tuple(field for field in self.operation.fields if field.name not in self.in_path)

    @property
    def has_body(self) -> bool:
        return self.method not in _WITHOUT_BODY

    @property
    def creates(self) -> bool:
        """The answer has the status 201."""
        return self.method == "POST" and self.operation.name in ("remember", "backup")


def routes() -> tuple[Route, ...]:
    """Return the route of every operation."""
    return tuple(_route(operation) for operation in OPERATIONS.values())


def _route(operation: Operation) -> Route:
    method, path = _PATHS.get(operation.name, f"POST /v1/{operation.name.replace('_', '-')}").split()
    return Route(operation, method, path)


def arguments(route: Route, path: Mapping[str, str], query: Sequence[tuple[str, str]], body: object) -> dict[str, object]:
    """Return the arguments of a request by name. Raise `InvalidQuery` for one that is given in two places."""
    if not isinstance(body, dict):
        raise InvalidQuery("the body must be a JSON object.")
    known = {field.name: field for field in route.operation.fields}
    texts: dict[str, list[str]] = {}
    for name, text in query:
        texts.setdefault(name, []).append(text)
    from_query = {name: _query_value(known[name], values) if name in known else values for name, values in texts.items()}
    from_path: dict[str, object] = {name: [path[name]] if get_origin(known[name].type) is tuple else path[name] for name in path}
    if from_query.keys() & body.keys() or from_path.keys() & (from_query.keys() | body.keys()):
        raise InvalidQuery("an argument is given twice.", way_out="Give it in the path, in the query or in the body.")
    return {**body, **from_query, **from_path}


def _query_value(field: InputField, texts: list[str]) -> object:
    """Return the JSON value of a query argument. Text that does not fit is returned as it is, for `schema.read` to refuse."""
    if get_origin(field.type) is tuple:
        return texts
    if get_origin(field.type) is Mapping:
        return _mapping(field.name, texts)
    if len(texts) > 1:
        return texts
    return _scalar(field.type, texts[0])


def _mapping(name: str, texts: list[str]) -> dict[str, str]:
    """Parse `name:value` pairs: a query has no objects."""
    pairs = [text.partition(":") for text in texts]
    if not all(key and colon for key, colon, _ in pairs) or len({key for key, _, _ in pairs}) < len(pairs):
        raise InvalidQuery(f"`{name}` must be given as `{name}=name:value`, once for each name.")
    return {key: value for key, _, value in pairs}


def _scalar(kind: Any, text: str) -> object:
    kinds = get_args(kind) if type(None) in get_args(kind) else (kind,)
    if bool in kinds:
        return _BOOLEANS.get(text, text)
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                return text
    return text
