"""How links behave: surer when they are seen again, fainter when nobody did for long, and some kinds never in a circle.

Nothing is written for time that passes: how sure a link is now follows from when it was last seen.

Following links (M15): from some memories outwards, by the surest ways, a few links far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from engram.settings import Settings
from engram.types import Edge
from engram.values.frozen import frozen

ACYCLIC = frozenset(
    {"derived_from", "learned_from", "caused_by", "instance_of", "inferred_from", "part_of", "follows", "merged_from"}
)
"""Kinds that lead from what came of something to what it came from. A circle of them would say that something came of itself."""

DERIVED = frozenset({"derived_from", "learned_from", "inferred_from", "merged_from"})
"""Kinds by which something has the words of what it came from: it is kept as closely (§10.24.2)."""

OUTDATING = frozenset({"supersedes", "outdates"})
"""What took the place of something, or of a part of it."""

REVISIONS = OUTDATING | {"contradicts"}

LASTING = ACYCLIC | REVISIONS
"""What was so stays so: these do not fade. All others are associations."""

_IN_SIGHT = 36_500.0  # days


def sure_at(edge: Edge, now: datetime, settings: Settings) -> float:
    """How sure the link is now: after a grace period it fades in a straight line, and never below the floor."""
    seen = edge.reinforced_at or edge.created_at
    if edge.kind in LASTING or seen is None:
        return edge.confidence
    idle = now - seen - timedelta(days=settings.edge_grace_days)
    lost = max(idle / timedelta(days=30), 0.0) * settings.edge_fade
    return max(edge.confidence - lost, min(edge.confidence, settings.edge_floor / 2))


def is_faded(edge: Edge, now: datetime, settings: Settings) -> bool:
    """Is it not sure enough any more to be followed?"""
    return sure_at(edge, now, settings) < settings.edge_floor


def fades_at(edge: Edge, settings: Settings) -> datetime | None:
    """When it will be, if nobody sees it again; None if that is not in sight."""
    seen = edge.reinforced_at or edge.created_at
    if edge.kind in LASTING or seen is None or not settings.edge_floor or not settings.edge_fade:
        return None
    days = settings.edge_grace_days + 30.0 * max(edge.confidence - settings.edge_floor, 0.0) / settings.edge_fade
    return seen + timedelta(days=days) if days < _IN_SIGHT else None


def seen_again(known: Edge, told: Edge, now: datetime, settings: Settings) -> Edge:
    """A link that is told once more: as sure as it is now and a step surer, or as sure as it is told."""
    surer = min(sure_at(known, now, settings) + settings.edge_reinforce, 1.0)
    return Edge(
        told.source,
        told.target,
        told.kind,
        told.weight,
        max(surer, min(told.confidence, 1.0)),
        known.created_at,
        reinforced_at=now,
    )


EdgesOf = Callable[[Sequence[str]], Sequence[Edge]]


@frozen
class Way:
    """How a memory is reached: links away, the product of what each link carries, and their kinds in order."""

    distance: int
    strength: float
    by: tuple[str, ...]


def walk(
    starts: Sequence[str],
    edges_of: EdgesOf,
    now: datetime,
    settings: Settings,
    *,
    depth: int = 2,
    kinds: Sequence[str] = (),
) -> dict[str, Way]:
    """Memories that links lead to, either way round, the strongest way of each; `starts` are not among them.

    A link carries its weight times how sure it is now; one that is less sure than `edge_floor` is not followed. Each step asks
    for the links of all that the last one reached, at once.
    """
    ways = {start: Way(0, 1.0, ()) for start in starts}
    edge = set(ways)
    for distance in range(1, depth + 1):
        reached: dict[str, Way] = {}
        for link in edges_of(sorted(edge)):
            if is_faded(link, now, settings) or (kinds and link.kind not in kinds):
                continue
            carried = sure_at(link, now, settings) * min(max(link.weight, 0.0), 1.0)
            for here, there in ((link.source, link.target), (link.target, link.source)):
                if here in edge and there not in ways:
                    way = Way(distance, ways[here].strength * carried, (*ways[here].by, link.kind))
                    reached[there] = max(reached.get(there, way), way, key=lambda one: one.strength)
        ways |= reached
        edge = set(reached)
        if not edge:
            break
    return {there: way for there, way in ways.items() if way.distance}
