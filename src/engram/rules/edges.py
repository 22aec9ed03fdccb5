"""Edges (M15): confidence that rises when an edge is stated again and fades when it is not, and traversal along edges. Pure.

Time alone writes nothing: the confidence of an edge now is computed from when it was last reinforced. Some kinds must not form a
cycle (`ACYCLIC`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from engram.types import Edge
from engram.values.edges import LASTING, MERGED_FROM, EdgeWeights
from engram.values.frozen import frozen, replace

_IN_SIGHT = 36_500.0  # days


def confidence_at(edge: Edge, now: datetime, weights: EdgeWeights) -> float:
    """Return the confidence of an edge now: after a grace period it falls linearly, but not below half of `edge_floor`."""
    last_seen = edge.reinforced_at or edge.created_at
    if edge.kind in LASTING or last_seen is None:
        return edge.confidence
    idle = now - last_seen - timedelta(days=weights.edge_grace_days)
    lost = max(idle / timedelta(days=30), 0.0) * weights.edge_fade
    return max(edge.confidence - lost, min(edge.confidence, weights.edge_floor / 2))


def is_faded(edge: Edge, now: datetime, weights: EdgeWeights) -> bool:
    """True if the edge's confidence is too low for it to be followed."""
    return confidence_at(edge, now, weights) < weights.edge_floor


def fades_at(edge: Edge, weights: EdgeWeights) -> datetime | None:
    """Return when the edge will have faded if it is not reinforced; None if that is over 100 years away."""
    last_seen = edge.reinforced_at or edge.created_at
    if edge.kind in LASTING or last_seen is None or not weights.edge_floor or not weights.edge_fade:
        return None
    days = weights.edge_grace_days + 30.0 * max(edge.confidence - weights.edge_floor, 0.0) / weights.edge_fade
    return last_seen + timedelta(days=days) if days < _IN_SIGHT else None


def reinforced(known: Edge, stated: Edge, now: datetime, weights: EdgeWeights) -> Edge:
    """Return a known edge reinforced by a new statement of it: one step more confident, or as confident as the statement."""
    confidence = min(confidence_at(known, now, weights) + weights.edge_reinforce, 1.0)
    return Edge(
        stated.source,
        stated.target,
        stated.kind,
        stated.weight,
        max(confidence, min(stated.confidence, 1.0)),
        known.created_at,
        reinforced_at=now,
    )


def inherited(edges: Sequence[Edge], old: str, heir: str) -> list[Edge]:
    """Return the edges of a merged memory as its heir has them, but for merges and for edges between the two."""
    passed_on = []
    for edge in edges:
        source, target = (heir if end == old else end for end in (edge.source, edge.target))
        if edge.kind != MERGED_FROM and source != target:
            passed_on.append(replace(edge, source=source, target=target))
    return passed_on


EdgesOf = Callable[[Sequence[str]], Sequence[Edge]]


@frozen
class EdgePath:
    """A path to a memory: the number of edges, the product of their strengths, and their kinds in order."""

    distance: int
    strength: float
    by: tuple[str, ...]


def traverse(
    starts: Sequence[str],
    edges_of: EdgesOf,
    now: datetime,
    weights: EdgeWeights,
    *,
    depth: int = 2,
    kinds: Sequence[str] = (),
) -> dict[str, EdgePath]:
    """Return the memories reachable along edges in either direction with the strongest path to each; `starts` are left out.

    The strength of an edge is its weight times its confidence now; an edge less confident than `edge_floor` is not followed. Each
    step reads the edges of all memories that the step before reached, in one call.
    """
    paths = {start: EdgePath(0, 1.0, ()) for start in starts}
    frontier = set(paths)
    for distance in range(1, depth + 1):
        reached: dict[str, EdgePath] = {}
        for edge in edges_of(sorted(frontier)):
            if is_faded(edge, now, weights) or (kinds and edge.kind not in kinds):
                continue
            strength = confidence_at(edge, now, weights) * min(max(edge.weight, 0.0), 1.0)
            for near_end, far_end in ((edge.source, edge.target), (edge.target, edge.source)):
                if near_end in frontier and far_end not in paths:
                    path = EdgePath(distance, paths[near_end].strength * strength, (*paths[near_end].by, edge.kind))
                    reached[far_end] = max(reached.get(far_end, path), path, key=lambda path: path.strength)
        paths |= reached
        frontier = set(reached)
        if not frontier:
            break
    return {far_end: path for far_end, path in paths.items() if path.distance}
