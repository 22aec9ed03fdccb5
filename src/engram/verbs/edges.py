"""The verbs of edges between memories: add, list and follow them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from engram.recall import traversal
from engram.types import Edge
from engram.values.episodes import ReachedMemory
from engram.verbs.view import View, require_positive


def relate(view: View, source_id: str, target_id: str, kind: str = "related_to", *, weight: float = 1.0) -> int:
    """Add an edge between two memories; return the number of edges written."""
    edge = Edge(source_id, target_id, kind, weight)
    return view.write_once(("relate", edge), partial(view.vault.store.edges.put, view.reader, [edge]), str, int)


def edges(view: View, *ids: str) -> Sequence[Edge]:
    """Return the edges of these memories."""
    return view.vault.store.edges.of(view.reader, ids)


def traverse(view: View, memory_id: str, *, depth: int = 2, kinds: Sequence[str] = ()) -> Sequence[ReachedMemory]:
    """Return the memories linked to one, up to `depth` edges away, the strongest first; by edges of these kinds, or of any.

    Each has the relation that follows from the edges between (`infer`): a part of a part is a part. At most 1,000.
    """
    require_positive("depth", depth)
    vault = view.vault
    return traversal.traverse(vault.store, view.reader, vault.live, memory_id, depth=depth, kinds=kinds, now=vault.env.now())
