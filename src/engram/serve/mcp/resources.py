"""What is kept as resources, for hosts that let people pick them, and the prompt that a session begins with.

Every address is read as whoever asks: of what they may not see there is no resource.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engram.errors import NotFound
from engram.serve.mcp import brief, fitting
from engram.serve.operations import OPERATIONS, rationing, read
from engram.text.fence import fence
from engram.types import Page, Reader

if TYPE_CHECKING:
    from engram.engine import Engram

_SCHEME = "memory://"
_ONE = "memory://memory/"
_RECENT = 20
_TEXT = "text/plain"
START = "session_start"


def uri_of(memory_id: str) -> str:
    return _ONE + memory_id


def listed(reader: Reader) -> list[dict[str, Any]]:
    """Those that this reader may read."""
    return [
        {"uri": _SCHEME + name, "name": name, "title": title, "description": told, "mimeType": _TEXT}
        for name, (title, told, _) in _RESOURCES.items()
        if name not in OPERATIONS or OPERATIONS[name].allows(reader.role)
    ]


def templates() -> list[dict[str, Any]]:
    told = "One memory, with the words it came from, its earlier wordings, its states and its links."
    return [{"uriTemplate": _ONE + "{id}", "name": "memory", "title": "A memory", "description": told, "mimeType": _TEXT}]


def read_text(mem: Engram, uri: str) -> str:
    if uri.startswith(_ONE):
        return _called(mem, "show", id=uri.removeprefix(_ONE))
    known = _RESOURCES.get(uri.removeprefix(_SCHEME)) if uri.startswith(_SCHEME) else None
    if known is None:
        raise NotFound("there is no resource of that address.", way_out="resources/list names those that there are.")
    return known[2](mem)


def _called(mem: Engram, name: str, **arguments: object) -> str:
    operation = OPERATIONS[name]
    return brief.text(rationing.call(operation, mem, read(operation, arguments)))


def _recent(mem: Engram) -> str:
    """Nobody asked for these, as who calls `list` does, and they go into a prompt: nothing that reads as an attack."""
    page = fitting.listed(mem, {"limit": _RECENT})
    return brief.text(Page(tuple(mem.sound(page.memories)), None))


_RESOURCES: Mapping[str, tuple[str, str, Callable[[Engram], str]]] = {
    "recent": ("Recent memories", "The latest memories, newest first.", lambda mem: _recent(mem)),
    "morning": ("Where work was left", "What was done, decided and left open, and what is new since.", lambda mem: _morning(mem)),
    "status": ("Status of the vault", "Counts, sizes, the encoder in use, warnings.", lambda mem: _called(mem, "status")),
}


# ── beginning a session ────────────────────────────────────────────────────────────────────────────────────────────────


def prompts() -> list[dict[str, Any]]:
    task = {"name": "task", "description": "What the session is about, if that is known.", "required": False}
    told = "What to know before work begins: where it was left, and what is remembered about the task."
    return [{"name": START, "title": "Begin a session", "description": told, "arguments": [task]}]


def start(mem: Engram, task: str) -> str:
    """What to know on coming back; then what is remembered about the task, or the latest there is."""
    budget = mem.settings.now.mcp_answer_tokens
    known = _called(mem, "context", message=task, budget=budget) if task.strip() else read_text(mem, _SCHEME + "recent")
    rules = (
        "This is what your memory holds for this session. Search it (memory_search) before you answer anything that may hang on "
        "earlier sessions, and keep what later ones will need (memory_observe, memory_store)."
    )
    return "\n\n".join([rules, _morning(mem), known])


def _morning(mem: Engram) -> str:
    text = mem.morning().text
    return fence(text) if text else "No work was left unfinished here."
