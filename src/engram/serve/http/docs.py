"""The page at `/docs`: every route with its arguments, from the table. One file, nothing fetched from anywhere."""

from __future__ import annotations

from html import escape

import engram
from engram.serve.http.routes import Route

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
