"""What the writer does around its transactions: padding, the log, file times (§10.4, §10.6)."""

from __future__ import annotations

import apsw

from engram.env import Env
from engram.frozen import field, mutable
from engram.guard.keys import KEY_BYTES, wipe
from engram.log import Log
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder
from engram.store.sqlite import open as opening
from engram.store.sqlite.binding import explain
from engram.store.sqlite.locks import VaultLock, take_turn
from engram.store.sqlite.silence import Silence, fold_in_if_free, hide_times

log = Log("engram.store.tides")


DIGEST_KEYS = "digest_keys"
"""Where `meta` has the keys of digests that a vault brought along when its own key was changed."""

_PAGES_LEFT = "the pages could not be rewritten, so traces may be left in them (encrypted): erase again once there is room."
_LOG_STILL_READ = "a reader was still using the log, so it keeps the erased pages (encrypted) until that reader is done."


@mutable
class Opened:
    """What opening the vault established: handed to the store once, closed by it."""

    folder: VaultFolder
    key: opening.DatabaseKey
    audit_key: bytearray = field(repr=False)
    lock: VaultLock = field(repr=False)
    snapshot_key: bytearray = field(repr=False, default_factory=bytearray)
    token_key: bytearray = field(repr=False, default_factory=bytearray)
    cursor_key: bytearray = field(repr=False, default_factory=bytearray)
    crashed_before: bool = False
    read_only: bool = False
    unchecked: bool = False
    warnings: list[str] = field(default_factory=list)

    def keep_digests(self, stored: object) -> None:
        """Go on with the keys of digests that a vault brought along when its own key was changed."""
        if isinstance(stored, bytes):
            wipe(self.audit_key)
            wipe(self.token_key)
            self.audit_key, self.token_key = bytearray(stored[:KEY_BYTES]), bytearray(stored[KEY_BYTES:])

    @property
    def immutable(self) -> bool:
        """Nothing can be written and there is no log: the file is all there is."""
        return self.read_only and not (self.folder.wal.exists() and self.folder.wal.stat().st_size)


class Tides:
    def __init__(self, opened: Opened, live: LiveSettings, env: Env) -> None:
        self._opened = opened
        self._live = live
        self._env = env
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
        try:
            self._silence.prime(connection, self._opened.folder.wal)
        except apsw.Error as error:  # what was asked for is done; the length of the log can wait
            log.warning("the log was not made to its full length: %s", explain(error, "priming").code)
        return True

    def scrub(self, connection: apsw.Connection) -> str:
        """Rewrite every page, because `secure_delete` does not reach the copies that moving cells about leaves in them.

        Returns what could not be done, as a sentence; empty if all was.
        """
        try:
            take_turn(connection, "VACUUM", self._live.now.write_patience_s, self._env)
            take_turn(connection, "BEGIN IMMEDIATE", self._live.now.write_patience_s, self._env)
            self._silence.settle(connection)
            connection.execute("COMMIT")
        except apsw.Error as error:  # the rows are gone; what is left of them in the pages is told in the report
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            log.warning("the pages were not rewritten: %s", explain(error, "rewriting").code)
            return _PAGES_LEFT
        return "" if self.fold_in(connection) else _LOG_STILL_READ

    def before_commit(self, connection: apsw.Connection) -> None:
        keep = self._live.now.change_log_rows
        connection.execute("DELETE FROM changes WHERE seq <= (SELECT max(seq) FROM changes) - ?", (keep,))
        self._silence.settle(connection)

    def after_commit(self, connection: apsw.Connection) -> None:
        if self._log_pages >= self._live.now.wal_pages:
            fold_in_if_free(connection)
        if self._live.now.neutral_times:
            hide_times(self._opened.folder)

    def closing(self, connection: apsw.Connection) -> None:
        take_turn(connection, "BEGIN IMMEDIATE", self._live.now.drain_s, self._env)
        self._silence.shrink(connection)
        connection.execute("COMMIT")
        # Not TRUNCATE: others may have the vault open, and the log would show their single writes. The last connection
        # to close removes it.
        fold_in_if_free(connection)

    def _grew(self, connection: apsw.Connection, database: str, pages: int) -> int:
        self._log_pages = pages
        return apsw.SQLITE_OK
