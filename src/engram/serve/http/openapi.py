"""The OpenAPI document (3.1) and the page at `/docs`, both made from the table of operations. The page loads nothing from
elsewhere."""

from __future__ import annotations

from html import escape
from typing import Any

import engram
from engram.serve.http.routes import Route
from engram.serve.network.problems import SCHEMA as PROBLEM
from engram.serve.operations.schema import argument_schema, input_schema, output_schema

_COMPONENTS = "#/components/schemas/"
MIN_TIMEOUT_S = 0.01
"""A shorter deadline could never be met, so it is refused."""

_TIMEOUT = {
    "name": "timeout",
    "in": "query",
    "description": "Seconds that it may take.",
    "schema": {"type": "number", "minimum": MIN_TIMEOUT_S},
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


def openapi_document(table: tuple[Route, ...]) -> dict[str, Any]:
    """Return the OpenAPI document of all routes."""
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
    described: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.help,
        "description": f"{operation.effect.value.capitalize()}; for the role {operation.role.value} and above.",
        "tags": [operation.effect.value],
        "parameters": _parameters(route),
        "responses": {
            "201" if route.creates else "200": {
                "description": "Done.",
                "content": {"application/json": {"schema": answer}},
            },
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    if route.has_body:
        schema = input_schema(operation)
        rest = {field.name for field in route.rest}
        body = schema | {"properties": {name: part for name, part in schema["properties"].items() if name in rest}}
        required = [name for name in schema.get("required", ()) if name in rest]
        body = {name: part for name, part in body.items() if name != "required"} | ({"required": required} if required else {})
        described["requestBody"] = {"required": bool(required), "content": {"application/json": {"schema": body}}}
    return described


def _parameters(route: Route) -> list[dict[str, Any]]:
    known = {field.name: field for field in route.operation.fields}
    parameters: list[dict[str, Any]] = [
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
        parameters += [
            {"name": field.name, "in": "query", "required": field.required, "schema": _query_schema(argument_schema(field))}
            for field in route.rest
        ]
    if not route.operation.reads:
        parameters.append(_KEY)
    if "unchanged_since" in known:
        parameters.append(_IF_MATCH)
    return [*parameters, _TIMEOUT]


def _query_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument in a query, which has no null and no objects: those are `name:value` pairs."""
    if schema.get("type") == "object":
        return {
            "type": "array",
            "items": {"type": "string", "pattern": "^[^:]+:"},
            "maxItems": schema["maxProperties"],
            "description": f"{schema['description']} As `name:value`, once for each name.",
        }
    if "anyOf" not in schema:
        return schema
    (value_schema,) = (part for part in schema["anyOf"] if part != {"type": "null"})
    return dict(value_schema) | {name: value for name, value in schema.items() if name != "anyOf"}


_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
h2{font:600 1rem/1.4 ui-monospace,monospace;margin:2rem 0 .25rem}table{border-collapse:collapse;width:100%;font-size:.9rem}
td{border-top:1px solid #ddd;padding:.25rem .75rem .25rem 0;vertical-align:top}td:first-child{font-family:ui-monospace,monospace}
small{color:#666}pre{background:#f4f4f4;padding:.75rem;overflow:auto}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}td{border-color:#333}pre{background:#222}small{color:#999}}
"""
_EXAMPLE = """curl -s http://127.0.0.1:8420/v1/search -H "Authorization: Bearer $ENGRAM_TOKEN" \\
     -H "Content-Type: application/json" -d '{"query": "who runs the API?"}'"""


def docs_page(table: tuple[Route, ...]) -> str:
    """Return the HTML page that lists all routes and their arguments."""
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Engram {engram.__version__}</title><style>{_STYLE}</style>"
        f"<h1>Engram</h1><p>Every request carries a token (<code>engram token create</code>), and the token says who asks. "
        f'<a href="/openapi.json">OpenAPI document</a></p><pre>{escape(_EXAMPLE)}</pre>'
        + "".join(map(_section, table))
        + "<h2>GET /v1/events</h2><p>Tell of changes as they happen, by the ids of memories (server-sent events).</p></html>"
    )


def _section(route: Route) -> str:
    rows = "".join(
        f"<tr><td>{escape(field.name)}{' *' if field.required else ''}<td>{escape(field.arg.help)}"
        for field in route.operation.fields
    )
    operation = route.operation
    return (
        f'<h2 id="{operation.name}">{route.method} {escape(route.path)}</h2><p>{escape(operation.help)} '
        f"<small>{operation.name}, {operation.effect.value}, {operation.role.value}</small></p><table>{rows}</table>"
    )
