"""The lock between processes: shared by all that have the vault open, exclusive for maintenance.

It is SQLite's own file lock on an empty file beside the database: it works the same on every platform, and the operating
system releases it when its process dies.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from engram.env import Env
from engram.errors import DiskFull, VaultBusy
from engram.store.folder import touch_private
from engram.store.sqlite.connection import engram_error


def begin_with_retry(connection: apsw.Connection, begin: str, patience_s: float, env: Env) -> None:
    """Run the statement `begin`, retrying while another process holds the lock, in short waits so that no process starves."""
    deadline = env.monotonic() + patience_s
    while True:
        try:
            connection.execute(begin)
            return
        except apsw.BusyError:
            if env.monotonic() >= deadline:
                raise


class VaultLock:
    """A lock on one file, shared or exclusive."""

    def __init__(self, path: Path, env: Env) -> None:
        self._path = path
        self._env = env
        self._connection: apsw.Connection | None = None

    def acquire_shared(self, patience_s: float) -> None:
        """Take the shared lock; wait up to `patience_s` while another process holds the exclusive one, else raise VaultBusy."""
        self._hold("BEGIN", patience_s, "a repair, restore or rotation is under way in another process")

    def acquire_exclusive(self, patience_s: float) -> None:
        """Take the exclusive lock; wait up to `patience_s` while another process has the vault open, else raise VaultBusy."""
        self._hold("BEGIN EXCLUSIVE", patience_s, "other processes have this vault open")

    def try_exclusive(self) -> bool:
        try:
            self.acquire_exclusive(0.0)
        except VaultBusy:
            return False
        return True

    def release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _hold(self, begin: str, patience_s: float, why_not: str) -> None:
        connection = self._detach() or self._connect()
        begun = self._env.monotonic()
        while True:
            try:
                connection.execute(begin)
                connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # a plain BEGIN locks nothing yet
                break
            except apsw.BusyError:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                from engram.deadline import wait_limit  # late, for start-up time: only needed to wait

                if self._env.monotonic() - begun >= wait_limit(patience_s):
                    connection.close()
                    raise VaultBusy(f"{why_not}.") from None
                self._env.sleep(0.02)
            except apsw.Error as error:
                connection.close()
                raise engram_error(error, "taking the vault's lock") from error
        self._connection = connection

    def _detach(self) -> apsw.Connection | None:
        """End the present hold; return its connection for reuse."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.execute("ROLLBACK")
        return connection

    def _connect(self) -> apsw.Connection:
        try:
            touch_private(self._path)
        except OSError as error:
            raise DiskFull(f"the vault's lock {self._path} cannot be made ({error.strerror}).") from error
        try:
            return apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        except apsw.Error as error:
            raise engram_error(error, "taking the vault's lock") from error
