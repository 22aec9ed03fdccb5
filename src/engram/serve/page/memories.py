"""Memories one by one and page by page: to look through, to read whole, to change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engram.errors import InvalidQuery, NotFound
from engram.kinds import Episode, Skill
from engram.known import Belief
from engram.memory.layers import Layer, layer_of
from engram.serve.page import searching
from engram.serve.page.asking import Asking, Sent, Shown, place
from engram.serve.page.world import named
from engram.types import Kind, Memory, Sensitivity, Status, scope_values

_A_PAGE = 30
_LOOKED_AT = 5
_SUBJECTS = 6
_LINKS = 24
_VERSIONS = 20
_SKILLS = 1000
_FILTERS = ("kind", "category", "status", "layer", "of", "since", "until", "attribute")


def browse(asking: Asking) -> Shown:
    filters = {name: asking.text(name) for name in _FILTERS}
    found, cursor = _page(asking, filters, asking.text("cursor"))
    values = {
        "filters": filters,
        "memories": found,
        "cursor": cursor,
        "begun": bool(asking.text("cursor")),
        "kinds": [one.value for one in Kind],
        "statuses": [*(one.value for one in Status), "any"],
        "layers": [one.value for one in Layer],
    }
    return Shown("memories.html", values)


def _page(asking: Asking, filters: Mapping[str, str], cursor: str) -> tuple[list[Memory], str | None]:
    """What fits, and where to go on. The list knows no layers and no other readers' scopes, so a few pages of it are read to find
    those."""
    found: list[Memory] = []
    on: str | None = cursor
    for _ in range(_LOOKED_AT):
        page = asking.call(
            "list",
            limit=_A_PAGE,
            kind=filters["kind"],
            category=filters["category"],
            status=filters["status"],
            since=asking.day("since"),
            until=asking.day("until", end=True),
            attributes=_attribute(filters["attribute"]),
            cursor=on,
        )
        found += [one for one in page.memories if _fits(one, filters)]
        on = page.cursor
        if on is None or not (filters["layer"] or filters["of"]) or len(found) >= _A_PAGE:
            break
    return found, on


def _fits(memory: Memory, filters: Mapping[str, str]) -> bool:
    return filters["layer"] in ("", layer_of(memory).value) and (not filters["of"] or filters["of"] in scope_values(memory.scope))


def _attribute(said: str) -> dict[str, str] | None:
    name, sign, value = said.partition("=")
    if said and not (sign and name.strip()):
        raise InvalidQuery("an attribute is said as name=value.")
    return {name.strip(): value.strip()} if said else None


# ── one of them ────────────────────────────────────────────────────────────────────────────────────────────────────────


def memory(asking: Asking) -> Shown:
    id = asking.path["id"]
    whole = asking.call("show", id=id)
    names = named(asking, whole.memory, whole.metadata)
    links = sorted(whole.edges, key=lambda edge: -edge.weight)[:_LINKS]
    versions = sorted(whole.versions, key=lambda one: -one.number)[:_VERSIONS]
    values = {
        "whole": whole,
        "memory": whole.memory,
        "standing": asking.call("standing", id=id),
        "links": links,
        "others": asking.memories([end for edge in links for end in (edge.source, edge.target) if end != id]),
        "versions": versions,
        "facts": _facts(asking, whole.memory, [name for name, _ in names]),
        "named": names,
        "episode": _episode(asking, whole.memory),
        "skill": _skill(asking, whole.memory),
        "tiers": [one.value for one in Sensitivity],
    }
    return Shown("memory.html", values)


def _facts(asking: Asking, memory: Memory, names: Sequence[str]) -> list[Belief]:
    """Facts of whom it names that this memory is the word for."""
    found: list[Belief] = []
    for name in names[:_SUBJECTS]:
        found += [one for one in asking.call("beliefs", subject=name, past=True).beliefs if one.memory == memory.id]
    return list(dict.fromkeys(found))


def _episode(asking: Asking, memory: Memory) -> Episode | None:
    """Its course, if it is something that was recorded as it went; what was only told of has none."""
    if memory.kind is not Kind.EPISODE:
        return None
    try:
        found: Episode = asking.call("episode", id=memory.id)
    except NotFound:
        return None
    return found


def _skill(asking: Asking, memory: Memory) -> Skill | None:
    """How it is done and how well, if it is a skill."""
    if memory.kind is not Kind.SKILL:
        return None
    found = asking.call("skills", limit=_SKILLS).skills
    return next((one.skill for one in found if one.skill.id == memory.id), None)


# ── changing it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def update(asking: Asking) -> Sent:
    """What is as it was is not sent: it would count as a change."""
    id, given = asking.path["id"], dict[str, Any]()
    old: Memory = asking.call("get", id=id)
    if (text := asking.form.get("text", "").replace("\r\n", "\n").strip()) and text != old.text:
        given["text"] = text
    importance = asking.number("importance", 0.0, 1.0)
    if importance is not None and abs(importance - old.importance) > 0.005:
        given["importance"] = importance
    if (tier := asking.text("tier")) and tier != old.tier.value:
        given["tier"] = tier
    if given:
        asking.call("update", id=id, **given, unchanged_since=asking.text("since"))
    return _back(asking, "changed" if given else "same")


def pin(asking: Asking) -> Sent:
    on = asking.text("pinned") == "1"
    asking.call("pin", id=asking.path["id"], pinned=on)
    return _back(asking, "pinned" if on else "unpinned")


def move(asking: Asking) -> Sent:
    asking.call("promote" if asking.text("to") == "up" else "demote", id=asking.path["id"])
    return _back(asking, "moved")


def restore(asking: Asking) -> Sent:
    asking.call("restore", id=asking.path["id"])
    return _back(asking, "restored")


def flag(asking: Asking) -> Sent:
    on = asking.text("flagged") == "1"
    asking.call("update", id=asking.path["id"], flagged=on)
    return _back(asking, "flagged" if on else "cleared")


def relate(asking: Asking) -> Sent:
    kind = asking.text("kind").replace(" ", "_") or None
    asking.call("relate", source=asking.path["id"], target=asking.text("target"), kind=kind)
    return _back(asking, "linked")


def feedback(asking: Asking) -> Sent:
    """Helpful, not, or what is true instead. It leads back to where it was given."""
    correction, said = asking.text("correction"), asking.text("helpful")
    if not correction and said not in ("0", "1"):
        raise InvalidQuery("nothing was said of it.", way_out="Say whether it helped, or what is true instead.")
    kept = asking.call(
        "feedback",
        id=asking.path["id"],
        helpful=None if correction else said == "1",
        query=asking.text("query"),
        correction=correction,
    )
    if correction:
        return Sent(place(f"/memory/{kept.id}", done="corrected"))
    return _back(asking, "helped" if said == "1" else "unhelpful")


def forgetting(asking: Asking) -> Shown:
    """Asks first, and says what would go."""
    id = asking.path["id"]
    found, gone = asking.call("get", id=id), asking.call("forget", ids=[id], erase=True, dry_run=True)
    return Shown("forget.html", {"memory": found, "gone": gone})


def forget(asking: Asking) -> Sent:
    id, erase = asking.path["id"], asking.text("erase") == "1"
    asking.call("forget", ids=[id], erase=erase, reason=asking.text("reason"))
    return Sent(place("/memories", done="erased")) if erase else _back(asking, "forgotten")


def _back(asking: Asking, done: str) -> Sent:
    """To where the form stood: a search as it was narrowed down, the review, or the memory itself."""
    id, query = asking.path["id"], asking.text("query")
    if asking.text("from") == "search" and query:
        filters = {name: asking.text(name) for name in searching.FILTERS}
        return Sent(place("/search", q=query, **filters, done=done, _mark=f"m-{id}"))
    if asking.text("from") == "review":
        return Sent(place("/review", done=done))
    return Sent(place(f"/memory/{id}", done=done))
