"""Search and fetch in the shapes of ChatGPT's connectors and deep research: results by id, title and url, then one in full."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engram.errors import NotFound
from engram.text.marks import fence, harmless
from engram.types import Memory, Turn

if TYPE_CHECKING:
    from engram.engine import Engram

_RESULTS = 10
_TITLE = 80  # characters

Url = Callable[[str], str]
"""Returns the address of the memory with an id."""


def search(mem: Engram, query: str, url: Url) -> dict[str, Any]:
    """Return id, title and url of at most ten memories."""
    hits = mem.recall(query).hits[:_RESULTS]
    return {"results": [_reference(hit.memory, url) for hit in hits]}


def fetch(mem: Engram, id: str, url: Url) -> dict[str, Any]:
    """Return a memory in full, with the turns it came from; raise `NotFound` if there is none or it is flagged."""
    memory = mem.get(id)
    if memory is None or not mem.sound([memory]):
        raise NotFound("there is no memory of that id that this identity may see.", way_out="Take an id that `search` returned.")
    turns = "\n".join(f"{turn.speaker}: {turn.text}" for turn in mem.words(memory.id) if _is_clean(mem, turn))
    when = memory.happened_at or memory.learned_at
    about = {"category": memory.category, "status": memory.status.value, **({"date": when.date().isoformat()} if when else {})}
    text = memory.text if not turns else f"{memory.text}\n\nAs it was said:\n{turns}"
    return _reference(memory, url) | {"text": fence(text), "metadata": about}


def _is_clean(mem: Engram, turn: Turn) -> bool:
    """Return whether a turn holds no prompt injection. A harmless statement may come from a turn that holds one elsewhere."""
    from engram.capture.screen import judged  # compiling its patterns takes longer than an MCP host should wait for its tools
    from engram.guard.injection import InjectionVerdict

    return judged(turn.text, mem.settings.now).verdict is InjectionVerdict.CLEAN


def _reference(memory: Memory, url: Url) -> dict[str, Any]:
    text = harmless(" ".join(memory.text.split()))
    title = text if len(text) <= _TITLE else text[: _TITLE - 1] + "…"
    return {"id": memory.id, "title": title, "url": url(memory.id)}
