"""Rows for the tests of the index: from a real vault, with vectors in clusters like those of real text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from store.vaults import OWNER, connect, sqlite_store

from engram.crypto.ciphers import SealedFileReader, SealedFileWriter
from engram.env import Env
from engram.guard.visibility import readable
from engram.index.vectors.matrix import encode
from engram.models.embedders import Vectors, unit
from engram.store.folder import VaultFolder
from engram.store.limits import StoreLimits
from engram.store.ports import SpaceRow
from engram.store.sqlite.rows import predicate
from engram.types import Memory, Reader, Scope, Space, Status

SPACE = "words"
DIMENSIONS = 32


def clustered(count: int, seed: int, *, dimensions: int = DIMENSIONS, clusters: int = 40, spread: float = 0.9) -> Vectors:
    """Unit vectors around shared centres; the same centres for every seed."""
    centres = np.random.default_rng(1).normal(size=(clusters, dimensions))
    dice = np.random.default_rng(seed)
    return unit(centres[dice.integers(0, clusters, count)] + spread * dice.normal(size=(count, dimensions)))


class VaultSource:
    """A `VectorSource` over a vault of the real store, with methods to write to it."""

    def __init__(self, path: Path, env: Env | None = None, **settings: object) -> None:
        self.path = path
        # Other tests cover the integrity check at opening.
        self.store = sqlite_store(path, env, tuning=[StoreLimits(check_inline_mib=0)], **settings)

    def close(self) -> None:
        self.store.close()

    # ── what the index asks ────────────────────────────────────────────────────────────────────────────────────────

    def space_rows(self, reader: Reader, space: str, *, after: int, limit: int) -> Sequence[SpaceRow]:
        return self._rows(space, "m.key > ? ORDER BY m.key LIMIT ?", (after, limit))

    def space_rows_of(self, reader: Reader, space: str, keys: Sequence[int]) -> Sequence[SpaceRow]:
        return self._rows(space, f"m.key IN ({', '.join('?' * len(keys))})", tuple(keys))

    def latest_change(self, reader: Reader) -> int:
        return int(self._read("SELECT coalesce(max(seq), 0) FROM changes")[0][0])

    def changed_keys(self, reader: Reader, after: int, limit: int) -> Sequence[tuple[int, int, str]]:
        return self._read("SELECT seq, memory, what FROM changes WHERE seq > ? ORDER BY seq LIMIT ?", (after, limit))

    def visible_scopes(self, reader: Reader) -> Collection[int] | None:
        visible, values = predicate(readable(reader), "key")
        return {key for (key,) in self._read(f"SELECT key FROM scopes WHERE {visible}", values)}

    def space(self, name: str) -> Space | None:
        return self.store.space(name)

    def space_size(self, reader: Reader, space: str) -> int:
        return self.store.space_size(reader, space)

    def snapshot(self, reader: Reader, name: str) -> AbstractContextManager[SealedFileReader | None]:
        return self.store.snapshot(reader, name)

    def has_snapshot(self, name: str) -> bool:
        return self.store.has_snapshot(name)

    def put_snapshot(self, reader: Reader, name: str, fill: Callable[[SealedFileWriter], int]) -> bool:
        return self.store.put_snapshot(reader, name, fill)

    # ── what the tests do ──────────────────────────────────────────────────────────────────────────────────────────

    def add(self, vectors: Vectors, scope: Scope = Scope(), **fields: Any) -> list[Memory]:
        """Add one memory per vector."""
        texts = [f"thing {number}" for number in range(len(vectors))]
        kept = self.store.add(OWNER, [Memory(text=text, scope=scope, **fields) for text in texts])
        self.put([memory.key for memory in kept], vectors)
        return kept

    def put(self, keys: Sequence[int], vectors: Vectors) -> None:
        stored = dict(zip(keys, encode(vectors), strict=True))
        self.store.put_vectors(OWNER, SPACE, stored, model="test", dimensions=vectors.shape[1])

    def set_status(self, memory: Memory, status: Status) -> None:
        self.store.set_status(OWNER, memory.id, status, "a test")

    def erase(self, *memories: Memory) -> None:
        self.store.erase(OWNER, [memory.id for memory in memories])

    def cut_log(self) -> None:
        """Truncate the change log to its last entry, as happens when it grows too long."""
        with closing(connect(VaultFolder(self.path).database)) as connection:
            connection.execute("DELETE FROM changes WHERE seq < (SELECT max(seq) FROM changes)")

    def _rows(self, space: str, condition: str, values: tuple[object, ...]) -> Sequence[SpaceRow]:
        return self._read(
            f"""
            SELECT m.key, m.scope, m.kind, m.status, m.category, coalesce(m.happened_at, m.learned_at), e.vector
              FROM embeddings AS e JOIN memories AS m ON m.key = e.memory
             WHERE e.space = (SELECT key FROM spaces WHERE name = ?) AND {condition}
            """,
            (space, *values),
        )

    def _read(self, sql: str, values: tuple[object, ...] = ()) -> list[Any]:
        with self.store._readers.use("a test") as connection:
            assert isinstance(connection, apsw.Connection)
            return connection.execute(sql, values).fetchall()
