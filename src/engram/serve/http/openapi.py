"""The OpenAPI document (3.1), made from the table. What stands here is what is read and written, because both come from it.

The page at `/docs`: every route with its arguments, from the table. One file, nothing fetched from anywhere.
"""

from __future__ import annotations

from html import escape
from typing import Any

import engram
from engram.serve.http.routes import Route
from engram.serve.network.problems import SCHEMA as PROBLEM
from engram.serve.operations.schema import argument_schema, input_schema, output_schema

_COMPONENTS = "#/components/schemas/"
LEAST_S = 0.01
"""A deadline that nothing could keep is refused, not missed."""

_TIMEOUT = {
    "name": "timeout",
    "in": "query",
    "description": "Seconds that it may take.",
    "schema": {"type": "number", "minimum": LEAST_S},
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A name of your own for this request: sent again under it, it is not done again.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": "The `ETag` that it was read with, or several: if it was changed since, nothing is done.",
    "schema": {"type": "string"},
}
_EVENTS = {
    "get": {
        "operationId": "stream_events",
        "summary": "Tell of changes as they happen, by the ids of memories (server-sent events).",
        "description": "An event `missed` says that there were changes that nobody knows any more: the caller was away for longer"
        " than the log of changes reaches back, or the vault was restored. Read anew what you hold.",
        "tags": ["events"],
        "parameters": [
            {
                "name": "after",
                "in": "query",
                "description": "What came after this point; else from now on. `Last-Event-ID` says the same.",
                "schema": {"type": "integer", "minimum": 0, "maximum": 2**53},
            }
        ],
        "responses": {
            "200": {"description": "A stream that ends when the caller goes.", "content": {"text/event-stream": {}}},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
}


def document(table: tuple[Route, ...]) -> dict[str, Any]:
    schemas: dict[str, Any] = {"Problem": PROBLEM}
    paths: dict[str, dict[str, Any]] = {}
    for route in table:
        answer, named = output_schema(route.operation, _COMPONENTS)
        schemas |= named
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, answer)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Engram",
            "version": engram.__version__,
            "description": "The memory of an AI agent. Who asks is said by the token, and by nothing else.",
        },
        "paths": paths | {"/v1/events": _EVENTS},
        "components": {
            "schemas": schemas,
            "responses": {
                "Problem": {
                    "description": "What went wrong, and the way out.",
                    "content": {"application/problem+json": {"schema": {"$ref": f"{_COMPONENTS}Problem"}}},
                }
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(route: Route, answer: dict[str, Any]) -> dict[str, Any]:
    operation = route.operation
    made: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.help,
        "description": f"{operation.effect.value.capitalize()}; for the role {operation.role.value} and above.",
        "tags": [operation.effect.value],
        "parameters": _parameters(route),
        "responses": {
            "201" if route.makes else "200": {
                "description": "Done.",
                "content": {"application/json": {"schema": answer}},
            },
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    if route.has_body:
        whole = input_schema(operation)
        rest = {one.name for one in route.rest}
        body = whole | {"properties": {name: one for name, one in whole["properties"].items() if name in rest}}
        required = [name for name in whole.get("required", ()) if name in rest]
        body = {name: part for name, part in body.items() if name != "required"} | ({"required": required} if required else {})
        made["requestBody"] = {"required": bool(required), "content": {"application/json": {"schema": body}}}
    return made


def _parameters(route: Route) -> list[dict[str, Any]]:
    known = {one.name: one for one in route.operation.fields}
    made: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": known[name].arg.help,
            "schema": {"type": "string", "minLength": 1},
        }
        for name in route.in_path
    ]
    if not route.has_body:
        made += [
            {"name": one.name, "in": "query", "required": one.required, "schema": _unquoted(argument_schema(one))}
            for one in route.rest
        ]
    if not route.operation.reads:
        made.append(_KEY)
    if "unchanged_since" in known:
        made.append(_IF_MATCH)
    return [*made, _TIMEOUT]


def _unquoted(schema: dict[str, Any]) -> dict[str, Any]:
    """An address cannot say null; what is not said is. Nor can it say an object: that is `name:value`, once for each name."""
    if schema.get("type") == "object":
        return {
            "type": "array",
            "items": {"type": "string", "pattern": "^[^:]+:"},
            "maxItems": schema["maxProperties"],
            "description": f"{schema['description']} As `name:value`, once for each name.",
        }
    if "anyOf" not in schema:
        return schema
    (kind,) = (one for one in schema["anyOf"] if one != {"type": "null"})
    return dict(kind) | {name: value for name, value in schema.items() if name != "anyOf"}


_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h2{font:600 1rem/1.4 ui-monospace,monospace;margin:2rem 0 .25rem}table{border-collapse:collapse;width:100%;font-size:.9rem}
td{border-top:1px solid #ddd;padding:.25rem .75rem .25rem 0;vertical-align:top}td:first-child{font-family:ui-monospace,monospace}
small{color:#666}pre{background:#f4f4f4;padding:.75rem;overflow:auto}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}td{border-color:#333}pre{background:#222}small{color:#999}}
"""
_EXAMPLE = """curl -s http://127.0.0.1:8420/v1/search -H "Authorization: Bearer $ENGRAM_TOKEN" \\
     -H "Content-Type: application/json" -d '{"query": "who runs the API?"}'"""


def page(table: tuple[Route, ...]) -> str:
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Engram {engram.__version__}</title><style>{_STYLE}</style>"
        f"<h1>Engram</h1><p>Every request carries a token (<code>engram token create</code>), and the token says who asks. "
        f'<a href="/openapi.json">OpenAPI document</a></p><pre>{escape(_EXAMPLE)}</pre>'
        + "".join(map(_section, table))
        + "<h2>GET /v1/events</h2><p>Tell of changes as they happen, by the ids of memories (server-sent events).</p></html>"
    )


def _section(route: Route) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.name)}{' *' if one.required else ''}<td>{escape(one.arg.help)}" for one in route.operation.fields
    )
    operation = route.operation
    return (
        f'<h2 id="{operation.name}">{route.method} {escape(route.path)}</h2><p>{escape(operation.help)} '
        f"<small>{operation.name}, {operation.effect.value}, {operation.role.value}</small></p><table>{rows}</table>"
    )
