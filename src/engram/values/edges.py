"""Edges between memories: their kinds, and the numbers by which their confidence moves."""

from __future__ import annotations

from datetime import datetime

from engram.values.frozen import frozen

MERGED_FROM = "merged_from"

ACYCLIC = frozenset(
    {"derived_from", "learned_from", "caused_by", "instance_of", "inferred_from", "part_of", "follows", "merged_from"}
)
"""Kinds that lead from a result to its origin. A cycle of them would make something its own origin."""

DERIVED = frozenset({"derived_from", "learned_from", "inferred_from", "merged_from"})
"""Kinds by which a memory contains words of its origin, and therefore inherits its sensitivity (§10.24.2)."""

OUTDATING = frozenset({"supersedes", "outdates"})
"""Kinds that lead from a memory to one that it replaces, wholly or in part."""

REVISIONS = OUTDATING | {"contradicts"}

LASTING = ACYCLIC | REVISIONS
"""Kinds that do not fade, because they state what happened. All others are associations."""


@frozen(kw_only=True)
class EdgeWeights:
    """The numbers by which the confidence of an edge moves (M15)."""

    edge_reinforce: float = 0.1  # confidence gained when an edge is stated again
    edge_grace_days: float = 30.0  # how long an edge that is not stated again keeps its confidence
    edge_fade: float = 0.1  # confidence lost in every 30 days after that
    edge_floor: float = 0.2  # edges less confident than this are not followed


@frozen
class Edge:
    """A typed, weighted and dated link from one memory to another, by id."""

    source: str
    target: str
    kind: str
    weight: float = 1.0
    confidence: float = 1.0
    created_at: datetime | None = None
    reinforced_at: datetime | None = None  # the last time it was confirmed
