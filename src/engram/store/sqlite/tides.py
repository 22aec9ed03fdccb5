"""What the writer does around its transactions: padding, the log, file times (§10.4, §10.6)."""

from __future__ import annotations

import apsw

from engram.env import Env
from engram.log import Log
from engram.settings import LiveSettings
from engram.store.sqlite.binding import explain
from engram.store.sqlite.locks import take_turn
from engram.store.sqlite.silence import Silence, fold_in_if_free, hide_times
from engram.store.sqlite.vault import Opened

log = Log("engram.store.tides")


_PAGES_LEFT = "the pages could not be rewritten, so traces may be left in them (encrypted): erase again once there is room."
_LOG_STILL_READ = "a reader was still using the log, so it keeps the erased pages (encrypted) until that reader is done."


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
