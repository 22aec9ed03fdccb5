"""The backfill of missing vectors: of memories stored while the encoder was away, and of all after a change of model."""

from __future__ import annotations

from collections.abc import Callable

from engram.capture.embeddings import fill
from engram.errors import EmbedderUnavailable
from engram.log import Log
from engram.models.embedders import Embedder
from engram.models.embedding_endpoints import RemoteEmbedder
from engram.store.ports import Store
from engram.types import Reader

log = Log("engram")


class Backfill:
    """Makes missing vectors once per change of the vault. `reader`: the owner, as whom all scopes are read."""

    def __init__(self, store: Store, reader: Reader) -> None:
        self.done_to = -1
        """Number of the latest change whose vectors are made; -1 if the next run must look."""
        self._store, self._reader = store, reader

    def run(self, embedder: Embedder | None, page: int, rest: Callable[[], bool]) -> None:
        """Make missing vectors if the encoder answers. rest: pauses between pages; True ends the run."""
        latest = self._store.changes.latest(self._reader)
        if embedder is None or latest == self.done_to:
            return
        if isinstance(embedder, RemoteEmbedder) and embedder.trouble:
            return
        self.done_to = latest
        try:
            made = fill(self._store, self._reader, embedder, page=page, rest=rest)
        except EmbedderUnavailable:
            self.done_to = -1  # try again later; after other errors only once something has changed
            raise
        if made:
            log.info("%d missing vectors were made", made)
