"""Memories as MCP resources, for hosts that let people pick them, and the prompt that opens a session.

Every resource is read as the caller: a memory that the caller may not see is not found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engram.errors import NotFound
from engram.serve.mcp import answers
from engram.serve.operations import OPERATIONS, limits, read
from engram.text.marks import fence
from engram.types import Page, Reader

if TYPE_CHECKING:
    from engram.engine import Engram

_SCHEME = "memory://"
_MEMORY = "memory://memory/"
_RECENT = 20
_TEXT = "text/plain"
START = "session_start"


def uri_of(memory_id: str) -> str:
    """Return the address of a memory."""
    return _MEMORY + memory_id


def listing(reader: Reader) -> list[dict[str, Any]]:
    """Return the entries of `resources/list` for this reader."""
    return [
        {"uri": _SCHEME + name, "name": name, "title": title, "description": description, "mimeType": _TEXT}
        for name, (title, description, _) in _RESOURCES.items()
        if name not in OPERATIONS or OPERATIONS[name].allows(reader.role)
    ]


def templates() -> list[dict[str, Any]]:
    """Return the entries of `resources/templates/list`."""
    description = "One memory, with the words it came from, its earlier wordings, its states and its links."
    template = {"uriTemplate": _MEMORY + "{id}", "name": "memory", "title": "A memory"}
    return [{**template, "description": description, "mimeType": _TEXT}]


def read_text(mem: Engram, uri: str) -> str:
    """Return the text of a resource; raise `NotFound` if the address names none."""
    if uri.startswith(_MEMORY):
        return _call(mem, "show", id=uri.removeprefix(_MEMORY))
    resource = _RESOURCES.get(uri.removeprefix(_SCHEME)) if uri.startswith(_SCHEME) else None
    if resource is None:
        raise NotFound("no resource has that address.", way_out="Take one that resources/list names.")
    return resource[2](mem)


def _call(mem: Engram, name: str, **arguments: object) -> str:
    operation = OPERATIONS[name]
    return answers.text(limits.call(operation, mem, read(operation, arguments)))


def _recent(mem: Engram) -> str:
    """Return the latest memories without flagged ones, which `list` shows: this text goes into a prompt unasked."""
    page = answers.list_within_budget(mem, {"limit": _RECENT})
    return answers.text(Page(tuple(mem.sound(page.memories)), None))


_RESOURCES: Mapping[str, tuple[str, str, Callable[[Engram], str]]] = {
    "recent": ("Recent memories", "The latest memories, newest first.", lambda mem: _recent(mem)),
    "morning": ("Where work was left", "What was done, decided and left open, and what is new since.", lambda mem: _morning(mem)),
    "status": ("Status of the vault", "Counts, sizes, the encoder in use, warnings.", lambda mem: _call(mem, "status")),
}


# ── beginning a session ────────────────────────────────────────────────────────────────────────────────────────────────


def prompts() -> list[dict[str, Any]]:
    """Return the entries of `prompts/list`."""
    task = {"name": "task", "description": "What the session is about, if that is known.", "required": False}
    description = "What to know before work begins: where it was left, and what is remembered about the task."
    return [{"name": START, "title": "Begin a session", "description": description, "arguments": [task]}]


def start(mem: Engram, task: str) -> str:
    """Return the opening prompt: the morning report, then the context of the task, or without a task the latest memories."""
    budget = mem.settings.now.mcp_answer_tokens
    known = _call(mem, "context", message=task, budget=budget) if task.strip() else read_text(mem, _SCHEME + "recent")
    rules = (
        "This is what your memory holds for this session. Search it (memory_search) before you answer anything that may hang on "
        "earlier sessions, and keep what later ones will need (memory_observe, memory_store)."
    )
    return "\n\n".join([rules, _morning(mem), known])


def _morning(mem: Engram) -> str:
    text = mem.morning().text
    return fence(text) if text else "No work was left unfinished here."
