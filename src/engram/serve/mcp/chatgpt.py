"""`search` and `fetch` as ChatGPT's connectors and deep research call them: results by id, title and url, then one in full."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidQuery, NotFound
from engram.serve.mcp import resources
from engram.serve.mcp.tools import DATA, Said, Tool
from engram.serve.operations import rationing
from engram.serve.operations.schema import Schema
from engram.text.fence import fence, harmless
from engram.types import Memory, Turn

if TYPE_CHECKING:
    from engram.engine import Engram

_MOST = 10
_TITLE = 80
_TEXT: Schema = {"type": "string"}


def search(mem: Engram, given: Mapping[str, Any]) -> Said:
    query = _text(given, "query")
    with rationing.limited(mem):
        hits = mem.recall(query).hits[:_MOST]
    return _said({"results": [_reference(hit.memory) for hit in hits]})


def fetch(mem: Engram, given: Mapping[str, Any]) -> Said:
    memory = mem.get(_text(given, "id"))
    if memory is None or not mem.sound([memory]):
        raise NotFound("there is no memory of that id that this identity may see.", way_out="Take an id that `search` returned.")
    said = "\n".join(f"{turn.speaker}: {turn.text}" for turn in mem.words(memory.id) if _clean(mem, turn))
    when = memory.happened_at or memory.learned_at
    about = {"category": memory.category, "status": memory.status.value, **({"date": when.date().isoformat()} if when else {})}
    text = memory.text if not said else f"{memory.text}\n\nAs it was said:\n{said}"
    return _said(_reference(memory) | {"text": fence(text), "metadata": about})


def _clean(mem: Engram, turn: Turn) -> bool:
    """A statement may stand by itself, and what was said around it be an attack."""
    from engram.capture.screen import judged  # its patterns take longer to make than the list of tools
    from engram.guard.injection import InjectionVerdict

    return judged(turn.text, mem.settings.now).verdict is InjectionVerdict.CLEAN


def _reference(memory: Memory) -> dict[str, Any]:
    words = harmless(" ".join(memory.text.split()))
    title = words if len(words) <= _TITLE else words[: _TITLE - 1] + "…"
    return {"id": memory.id, "title": title, "url": resources.uri_of(memory.id)}


def _said(data: Any) -> Said:
    """Its text is the same as JSON: that is where ChatGPT looks."""
    return Said(data, json.dumps(data, ensure_ascii=False))


def _text(given: Mapping[str, Any], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or set(given) != {name}:
        raise InvalidQuery(f"`{name}` is needed, as text, and nothing else.")
    return value


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def tools() -> tuple[Tool, ...]:
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
