"""Follow the edges of a memory to the memories that it is related to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.errors import NotFound
from engram.recall.selection import without_flagged
from engram.rules.edges import confidence_at
from engram.rules.edges import traverse as walk
from engram.rules.inference import Relation, infer
from engram.settings import LiveSettings
from engram.store.ports import Store
from engram.types import Edge, Reader
from engram.values.edges import EdgeWeights
from engram.values.episodes import ReachedMemory

_DEEPEST = 6
_REACHED = 1000  # most memories of one traversal


def traverse(
    store: Store, reader: Reader, live: LiveSettings, memory_id: str, *, depth: int, kinds: Sequence[str], now: datetime
) -> Sequence[ReachedMemory]:
    """Return the memories within `depth` edges, the strongest paths first, each with the relation that follows from its path."""
    if not store.memories.get(reader, [memory_id]):
        raise NotFound("there is no memory of that id that this identity may see.")
    passed: dict[Edge, None] = {}

    def edges_of(ids: Sequence[str]) -> Sequence[Edge]:
        edges = store.edges.of(reader, ids)
        passed.update(dict.fromkeys(edges))
        return edges

    weights = live.tuned(EdgeWeights)
    paths = walk([memory_id], edges_of, now, weights, depth=min(depth, _DEEPEST), kinds=kinds)
    relations = [Relation(edge.source, edge.kind, edge.target, confidence_at(edge, now, weights), edge.source) for edge in passed]
    inferred = {fact.target: fact.kind.replace(" ", "_") for fact in reversed(infer(relations, memory_id))}
    strongest = sorted(paths, key=lambda reached: (-paths[reached].strength, paths[reached].distance, reached))[:_REACHED]
    memories = {memory.id: memory for memory in without_flagged(store.memories.get(reader, strongest), live.now)}
    return tuple(
        ReachedMemory(memories[reached], path.distance, path.strength, path.by, inferred.get(reached, ""))
        for reached, path in ((reached, paths[reached]) for reached in strongest if reached in memories)
    )
