"""What the writer does around its transactions: padding, the log, file times (§10.4, §10.6)."""

from __future__ import annotations

from dataclasses import dataclass, field

import apsw

from engram.env import Env
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder
from engram.store.sqlite import open as opening
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.silence import Silence, hide_times


@dataclass(slots=True)
class Opened:
    """What opening the vault established: handed to the store once, closed by it."""

    folder: VaultFolder
    key: opening.DatabaseKey
    audit_key: bytearray
    lock: VaultLock
    crashed_before: bool = False
    read_only: bool = False
    unchecked: bool = False
    warnings: list[str] = field(default_factory=list)


class Tides:
    def __init__(self, opened: Opened, live: LiveSettings, env: Env) -> None:
        self._opened = opened
        self._live = live
        self._silence = Silence(lambda: live.now, env)
        self._log_pages = 0

    def opened(self, connection: apsw.Connection) -> None:
        connection.set_wal_hook(self._grew)
        self._silence.prime(connection, self._opened.folder.wal)

    def fold_in(self, connection: apsw.Connection) -> bool:
        """Empty the log of what it held; False if a reader still uses it."""
        try:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        self._silence.prime(connection, self._opened.folder.wal)
        return True

    def before_commit(self, connection: apsw.Connection) -> None:
        keep = self._live.now.change_log_rows
        connection.execute("DELETE FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - ?", (keep,))
        self._silence.settle(connection)

    def after_commit(self, connection: apsw.Connection) -> None:
        if self._log_pages >= self._live.now.wal_pages:
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        if self._live.now.neutral_times:
            hide_times(self._opened.folder)

    def closing(self, connection: apsw.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        self._silence.shrink(connection)
        connection.execute("COMMIT")
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    def _grew(self, connection: apsw.Connection, database: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK
