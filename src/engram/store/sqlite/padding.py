"""File sizes in coarse steps and neutral file times, so that the file system tells an observer little about use.

The database keeps free pages inside itself (encrypted like all others). Writes use them up; when they run low, the file
grows by whole buckets within the same transaction, so that no committed state has a size between two buckets. The free
room that triggers growth is drawn at random each time, which blurs the moment (§10.4.3). The write-ahead log is
written to its full length before the first write of a session and then reused from its start.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import apsw

from engram.env import Env
from engram.settings import Settings
from engram.store.folder import VaultFolder, neutralise
from engram.store.limits import StoreLimits
from engram.store.sqlite.connection import PAGE_BYTES
from engram.store.sqlite.locks import begin_with_retry
from engram.values.frozen import mutable

_PRIMING = 64
"""Pages rewritten in one round of priming, and kept free for it."""

_PAD_BYTES = 3900
"""Bytes of a padding row: more than fits beside another in a page, less than a page, so that a row is about a page."""


@mutable
class Padding:
    """Grows and shrinks one database in whole buckets, inside the writer's transactions."""

    settings: Callable[[], Settings]
    env: Env
    limits: StoreLimits = StoreLimits()
    _reserve: int = -1

    @property
    def bucket(self) -> int:
        """Pages in a bucket; 0 when padding is off."""
        return self.settings().size_bucket_kib * 1024 // PAGE_BYTES

    def pad(self, connection: apsw.Connection) -> None:
        """Grow the file to the end of a bucket if it left one or free room ran low. Called before a commit."""
        if not self.bucket:
            return
        if self._reserve < 0:
            self._draw()
        pages, free = _pages(connection)
        if pages % self.bucket == 0 and free > self._reserve:
            return
        self.grow(connection, at_least=self._reserve + 1)
        self._draw()

    def grow(self, connection: apsw.Connection, *, at_least: int) -> None:
        """Add free pages until there are `at_least` and the file ends with a bucket."""
        pages, free = _pages(connection)
        short = max(at_least - free, 0)
        target = -(-(pages + short) // self.bucket) * self.bucket if self.bucket else pages + short
        _fill(connection, free + target - pages)
        pages, free = _pages(connection)
        # Pointer-map and leaf pages make the count inexact: top up row by row to the very end of the bucket.
        while self.bucket and pages % self.bucket:
            connection.execute("INSERT INTO padding (bytes) VALUES (zeroblob(?))", (_PAD_BYTES,))
            pages, free = _pages(connection)
        connection.execute("DELETE FROM padding")

    def shrink(self, connection: apsw.Connection) -> None:
        """Return whole buckets of free pages to the file system, keeping those that priming the next session's log needs."""
        if not self.bucket:
            connection.execute("PRAGMA incremental_vacuum").fetchall()
            return
        _, free = _pages(connection)
        surplus = (free - _PRIMING - self.bucket) // self.bucket * self.bucket
        if surplus > 0:
            connection.execute(f"PRAGMA incremental_vacuum({surplus})").fetchall()
        self.pad(connection)

    def prime(self, connection: apsw.Connection, log: Path) -> None:
        """Write the log to its full length, so that its size does not reveal single writes.

        The log grows further only with a transaction that lengthens the database by a bucket, which is visible anyway. Free
        pages are rewritten round after round without syncing: the next real commit syncs the whole file.
        """
        if not self.bucket:
            return
        length = (self.limits.wal_pages + _PRIMING) * PAGE_BYTES
        connection.execute("PRAGMA synchronous = OFF")
        try:
            # Bounded: other processes may restart the log meanwhile.
            for _ in range(2 * length // (_PRIMING * PAGE_BYTES)):
                if log.exists() and log.stat().st_size >= length:
                    break
                begin_with_retry(connection, "BEGIN IMMEDIATE", self.settings().write_patience_s, self.env)
                if _pages(connection)[1] < _PRIMING:
                    self.grow(connection, at_least=_PRIMING)
                _fill(connection, _PRIMING)
                connection.execute("DELETE FROM padding")
                connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute(f"PRAGMA synchronous = {self.settings().synchronous}")
        checkpoint_if_free(connection)

    def lengthen(self, log: Path, pages: int) -> None:
        """Bring the log to a length of its own before the only commit of a brief store, inside that transaction, when nobody else
        touches the log.

        The bytes are random, and SQLite takes none of them for a page: 0.1 ms instead of the 3 ms that priming takes."""
        short = pages * PAGE_BYTES - log.stat().st_size
        if self.bucket and short > 0:
            with log.open("ab") as file:
                file.write(self.env.random(short))

    def _draw(self) -> None:
        self._reserve = self.env.below(self.limits.size_jitter_kib * 1024 // PAGE_BYTES + 1)


def checkpoint_if_free(connection: apsw.Connection) -> None:
    """Copy the log into the database, unless another process is doing so."""
    with contextlib.suppress(apsw.BusyError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)


def hide_times(folder: VaultFolder) -> None:
    """Give every file and folder of the vault the neutral date."""
    for path in (folder.header, folder.turn, folder.fill, *folder.index.glob("*.snap"), folder.index, folder.backups):
        neutralise(path)
    for path in (folder.database, folder.wal, folder.path / "vault.db-shm", folder.lock, folder.path):
        neutralise(path)  # the folder last: its date shows when a file in it was made or removed


def _pages(connection: apsw.Connection) -> tuple[int, int]:
    """Return the number of pages, and of free pages among them."""
    count = connection.execute("PRAGMA page_count").get
    free = connection.execute("PRAGMA freelist_count").get
    return int(count), int(free)


def _fill(connection: apsw.Connection, pages: int) -> None:
    """Use up about this many pages, free ones first."""
    if pages > 1:
        connection.execute("INSERT INTO padding (bytes) VALUES (zeroblob(?))", ((pages - 1) * _PAD_BYTES,))
