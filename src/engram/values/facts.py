"""Values that pass between a store's facts and the rules on them: stored facts, outcomes, and what follows for memories."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from engram.values.edges import Edge
from engram.values.entities import Mention
from engram.values.frozen import frozen
from engram.values.memories import Fact

SUPERSEDES, OUTDATES, CONTRADICTS, PAST = "supersedes", "outdates", "contradicts", "past"
"""Outcomes for a known memory. All but `past` are kinds of edges too."""


@frozen
class ParsedText:
    """The facts that a memory states and the entities that it mentions."""

    facts: tuple[Fact, ...] = ()
    mentions: tuple[Mention, ...] = ()


@frozen(kw_only=True)
class StoredFact:
    """A fact in the store with what a ruling needs of its memory. `dated`: the start was stated, not assumed. `weight`: the
    strength of the evidence as a number."""

    memory: int
    number: int
    fact: Fact
    since: datetime | None
    said: datetime | None
    dated: bool
    memory_id: str
    confidence: float
    weight: float
    pinned: bool
    text: str
    speaker: str


@frozen
class FactOutcome:
    """The outcome for a known memory of a new fact: superseded, outdated in one fact, or contradicted. `past`: the known fact
    stands from `since` on, and the new one held before it."""

    older: str
    link: str
    confidence: float
    since: datetime | None = None


class Occasion(StrEnum):
    """The reason why the facts of a memory are compared with others."""

    STATED = "stated"
    CORROBORATED = "corroborated"
    REINSTATED = "reinstated"
    SETTLED = "settled"


@frozen(kw_only=True)
class Consequences:
    """Consequences for memories: new edges, memories to supersede or to challenge with the reason, memories that lost a fact, and
    the confidence of the memory that was compared."""

    confidence: float
    edges: tuple[Edge, ...] = ()
    superseded: tuple[tuple[str, str], ...] = ()
    challenged: tuple[tuple[str, str], ...] = ()
    weakened: tuple[str, ...] = ()
