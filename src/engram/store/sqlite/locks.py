"""Taking turns between processes: everyone who has the vault open shares a lock; maintenance holds it alone.

The lock is SQLite's own, on an empty file beside the database. It works alike on every platform, and the operating
system lets go of it when its process dies, however it dies.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from engram.env import Env
from engram.errors import DiskFull, VaultBusy
from engram.store.folder import touch_private
from engram.store.sqlite.connection import explain


def take_turn(connection: apsw.Connection, begin: str, patience_s: float, env: Env) -> None:
    """Begin a transaction once other processes let us, in short tries so that none starves behind a long sleeper."""
    deadline = env.monotonic() + patience_s
    while True:
        try:
            connection.execute(begin)
            return
        except apsw.BusyError:
            if env.monotonic() >= deadline:
                raise


class VaultLock:
    def __init__(self, path: Path, env: Env) -> None:
        self._path = path
        self._env = env
        self._connection: apsw.Connection | None = None

    def share(self, patience_s: float) -> None:
        """Have the vault open along with others; waits while someone has it alone."""
        self._hold("BEGIN", patience_s, "a repair, restore or rotation is under way in another process")

    def alone(self, patience_s: float) -> None:
        """Have the vault to ourselves; fails while anyone else has it open."""
        self._hold("BEGIN EXCLUSIVE", patience_s, "other processes have this vault open")

    def try_alone(self) -> bool:
        try:
            self.alone(0.0)
        except VaultBusy:
            return False
        return True

    def release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _hold(self, begin: str, patience_s: float, why_not: str) -> None:
        connection = self._let_go() or self._connected()
        begun = self._env.monotonic()
        while True:
            try:
                connection.execute(begin)
                connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # a plain BEGIN locks nothing yet
                break
            except apsw.BusyError:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                from engram.deadline import wait_limit  # late: who need not wait does without

                if self._env.monotonic() - begun >= wait_limit(patience_s):
                    connection.close()
                    raise VaultBusy(f"{why_not}.") from None
                self._env.sleep(0.02)
            except apsw.Error as error:
                connection.close()
                raise explain(error, "taking the vault's lock") from error
        self._connection = connection

    def _let_go(self) -> apsw.Connection | None:
        """The connection that held it, for the next way of holding it."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.execute("ROLLBACK")
        return connection

    def _connected(self) -> apsw.Connection:
        try:
            touch_private(self._path)
        except OSError as error:
            raise DiskFull(f"the vault's lock {self._path} cannot be made ({error.strerror}).") from error
        try:
            return apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)
        except apsw.Error as error:
            raise explain(error, "taking the vault's lock") from error
