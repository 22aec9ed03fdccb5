"""The tools `search` and `fetch` of ChatGPT's connectors and deep research, over `adapters.chatgpt`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engram.adapters import chatgpt
from engram.errors import InvalidQuery
from engram.serve.mcp.resources import uri_of
from engram.serve.mcp.tools import DATA, Tool, ToolAnswer
from engram.serve.operations import limits
from engram.serve.operations.schema import Schema

if TYPE_CHECKING:
    from engram.engine import Engram

_TEXT: Schema = {"type": "string"}


def search(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Answer `search`; calls count against the rate limit of questions."""
    query = _text(arguments, "query")
    with limits.limited(mem):
        return _json_answer(chatgpt.search(mem, query, uri_of))


def fetch(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Answer `fetch`."""
    return _json_answer(chatgpt.fetch(mem, _text(arguments, "id"), uri_of))


def _json_answer(data: Any) -> ToolAnswer:
    """Return an answer whose text is the data as JSON: ChatGPT reads the text."""
    return ToolAnswer(data, json.dumps(data, ensure_ascii=False))


def _text(arguments: Mapping[str, Any], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str) or set(arguments) != {name}:
        raise InvalidQuery(f"this tool takes one argument, `{name}`, as text.")
    return value


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def tools() -> tuple[Tool, ...]:
    """Return the tools of the profile."""
    reference = {"id": _TEXT, "title": _TEXT, "url": _TEXT}
    return (
        Tool(
            name="search",
            title="Search memory",
            description=f"Find what is remembered, in plain words. {DATA}",
            input=_object(query={"type": "string", "description": "What to look for."}),
            output=_object(results={"type": "array", "items": _object(**reference)}),
            run=search,
        ),
        Tool(
            name="fetch",
            title="Read a memory",
            description=f"One memory in full, with the words it came from, by an id that `search` returned. {DATA}",
            input=_object(id={"type": "string", "description": "An id that `search` returned."}),
            output=_object(**reference, text=_TEXT, metadata={"type": "object", "additionalProperties": _TEXT}),
            run=fetch,
        ),
    )
