"""The verbs of embeddings: make missing vectors, ask whether a memory lacks one."""

from __future__ import annotations

from engram.capture.embeddings import SPACE
from engram.types import Memory
from engram.verbs.view import View


def backfill(view: View, *, anew: bool = False) -> int:
    """Make the missing vectors of memories that this reader may write, or as the owner with `anew` all; return their number."""
    return view.vault.remake_vectors(view.reader) if anew else view.vault.observer.backfill(view.reader)


def lacks_vector(view: View, memory: Memory) -> bool:
    """Return True if the memory has no vector yet, so that it is found by its words alone."""
    first = view.vault.store.vectors.missing(view.reader, SPACE, after=memory.key - 1, limit=1)
    return bool(first) and first[0][0] == memory.key
