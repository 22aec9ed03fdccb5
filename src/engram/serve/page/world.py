"""Who and what the memories name, all about one of them, and what happened in its order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import groupby

from engram.serve.page.asking import Asking, Shown
from engram.text.entities import KINDS
from engram.text.metadata import Metadata
from engram.types import Memory

_ENTITIES = 200
_CHIPS = 12
_FIELDS = {
    "person": "people",
    "organisation": "organisations",
    "project": "projects",
    "technology": "technologies",
    "place": "places",
}


def entities(asking: Asking) -> Shown:
    kind = asking.text("kind")
    found = asking.call("entities", kind=kind, limit=_ENTITIES).entities
    return Shown("entities.html", {"entities": found, "kind": kind, "kinds": KINDS})


def entity(asking: Asking) -> Shown:
    name = asking.text("name")
    profile = asking.call("entity", name=name, limit=60)
    beliefs = asking.call("beliefs", subject=profile.entity.name, past=True, inferred=True).beliefs
    values = {"profile": profile, "beliefs": beliefs, "months": by_month(profile.timeline)}
    return Shown("entity.html", values)


def timeline(asking: Asking) -> Shown:
    about = asking.text("about")
    values: dict[str, object] = {"about": about, "since": asking.text("since"), "until": asking.text("until"), "told": None}
    if about:
        told = asking.call("timeline", about=about, since=asking.day("since"), until=asking.day("until", end=True), limit=200)
        values |= {"told": told, "months": by_month(told.memories), "revised": {one.other: one for one in told.revisions}}
    else:
        values["names"] = asking.call("entities", limit=_CHIPS).entities
    return Shown("timeline.html", values)


def named(asking: Asking, memory: Memory, about: Metadata) -> list[tuple[str, str]]:
    """Who and what a memory names, with what each is: as its words tell by themselves, and names that are known here."""
    found = {name.casefold(): (name, kind) for kind, field in _FIELDS.items() for name in getattr(about, field)}
    words = memory.text.casefold()
    for one in asking.call("entities", limit=_ENTITIES).entities:
        if any(_stands_in(name.casefold(), words) for name in (one.name, *one.names)):
            found[one.name.casefold()] = (one.name, one.kind)
    return list(found.values())


def _stands_in(name: str, words: str) -> bool:
    return name in words and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words) is not None


def by_month(memories: Sequence[Memory]) -> list[tuple[str, list[Memory]]]:
    """Under the month in which it happened, in the order given."""
    return [(month, list(some)) for month, some in groupby(memories, _month)]


def _month(memory: Memory) -> str:
    when: datetime | None = memory.happened_at or memory.learned_at
    return f"{when:%B %Y}" if when is not None else "At no known time"
