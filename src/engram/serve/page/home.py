"""The first page: the question, how much there is, what is new, how it is."""

from __future__ import annotations

from engram.serve.page.asking import Asking, Sent, Shown, place

_RECENT = 8
_NAMES = 12


def home(asking: Asking) -> Shown:
    condition = asking.call("status") if asking.may("status") else None
    page = asking.call("list", limit=_RECENT)
    passes = asking.call("dreams", limit=1).passes if asking.may("dreams") else ()
    names = asking.call("entities", limit=_NAMES).entities
    return Shown(
        "home.html", {"condition": condition, "recent": page.memories, "names": names, "rested": next(iter(passes), None)}
    )


def remember(asking: Asking) -> Sent:
    """Keep a statement, from the first page or as the answer to an open question."""
    made = asking.call("remember", text=asking.text("text"))
    return Sent(place(f"/memory/{made.id}", done="kept"))
