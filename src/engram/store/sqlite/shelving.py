"""Where an index keeps what takes long to make again: files in `index/`, sealed under the vault's key for snapshots.

Nothing here is true that is not in the database, and deleting it costs only time. A file counts only if the database knows
the number it begins with, written by the transaction that put it in place: beside a database that was put back to an
earlier state, or beside another process's later file, it is none.

Erasing must leave nothing here, whatever other processes are doing. So a writer makes its file first and only then looks
what there is to write, and whoever erases commits first and only then removes every file: one made before that is gone
when it is to get its name, and one made after it never had the erased.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

from engram.crypto.ciphers import SealedFileReader, SealedFileWriter
from engram.errors import DiskFull, EncryptionFailed
from engram.guard.visibility import require_owner
from engram.log import Log
from engram.store.folder import hide_snapshot_times, sync_folder
from engram.store.sqlite.gate import Path
from engram.types import Reader

log = Log("engram.store")

_NUMBER_BYTES = 8


class Shelving(Path):
    """Mixed into the store."""

    @contextmanager
    def snapshot(self, reader: Reader, name: str) -> Iterator[SealedFileReader | None]:
        """What was put away under this name, if it is still good; reading it may raise EncryptionFailed."""
        require_owner(reader, "the snapshot of an index")
        with self._readers.use("a snapshot") as connection:
            known = connection.execute("SELECT value FROM meta WHERE name = ?", (_meta(name),)).get
        try:
            file = (self._opened.folder.index / f"{name}.snap").open("rb")
        except OSError:
            yield None
            return
        with file:
            yield self._opener(file, name, known)

    def has_snapshot(self, name: str) -> bool:
        return (self._opened.folder.index / f"{name}.snap").exists()

    def put_snapshot(self, reader: Reader, name: str, fill: Callable[[SealedFileWriter], int]) -> bool:
        """Put away what `fill` writes (it says how many rows); it is called once the file is made. False if it was erased."""
        require_owner(reader, "the snapshot of an index")
        if self._opened.read_only or self._writer.damage is not None or self._closed:
            return False
        folder = self._opened.folder
        number = int.from_bytes(self._env.random(_NUMBER_BYTES)) >> 1
        part = folder.index / f"{self._env.random(8).hex()}.part"
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

            placed = self._write(reader, "snapshot", place, count=count)
            sync_folder(folder.index)
        except OSError as error:
            raise DiskFull(f"the snapshot of an index could not be written ({error.strerror}).") from error
        finally:
            part.unlink(missing_ok=True)
            self._hide_index_times()
        return placed

    def _write_part(self, part: os.PathLike[str], name: str, number: int, fill: Callable[[SealedFileWriter], int]) -> int:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            sealer = SealedFileWriter(file, self._opened.snapshot_key, name, self._env.random)
            sealer.write(number.to_bytes(_NUMBER_BYTES))
            count = fill(sealer)
            bucket = self._live.now.size_bucket_kib * 1024
            if bucket:  # sizes move in steps, as the database's do
                sealer.write(bytes(-sealer.written % bucket))
            sealer.finish()
            file.flush()
            os.fsync(file.fileno())
        return count

    def _opener(self, file: object, name: str, known: object) -> SealedFileReader | None:
        try:
            opener = SealedFileReader(file, self._opened.snapshot_key, name)  # type: ignore[arg-type]
            if int.from_bytes(opener.read(_NUMBER_BYTES)) == known:
                return opener
            log.info("the snapshot of an index belongs to another state of the vault; it is not used")
        except EncryptionFailed as error:
            log.warning("the snapshot of an index is not used: %s", error)
        except OSError as error:
            log.warning("the snapshot of an index cannot be read: %s", error.strerror)
        return None

    def _hide_index_times(self) -> None:
        if self._live.now.neutral_times:
            hide_snapshot_times(self._opened.folder)


def forget_numbers(connection: apsw.Connection) -> None:
    """From this commit on no snapshot counts."""
    connection.execute("DELETE FROM meta WHERE name >= 'snapshot:' AND name < 'snapshot;'")


def _meta(name: str) -> str:
    return f"snapshot:{name}"
