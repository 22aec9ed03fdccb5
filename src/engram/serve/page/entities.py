"""The pages of entities: the list, the profile of one, and timelines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from engram.serve.page.request import PageRequest, PageView, Redirect, place
from engram.text.english.entities import KINDS
from engram.text.metadata import Metadata
from engram.types import Memory
from engram.values.entities import EntityAction

_ENTITIES = 200
_CHIPS = 12
_FIELDS = {
    "person": "people",
    "organisation": "organisations",
    "project": "projects",
    "technology": "technologies",
    "place": "places",
}


def entities(request: PageRequest) -> PageView:
    """The list of entities, of all kinds or of one."""
    kind = request.text("kind")
    found = request.call("entities", kind=kind, limit=_ENTITIES).entities
    return PageView("entities.html", {"entities": found, "kind": kind, "kinds": KINDS})


def entity(request: PageRequest) -> PageView:
    """The profile of an entity with its facts and memories."""
    name = request.text("name")
    profile = request.call("entity", name=name)
    beliefs = request.call("beliefs", subject=profile.entity.name, past=True, inferred=True).beliefs
    values = {
        "profile": profile,
        "beliefs": [*beliefs, *profile.object_of],
        "months": by_month(profile.timeline),
        "decisions": request.call("entity_decisions", name=profile.entity.name).decisions,
        "actions": [action.value for action in EntityAction],
    }
    return PageView("entity.html", values)


def decide(request: PageRequest) -> Redirect:
    """Store a decision on an entity by hand."""
    decision = request.call(
        "decide_entity",
        name=request.text("name"),
        action=request.text("action"),
        other=request.text("other"),
        memories=request.text("memories").split(),
        reason=request.text("reason"),
    )
    is_other = decision.action in (EntityAction.MERGE, EntityAction.RENAME)
    return Redirect(place("/entity", name=decision.other if is_other else decision.name, done="decided"))


def undo(request: PageRequest) -> Redirect:
    """Take a decision on an entity back."""
    decision = request.call("undo_entity_decision", id=request.text("id"))
    return Redirect(place("/entity", name=decision.name, done="undone"))


def timeline(request: PageRequest) -> PageView:
    """The memories about an entity or topic in the order in which they happened."""
    about = request.text("about")
    values: dict[str, object] = {"about": about, "since": request.text("since"), "until": request.text("until"), "told": None}
    if about:
        line = request.call("timeline", about=about, since=request.day("since"), until=request.day("until", end=True), limit=200)
        revised = {revision.other: revision for revision in line.revisions}
        values |= {"told": line, "months": by_month(line.memories), "revised": revised}
    else:
        values["names"] = request.call("entities", limit=_CHIPS).entities
    return PageView("timeline.html", values)


def named(request: PageRequest, memory: Memory, about: Metadata) -> list[tuple[str, str]]:
    """Return name and kind of the entities in a memory's text: those in its metadata, and those that the vault knows."""
    names = {name.casefold(): (name, kind) for kind, field in _FIELDS.items() for name in getattr(about, field)}
    text = memory.text.casefold()
    for entity in request.call("entities", limit=_ENTITIES).entities:
        if any(_contains_name(text, name.casefold()) for name in (entity.name, *entity.names)):
            names[entity.name.casefold()] = (entity.name, entity.kind)
    return list(names.values())


def _contains_name(text: str, name: str) -> bool:
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def by_month(memories: Sequence[Memory]) -> list[tuple[str, list[Memory]]]:
    """Group memories, in the order given, by the month in which they happened."""
    return [(month, list(group)) for month, group in groupby(memories, _month)]


def _month(memory: Memory) -> str:
    when: datetime | None = memory.happened_at or memory.learned_at
    return f"{when:%B %Y}" if when is not None else "At no known time"
