"""What is known of the world that memories tell of: who and what there is, and what holds of it. Values, as in `types`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from engram.types import Memory


@dataclass(frozen=True, slots=True)
class Entity:
    """Somebody or something that memories name: its name, what it is, what else it is called, how often and when."""

    name: str
    kind: str
    names: tuple[str, ...] = ()
    mentions: int = 0
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class Belief:
    """A fact and how it is held: `status` is held, contested or retracted; `memory` is the one that says it.

    What nobody said and follows from others is `inferred`: its memory is empty, and `premises` are those it follows from.
    """

    subject: str
    predicate: str
    object: str
    status: str
    confidence: float
    since: datetime | None
    until: datetime | None
    memory: str
    premises: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """All about an entity: what holds of it now, what it is named together with, and what was told of it, newest first."""

    entity: Entity
    facts: tuple[Belief, ...]
    relations: tuple[tuple[str, int], ...]
    timeline: tuple[Memory, ...]
