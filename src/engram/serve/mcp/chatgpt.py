"""The tools `search` and `fetch` of ChatGPT's connectors and deep research: results by id, title and url, then one in full."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidQuery, NotFound
from engram.serve.mcp import resources
from engram.serve.mcp.tools import DATA, Tool, ToolAnswer
from engram.serve.operations import limits
from engram.serve.operations.schema import Schema
from engram.text.fence import fence, harmless
from engram.types import Memory, Turn

if TYPE_CHECKING:
    from engram.engine import Engram

_RESULTS = 10
_TITLE = 80  # characters
_TEXT: Schema = {"type": "string"}


def search(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Return id, title and url of at most ten memories."""
    query = _text(arguments, "query")
    with limits.limited(mem):
        hits = mem.recall(query).hits[:_RESULTS]
    return _json_answer({"results": [_reference(hit.memory) for hit in hits]})


def fetch(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Return a memory in full, with the turns it came from."""
    memory = mem.get(_text(arguments, "id"))
    if memory is None or not mem.sound([memory]):
        raise NotFound("there is no memory of that id that this identity may see.", way_out="Take an id that `search` returned.")
    turns = "\n".join(f"{turn.speaker}: {turn.text}" for turn in mem.words(memory.id) if _is_clean(mem, turn))
    when = memory.happened_at or memory.learned_at
    about = {"category": memory.category, "status": memory.status.value, **({"date": when.date().isoformat()} if when else {})}
    text = memory.text if not turns else f"{memory.text}\n\nAs it was said:\n{turns}"
    return _json_answer(_reference(memory) | {"text": fence(text), "metadata": about})


def _is_clean(mem: Engram, turn: Turn) -> bool:
    """Return whether a turn holds no prompt injection. A harmless statement may come from a turn that holds one elsewhere."""
    from engram.capture.screen import judged  # compiling its patterns takes longer than making the list of tools
    from engram.guard.injection import InjectionVerdict

    return judged(turn.text, mem.settings.now).verdict is InjectionVerdict.CLEAN


def _reference(memory: Memory) -> dict[str, Any]:
    words = harmless(" ".join(memory.text.split()))
    title = words if len(words) <= _TITLE else words[: _TITLE - 1] + "…"
    return {"id": memory.id, "title": title, "url": resources.uri_of(memory.id)}


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
