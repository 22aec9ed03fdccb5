"""The first page: the search field, the number of memories, the latest of them, and the vault's state."""

from __future__ import annotations

from engram.serve.page.asking import PageRequest, PageView, Redirect, place

_RECENT = 8
_NAMES = 12


def home(request: PageRequest) -> PageView:
    """The first page."""
    condition = request.call("status") if request.may("status") else None
    page = request.call("list", limit=_RECENT)
    passes = request.call("dreams", limit=1).passes if request.may("dreams") else ()
    names = request.call("entities", limit=_NAMES).entities
    return PageView(
        "home.html", {"condition": condition, "recent": page.memories, "names": names, "rested": next(iter(passes), None)}
    )


def remember(request: PageRequest) -> Redirect:
    """Store a statement, from the first page or as the answer to an open question."""
    memory = request.call("remember", text=request.text("text"))
    return Redirect(place(f"/memory/{memory.id}", done="kept"))
