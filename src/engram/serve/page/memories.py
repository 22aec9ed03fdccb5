"""Pages about memories: the first page, the list with its filters, a memory in full, and the forms that change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from engram.errors import InvalidQuery, NotFound
from engram.rules.lifecycle import Layer, layer_of
from engram.serve.operations.operation import AnyStatus
from engram.serve.page import recall
from engram.serve.page.entities import named
from engram.serve.page.request import PageRequest, PageView, Redirect, place
from engram.types import Kind, Memory, Sensitivity, scope_values
from engram.values.entities import Belief
from engram.values.episodes import Episode, Skill
from engram.values.memories import VALID

_RECENT = 8  # memories on the first page
_NAMES = 12  # entities on the first page
_PAGE = 30  # memories a page
_MAX_PAGES = 5  # pages of the list that are read for one page with a filter that the list does not have
_SUBJECTS = 6
_LINKS = 24
_VERSIONS = 20
_SKILLS = 1000
_FILTERS = ("kind", "category", "status", "layer", "of", "since", "until", "attribute", *recall.NAMES)


# ── the first page ────────────────────────────────────────────────────────────────────────────────────────────────────


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
    return Redirect(place(f"/memory/{memory.id}", done="kept" if memory.status in VALID else "retired"))


# ── the list ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def browse(request: PageRequest) -> PageView:
    """A page of the memories that fit the filters."""
    filters = {name: request.text(name) for name in _FILTERS}
    memories, cursor, notes = _page(request, filters, request.text("cursor"))
    values = {
        "filters": filters,
        "memories": memories,
        "notes": notes,
        "cursor": cursor,
        "begun": bool(request.text("cursor")),
        "kinds": [kind.value for kind in Kind],
        "statuses": get_args(AnyStatus),
        "layers": [layer.value for layer in Layer],
    }
    return PageView("memories.html", values)


def _page(request: PageRequest, filters: Mapping[str, str], cursor: str) -> tuple[list[Memory], str | None, Sequence[str]]:
    """Return a page of fitting memories, the cursor of the next, and notes on unknown names.

    The operation `list` cannot filter by layer or scope, so up to five of its pages are read for one page of those.
    """
    fitting: list[Memory] = []
    notes: Sequence[str] = ()
    next_cursor: str | None = cursor
    for _ in range(_MAX_PAGES):
        page = request.call(
            "list",
            limit=_PAGE,
            kind=filters["kind"],
            category=filters["category"],
            status=filters["status"],
            since=request.day("since"),
            until=request.day("until", end=True),
            attributes=_attribute(filters["attribute"]),
            cursor=next_cursor,
            **recall.named(filters),
        )
        fitting += [memory for memory in page.memories if _fits(memory, filters)]
        next_cursor, notes = page.cursor, page.notes
        if next_cursor is None or not (filters["layer"] or filters["of"]) or len(fitting) >= _PAGE:
            break
    return fitting, next_cursor, notes


def _fits(memory: Memory, filters: Mapping[str, str]) -> bool:
    return filters["layer"] in ("", layer_of(memory).value) and (not filters["of"] or filters["of"] in scope_values(memory.scope))


def _attribute(text: str) -> dict[str, str] | None:
    name, sign, value = text.partition("=")
    if text and not (sign and name.strip()):
        raise InvalidQuery("an attribute is written as name=value.")
    return {name.strip(): value.strip()} if text else None


# ── one memory ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def memory(request: PageRequest) -> PageView:
    """A memory with its provenance, versions, links and facts, and the forms that change it."""
    id = request.path["id"]
    details = request.call("show", id=id)
    names = named(request, details.memory, details.metadata)
    links = sorted(details.edges, key=lambda edge: -edge.weight)[:_LINKS]
    versions = sorted(details.versions, key=lambda version: -version.number)[:_VERSIONS]
    values = {
        "whole": details,
        "memory": details.memory,
        "standing": request.call("standing", id=id),
        "links": links,
        "others": request.memories([end for edge in links for end in (edge.source, edge.target) if end != id]),
        "versions": versions,
        "facts": _facts(request, details.memory, [name for name, _ in names]),
        "named": names,
        "episode": _episode(request, details.memory),
        "skill": _skill(request, details.memory),
        "tiers": [tier.value for tier in Sensitivity],
    }
    return PageView("memory.html", values)


def _facts(request: PageRequest, memory: Memory, names: Sequence[str]) -> list[Belief]:
    """Return the facts about these names that were learned from this memory."""
    facts: list[Belief] = []
    for name in names[:_SUBJECTS]:
        beliefs = request.call("beliefs", subject=name, past=True).beliefs
        facts += [belief for belief in beliefs if belief.memory == memory.id]
    return list(dict.fromkeys(facts))


def _episode(request: PageRequest, memory: Memory) -> Episode | None:
    """Return the steps of an episode, or None: an episode that was only mentioned, not recorded, has none."""
    if memory.kind is not Kind.EPISODE:
        return None
    try:
        episode: Episode = request.call("episode", id=memory.id)
    except NotFound:
        return None
    return episode


def _skill(request: PageRequest, memory: Memory) -> Skill | None:
    """Return the steps and success rate of a skill, or None if the memory is not one."""
    if memory.kind is not Kind.SKILL:
        return None
    listed = request.call("skills", limit=_SKILLS).skills
    return next((entry.skill for entry in listed if entry.skill.id == memory.id), None)


# ── changing it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def update(request: PageRequest) -> Redirect:
    """Change text, importance and tier. Unchanged fields are not sent: the operation would count them as changes."""
    id, changes = request.path["id"], dict[str, Any]()
    old: Memory = request.call("get", id=id)
    if (text := request.form.get("text", "").replace("\r\n", "\n").strip()) and text != old.text:
        changes["text"] = text
    importance = request.number("importance", 0.0, 1.0)
    if importance is not None and abs(importance - old.importance) > 0.005:  # the form shows two decimals
        changes["importance"] = importance
    if (tier := request.text("tier")) and tier != old.tier.value:
        changes["tier"] = tier
    if changes:
        request.call("update", id=id, **changes, unchanged_since=request.text("since"))
    return _back(request, "changed" if changes else "same")


def pin(request: PageRequest) -> Redirect:
    """Pin or unpin a memory."""
    on = request.text("pinned") == "1"
    request.call("pin", id=request.path["id"], pinned=on)
    return _back(request, "pinned" if on else "unpinned")


def move(request: PageRequest) -> Redirect:
    """Promote or demote a memory by one layer."""
    request.call("promote" if request.text("to") == "up" else "demote", id=request.path["id"])
    return _back(request, "moved")


def restore(request: PageRequest) -> Redirect:
    """Restore an archived memory."""
    request.call("restore", id=request.path["id"])
    return _back(request, "restored")


def flag(request: PageRequest) -> Redirect:
    """Flag a memory as a prompt injection, or clear the flag."""
    on = request.text("flagged") == "1"
    request.call("update", id=request.path["id"], flagged=on)
    return _back(request, "flagged" if on else "cleared")


def relate(request: PageRequest) -> Redirect:
    """Link a memory to another."""
    kind = request.text("kind").replace(" ", "_") or None
    request.call("relate", source=request.path["id"], target=request.text("target"), kind=kind)
    return _back(request, "linked")


def feedback(request: PageRequest) -> Redirect:
    """Store whether a memory helped, or a correction of it."""
    correction, helpful = request.text("correction"), request.text("helpful")
    if not correction and helpful not in ("0", "1"):
        raise InvalidQuery("the feedback is empty.", way_out="Say whether the memory helped, or what is true instead.")
    corrected = request.call(
        "feedback",
        id=request.path["id"],
        helpful=None if correction else helpful == "1",
        query=request.text("query"),
        correction=correction,
    )
    if correction:
        return Redirect(place(f"/memory/{corrected.id}", done="corrected"))
    return _back(request, "helped" if helpful == "1" else "unhelpful")


def confirm_forget(request: PageRequest) -> PageView:
    """Ask for confirmation, with a count of the rows that erasing would remove."""
    id = request.path["id"]
    memory, gone = request.call("get", id=id), request.call("forget", ids=[id], erase=True, dry_run=True)
    return PageView("forget.html", {"memory": memory, "gone": gone})


def forget(request: PageRequest) -> Redirect:
    """Archive or erase a memory."""
    id, erase = request.path["id"], request.text("erase") == "1"
    request.call("forget", ids=[id], erase=erase, reason=request.text("reason"))
    return Redirect(place("/memories", done="erased")) if erase else _back(request, "forgotten")


def _back(request: PageRequest, done: str) -> Redirect:
    """Return to the page with the form: the search with its filters, the review, or the memory itself."""
    id, query = request.path["id"], request.text("query")
    if request.text("from") == "search" and query:
        filters = {name: request.text(name) for name in recall.FILTERS}
        return Redirect(place("/search", q=query, **filters, done=done, _mark=f"m-{id}"))
    if request.text("from") == "review":
        return Redirect(place("/review", done=done))
    return Redirect(place(f"/memory/{id}", done=done))
