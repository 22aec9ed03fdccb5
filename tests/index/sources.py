"""Rows for the tests of the index: from a real vault, with vectors in clusters like those of real text."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from store.vaults import OWNER, connect, sqlite_store

from engram.env import Env
from engram.index.vectors.matrix import encode
from engram.models.embedders import Vectors, unit
from engram.store.folder import VaultFolder
from engram.store.limits import StoreLimits
from engram.types import Memory, Scope, Status

SPACE = "words"
DIMENSIONS = 32


def clustered(count: int, seed: int, *, dimensions: int = DIMENSIONS, clusters: int = 40, spread: float = 0.9) -> Vectors:
    """Unit vectors around shared centres; the same centres for every seed."""
    centres = np.random.default_rng(1).normal(size=(clusters, dimensions))
    dice = np.random.default_rng(seed)
    return unit(centres[dice.integers(0, clusters, count)] + spread * dice.normal(size=(count, dimensions)))


class VaultSource:
    """A vault of the real store, with methods to write memories and vectors to it."""

    def __init__(self, path: Path, env: Env | None = None, **settings: object) -> None:
        self.path = path
        # Other tests cover the integrity check at opening.
        self.store = sqlite_store(path, env, tuning=[StoreLimits(check_inline_mib=0)], **settings)

    def close(self) -> None:
        self.store.close()

    def add(self, vectors: Vectors, scope: Scope = Scope(), **fields: Any) -> list[Memory]:
        """Add one memory per vector."""
        texts = [f"thing {number}" for number in range(len(vectors))]
        kept = self.store.memories.add(OWNER, [Memory(text=text, scope=scope, **fields) for text in texts])
        self.put([memory.key for memory in kept], vectors)
        return kept

    def put(self, keys: Sequence[int], vectors: Vectors) -> None:
        stored = dict(zip(keys, encode(vectors), strict=True))
        self.store.vectors.put(OWNER, SPACE, stored, model="test", dimensions=vectors.shape[1])

    def set_status(self, memory: Memory, status: Status) -> None:
        self.store.memories.set_status(OWNER, memory.id, status, "a test")

    def erase(self, *memories: Memory) -> None:
        self.store.erasure.erase(OWNER, [memory.id for memory in memories])

    def cut_log(self) -> None:
        """Truncate the change log to its last entry, as happens when it grows too long."""
        with closing(connect(VaultFolder(self.path).database)) as connection:
            connection.execute("DELETE FROM changes WHERE seq < (SELECT max(seq) FROM changes)")
