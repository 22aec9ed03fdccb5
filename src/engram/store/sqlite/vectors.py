"""Vectors of memories by space, and the sealed snapshots of a vector index.

A space holds the vectors of one model. A snapshot counts only while its number is in `meta`; erasing deletes all numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import apsw

from engram.crypto.ciphers import SealedFileReader, SealedFileWriter
from engram.errors import DimensionMismatch, DiskFull, EncryptionFailed
from engram.guard.visibility import Visibility, readable, require_owner, require_writer, writable
from engram.log import Log
from engram.store.folder import hide_snapshot_times, sync_folder
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import rows
from engram.store.sqlite.visibility import predicate
from engram.store.validation import (
    check_vectors,
)
from engram.types import (
    Memory,
    Reader,
    Space,
)
from engram.values.query import Filter

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_STORED = "CASE tier WHEN 'confidential' THEN project(?) ELSE ? END"
"""SQL of the stored form of a vector, projected for a confidential memory."""


_ENDS = 256
"""Memories checked at either end: vectors are missing from before a model was installed, or since it was removed."""

log = Log("engram.store")

_NUMBER_BYTES = 8


class Vectors:
    """Vectors of memories by space, and the sealed snapshots of a vector index."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def space(self, name: str) -> Space | None:
        """Return a space with its model and dimensions; None if there is no such space."""
        with self._gate.readers.use("vectors") as connection:
            found: list[Any] = connection.execute("SELECT name, model, dimensions FROM spaces WHERE name = ?", (name,)).fetchall()
        return next((Space(*row) for row in found), None)

    def visible(self, reader: Reader, space: str, *, where: Filter = Filter()) -> Iterator[tuple[int, bytes]]:
        """Yield the keys and vectors that this reader may search."""
        with self._gate.read(reader, "vectors") as connection:
            self._gate.note(reader, "vectors")
            yield from vectors(connection, readable(reader), where, space)

    def missing(self, reader: Reader, space: str, *, after: int, limit: int) -> list[tuple[int, str, str, str]]:
        """Return active memories without a vector in a space: (key, speaker, text, passage, empty if the text is encoded)."""
        with self._gate.read(reader, "backlog") as connection:
            return without_vector(connection, readable(reader), space, after, limit)

    def lacks(self, reader: Reader, space: str) -> bool:
        """Return True if some of the oldest or newest memories have no vector."""
        with self._gate.read(reader, "backlog") as connection:
            return lacks_some(connection, readable(reader), space)

    def rows(self, reader: Reader, space: str, *, after: int, limit: int) -> list[Any]:
        """Return the rows of a vector index of the whole vault, in key order."""
        require_owner(reader, "the rows of a vector space")
        with self._gate.readers.use("vectors") as connection:
            return space_rows(connection, space, "m.key > ? ORDER BY m.key LIMIT ?", (after, limit))

    def size(self, reader: Reader, space: str) -> int:
        """Return an upper bound of the rows of a space. Counting vectors would read them all; an index counts memories."""
        require_owner(reader, "the rows of a vector space")
        with self._gate.readers.use("vectors") as connection:
            return int(connection.execute("SELECT count(*) FROM memories").get)

    def rows_of(self, reader: Reader, space: str, keys: Sequence[int]) -> list[Any]:
        """Return the rows of these memories for a vector index."""
        require_owner(reader, "the rows of a vector space")
        found: list[Any] = []
        with self._gate.readers.use("vectors") as connection:
            for start in range(0, len(keys), 500):
                some = keys[start : start + 500]
                found += space_rows(connection, space, f"m.key IN ({', '.join('?' * len(some))})", some)
        return found

    def put(
        self,
        reader: Reader,
        space: str,
        vectors: Mapping[int, bytes],
        *,
        model: str,
        dimensions: int,
        said: Mapping[int, str] | None = None,
    ) -> int:
        """Store vectors; return how many. `said`: the texts they were made from; a memory with another text by now is skipped."""
        with self._gate.watched(reader, "put_vectors"):
            require_writer(reader)
            check_vectors(vectors, dimensions)
            owned, target = writable(reader), Space(space, model, dimensions)
            return self._gate.write(
                reader,
                "put_vectors",
                lambda connection: put_vectors(connection, owned, target, vectors, said),
                count=len(vectors),
            )

    def clear(self, reader: Reader, space: str) -> int:
        """Delete a space and its vectors, so that another model can use it; return how many there were."""
        with self._gate.watched(reader, "clear_space"):
            require_owner(reader, "rebuilding vectors")
            return self._gate.write(reader, "clear_space", lambda connection: clear_space(connection, space))

    @contextmanager
    def snapshot(self, reader: Reader, name: str) -> Iterator[SealedFileReader | None]:
        """Open the snapshot of this name if it is still valid; reading it may raise EncryptionFailed."""
        require_owner(reader, "the snapshot of an index")
        with self._gate.readers.use("a snapshot") as connection:
            known = connection.execute("SELECT value FROM meta WHERE name = ?", (_meta(name),)).get
        try:
            file = (self._gate.opened.folder.index / f"{name}.snap").open("rb")
        except OSError:
            yield None
            return
        with file:
            yield self._opener(file, name, known)

    def has_snapshot(self, name: str) -> bool:
        """Return True if there is a snapshot file of this name, valid or not."""
        return (self._gate.opened.folder.index / f"{name}.snap").exists()

    def put_snapshot(self, reader: Reader, name: str, fill: Callable[[SealedFileWriter], int]) -> bool:
        """Write a snapshot with `fill`, which returns the number of rows; False if an erasure came between."""
        require_owner(reader, "the snapshot of an index")
        if self._gate.opened.read_only or self._gate.writer.damage is not None or self._gate.closed:
            return False
        folder = self._gate.opened.folder
        number = int.from_bytes(self._gate.env.random(_NUMBER_BYTES)) >> 1
        part = folder.index / f"{self._gate.env.random(8).hex()}.part"
        try:
            folder.index.mkdir(mode=0o700, exist_ok=True)
            folder.index.chmod(0o700)
            count = self._write_part(part, name, number, fill)

            def place(connection: apsw.Connection) -> bool:
                try:
                    part.replace(folder.index / f"{name}.snap")
                except FileNotFoundError:
                    return False
                connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_meta(name), number))
                return True

            placed = self._gate.write(reader, "snapshot", place, count=count)
            sync_folder(folder.index)
        except OSError as error:
            raise DiskFull(f"the snapshot of an index could not be written ({error.strerror}).") from error
        finally:
            part.unlink(missing_ok=True)
            self._hide_index_times()
        return placed

    def _write_part(self, part: os.PathLike[str], name: str, number: int, fill: Callable[[SealedFileWriter], int]) -> int:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            sealer = SealedFileWriter(file, self._gate.opened.snapshot_key, name, self._gate.env.random)
            sealer.write(number.to_bytes(_NUMBER_BYTES))
            count = fill(sealer)
            bucket = self._gate.live.now.size_bucket_kib * 1024
            if bucket:  # sizes move in steps, as the database's do
                sealer.write(bytes(-sealer.written % bucket))
            sealer.finish()
            file.flush()
            os.fsync(file.fileno())
        return count

    def _opener(self, file: object, name: str, known: object) -> SealedFileReader | None:
        try:
            opener = SealedFileReader(file, self._gate.opened.snapshot_key, name)  # type: ignore[arg-type]
            if int.from_bytes(opener.read(_NUMBER_BYTES)) == known:
                return opener
            log.info("the index snapshot belongs to another state of the vault; it is not used")
        except EncryptionFailed as error:
            log.warning("the index snapshot does not verify and is not used: %s", error)
        except OSError as error:
            log.warning("the index snapshot cannot be read: %s", error.strerror)
        return None

    def _hide_index_times(self) -> None:
        if self._gate.live.now.neutral_times:
            hide_snapshot_times(self._gate.opened.folder)


def put(connection: apsw.Connection, memory: int, space: int, vector: bytes) -> None:
    """Store the vector of a memory that has none."""
    sql = f"INSERT INTO embeddings (memory, space, vector) SELECT key, ?, {_STORED} FROM memories WHERE key = ?"
    connection.execute(sql, (space, vector, vector, memory))


def put_new(connection: apsw.Connection, memory: int, space: Space | None, vector: bytes | None) -> None:
    """Store the vector of a memory inserted in this transaction, unless the space belongs to another model."""
    key = own_space(connection, space) if vector else None
    if vector and key is not None:
        put(connection, memory, key, vector)


def vectors(connection: apsw.Connection, seen: Visibility, where: Filter, space: str) -> Iterable[tuple[int, bytes]]:
    visible, values = predicate(seen, "m.scope")
    extra, more = rows.conditions(where)
    sql = f"""
        SELECT e.memory, {sealed.VECTOR}
          FROM embeddings AS e JOIN memories AS m ON m.key = e.memory
         WHERE e.space = (SELECT key FROM spaces WHERE name = ?) AND {visible}{extra}
         ORDER BY e.memory
    """
    return connection.execute(sql, (space, *values, *more))


def space_key(connection: apsw.Connection, space: Space) -> int:
    """Return the key of a space, created if new. Raises DimensionMismatch if it holds another model or length."""
    connection.execute(
        "INSERT OR IGNORE INTO spaces (name, model, dimensions) VALUES (?, ?, ?)", (space.name, space.model, space.dimensions)
    )
    key, model, dimensions = connection.execute(
        "SELECT key, model, dimensions FROM spaces WHERE name = ?", (space.name,)
    ).fetchall()[0]
    if (model, dimensions) != (space.model, space.dimensions):
        raise DimensionMismatch(
            f"the vector space {space.name!r} holds {dimensions} dimensions of the model {model!r},"
            f" not {space.dimensions} of {space.model!r}."
        )
    return int(key)  # type: ignore[arg-type]


def own_space(connection: apsw.Connection, space: Space | None) -> int | None:
    """Return the key of a space, created if new; None if it holds another model."""
    try:
        return None if space is None else space_key(connection, space)
    except DimensionMismatch:
        return None


def put_vectors(
    connection: apsw.Connection,
    owned: Visibility,
    space: Space,
    vectors: Mapping[int, bytes],
    said: Mapping[int, str] | None = None,
) -> int:
    """Store vectors of writable memories; with `said`, only of those whose text is still the one the vector was made from."""
    key = space_key(connection, space)
    if said is not None:
        vectors = {memory: vector for memory, vector in vectors.items() if _says(connection, memory, said[memory])}
    visible, values = predicate(owned, "scope")
    sql = f"""
        INSERT OR REPLACE INTO embeddings (memory, space, vector)
        SELECT key, ?, {_STORED} FROM memories WHERE key = ? AND {visible}
    """
    before = connection.total_changes()
    connection.executemany(sql, ((key, vector, vector, memory, *values) for memory, vector in vectors.items()))
    put = connection.total_changes() - before
    connection.executemany(
        f"INSERT INTO changes (memory, what) SELECT key, 'vector' FROM memories WHERE key = ? AND {visible}",
        ((memory, *values) for memory in vectors),
    )
    return put


def _says(connection: apsw.Connection, key: int, text: str) -> bool:
    sql = f"SELECT {sealed.read_words('text')} FROM contents AS c JOIN memories AS m ON m.key = c.memory WHERE m.key = ?"
    return bool(connection.execute(sql, (key,)).get == text)


def space_rows(connection: apsw.Connection, space: str, condition: str, values: Sequence[int]) -> list[Any]:
    """Return the rows of a vector index. `condition`: SQL of this module."""
    sql = f"""
        SELECT m.key, m.scope, m.kind, m.status, m.category, coalesce(m.happened_at, m.learned_at), {sealed.VECTOR}
          FROM memories AS m JOIN embeddings AS e ON e.memory = m.key
         WHERE e.space = (SELECT key FROM spaces WHERE name = ?) AND {condition}
    """
    return connection.execute(sql, (space, *values)).fetchall()


def without_vector(
    connection: apsw.Connection, seen: Visibility, space: str, after: int, limit: int
) -> list[tuple[int, str, str, str]]:
    """Return active memories without a vector in a space: (key, speaker, text, passage)."""
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT m.key, m.speaker, {sealed.read_words("text")}, {sealed.read_words("passage")}
          FROM memories AS m JOIN contents AS c ON c.memory = m.key
         WHERE m.key > ? AND m.status IN ('active', 'challenged') AND {visible} AND NOT EXISTS
               (SELECT 1 FROM embeddings WHERE memory = m.key AND space = (SELECT key FROM spaces WHERE name = ?))
         ORDER BY m.key LIMIT ?
    """
    found: list[Any] = connection.execute(sql, (after, *values, space, limit)).fetchall()
    return found


def lacks_some(connection: apsw.Connection, seen: Visibility, space: str) -> bool:
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT EXISTS (SELECT 1 FROM memories AS m
         WHERE (m.key < (SELECT min(key) FROM memories) + {_ENDS} OR m.key > (SELECT max(key) FROM memories) - {_ENDS})
           AND m.status IN ('active', 'challenged') AND {visible} AND NOT EXISTS
               (SELECT 1 FROM embeddings WHERE memory = m.key AND space = (SELECT key FROM spaces WHERE name = ?)))
    """
    return bool(connection.execute(sql, (*values, space)).get)


def pending(connection: apsw.Connection, seen: Visibility) -> int:
    """Return the number of active memories without a vector in any space."""
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT count(*) FROM memories AS m
         WHERE m.status IN ('active', 'challenged') AND {visible} AND NOT EXISTS (SELECT 1 FROM embeddings WHERE memory = m.key)
    """
    return int(connection.execute(sql, values).get)


def clear_space(connection: apsw.Connection, name: str) -> int:
    """Delete a space and its vectors; return how many there were."""
    gone = "SELECT memory FROM embeddings WHERE space = (SELECT key FROM spaces WHERE name = ?)"
    connection.execute(f"INSERT INTO changes (memory, what) SELECT memory, 'vector' FROM ({gone})", (name,))
    before = connection.total_changes()
    connection.execute("DELETE FROM embeddings WHERE space = (SELECT key FROM spaces WHERE name = ?)", (name,))
    removed = connection.total_changes() - before
    questions = "UPDATE feedback SET vector = x'', space = NULL WHERE space = (SELECT key FROM spaces WHERE name = ?)"
    connection.execute(questions, (name,))
    connection.execute("DELETE FROM spaces WHERE name = ?", (name,))
    return removed


def invalidate_snapshots(connection: apsw.Connection) -> None:
    """Invalidate all snapshots, in the open transaction."""
    connection.execute("DELETE FROM meta WHERE name >= 'snapshot:' AND name < 'snapshot;'")


def _meta(name: str) -> str:
    return f"snapshot:{name}"


def put_vector(connection: apsw.Connection, reader: Reader, memory: Memory, vector: bytes | None, space: Space | None) -> None:
    """Store the vector of one memory, unless the vault's space belongs to another model."""
    if vector is not None and space is not None and own_space(connection, space) is not None:
        put_vectors(connection, writable(reader), space, {memory.key: vector})
