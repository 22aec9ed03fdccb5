"""The verbs of entities: profiles and timelines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.errors import InvalidQuery
from engram.text.english.entities import KINDS
from engram.types import Memory
from engram.values.entities import Entity, Profile, Timeline
from engram.verbs import recall
from engram.verbs.view import View, require_name, require_positive


def entity(view: View, name: str, *, limit: int = 100) -> Profile | None:
    """Return the profile of a person, place or thing: names, roles, facts, latest memories; None if it is unknown.

    It is found by its name, by another name of it ("@ada", "my manager") or, with an encoder, by a name of the same meaning. A
    role means the one who has it now; `holders` of the profile are all who have or had it, with their times.
    """
    require_positive("limit", limit)
    return view.entities.profile(require_name(name), limit)


def entities(view: View, *, kind: str | None = None, limit: int = 50) -> Sequence[Entity]:
    """Return the entities that memories name, the most named first; `kind`: only people, places and so on."""
    if kind is not None and kind not in KINDS:
        raise InvalidQuery(f"unknown kind; the kinds are {', '.join(KINDS)}.")
    require_positive("limit", limit)
    return view.vault.store.entities.select(view.reader, kind=kind, limit=limit)


def timeline(
    view: View, about: str, *, since: datetime | None = None, until: datetime | None = None, limit: int = 50
) -> Timeline:
    """Return the memories of an entity or topic in the order in which they happened, and how many fall into each period.

    Corrected memories are included, marked by their status; `revisions` name their corrections.
    """
    require_positive("limit", limit)

    def search(topic: str) -> list[Memory]:
        return [hit.memory for hit in recall.recall(view, topic)]  # with a limit, memories far from the topic would come too

    return view.entities.timeline(require_name(about), since, until, limit, search)
