"""Wait until a vault's vectors are at hand: for faces that ask once and go, and for measurements."""

from __future__ import annotations

from engram.engine import Engram
from engram.index.vectors.live import LiveIndex


def index_of(vault: Engram) -> LiveIndex | None:
    """The vectors of an open vault; None where there is no encoder."""
    return vault._vault.index


def warm(vault: Engram, patience: float) -> bool:
    """Is the vector index loaded, or none needed, within `patience` seconds? A recall that does not wait makes do with less."""
    index = index_of(vault)
    return index is None or index.warm(patience)


def settle(vault: Engram, patience: float) -> bool:
    """Is it also in its final tier? That takes longer, and only speed hangs on it: for measurements."""
    index = index_of(vault)
    return index is None or (index.settle(patience) and index.ready)
