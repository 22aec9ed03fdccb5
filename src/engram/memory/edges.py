"""Following links (M15): from some memories outwards, by the surest ways, a few links far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from engram.frozen import frozen
from engram.links import is_faded, sure_at
from engram.settings import Settings
from engram.types import Edge

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
