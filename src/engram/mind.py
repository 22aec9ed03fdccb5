"""The parts that think, for one open vault: encoder, vector index, what hears and what answers. Made when first needed."""

from __future__ import annotations

import threading
from functools import cached_property

from engram.capture.observe import SPACE, Observer
from engram.env import Env
from engram.index.vectors.live import LiveIndex
from engram.models import catalog
from engram.models.embed import Embedder, OnnxEmbedder
from engram.recall.search import Searcher
from engram.settings import LiveSettings
from engram.store.sqlite.store import SqliteStore
from engram.types import Policy, Reader, Role

_OWNER = Reader(policy=Policy.ALL, role=Role.OWNER)
_SHARED: dict[str, OnnxEmbedder] = {}
"""One encoder a process for each model: its files are read once, however many vaults are open."""


class Mind:
    def __init__(self, store: SqliteStore, live: LiveSettings, env: Env, embedder: Embedder | None) -> None:
        self._store = store
        self._live = live
        self._env = env
        self._given = embedder
        self._lock = threading.Lock()
        self._index: LiveIndex | None = None

    @cached_property
    def embedder(self) -> Embedder | None:
        """The encoder that was given, or the one that is installed; None for words alone."""
        name = self._live.now.model
        if self._given is not None or name == "none":
            return self._given
        model = catalog.find(catalog.DEFAULT if name == "auto" else name)
        return _SHARED.setdefault(model.name, OnnxEmbedder(model)) if model.installed() else None

    @property
    def index(self) -> LiveIndex | None:
        embedder = self.embedder
        if embedder is None:
            return None
        with self._lock:
            if self._index is None:
                self._index = LiveIndex(self._store, _OWNER, SPACE, embedder.dimensions, self._live)
                self._index.start()
            return self._index

    @cached_property
    def observer(self) -> Observer:
        return Observer(self._store, self.embedder, self.index, self._live, self._env)

    @cached_property
    def searcher(self) -> Searcher:
        return Searcher(self._store, self.embedder, self.index, self._live, self._env)

    def close(self) -> None:
        with self._lock:
            if self._index is not None:
                self._index.close()
                self._index = None
