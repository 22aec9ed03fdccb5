"""Wait until the vector index of an open vault is loaded, so that a measurement does not include its loading."""

from __future__ import annotations

from engram.engine import Engram
from engram.index.vectors.live import LiveIndex


def index_of(vault: Engram) -> LiveIndex | None:
    """Return the vector index of an open vault, or None without an encoder."""
    return vault._vault.index


def warm(vault: Engram, patience: float) -> bool:
    """Wait up to `patience` seconds for the index, and return whether it is loaded or not needed.

    A recall before that is answered without vectors.
    """
    index = index_of(vault)
    return index is None or index.warm(patience)


def settle(vault: Engram, patience: float) -> bool:
    """Wait as `warm` does, and for the index to reach its final tier too, which takes longer and affects only speed."""
    index = index_of(vault)
    return index is None or (index.settle(patience) and index.ready)
