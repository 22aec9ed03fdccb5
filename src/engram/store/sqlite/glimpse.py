"""The vault as a hook has it: one connection, one thread, a few statements that read, and one transaction for their audit.

The store that others open has a pool and a writer of its own, which take longer to load and to start than all that a prompt asks.
What every read owes is the same here: the reader's visibility in each statement, and a line in the audit trail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from engram.env import Env, from_micros
from engram.errors import DiskFull, EngramError
from engram.guard.visibility import readable
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.limits import StoreLimits
from engram.store.sqlite import audit, text_index
from engram.store.sqlite import connection as opening
from engram.store.sqlite import connection as sealed
from engram.store.sqlite.connection import explain
from engram.store.sqlite.locks import take_turn
from engram.store.sqlite.padding import Silence, hide_reading
from engram.store.sqlite.rows import predicate
from engram.store.sqlite.vault import Opened, enter, look
from engram.values.frozen import frozen
from engram.values.identity import AuditEntry, Reader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LOG_PAGES = 16  # one transaction with a few lines of audit, however they fall
_SELECT = f"""
    SELECT m.key, {sealed.opened("text")}, m.category, m.source, m.importance, m.pinned, m.session, m.happened_at, m.learned_at,
           m.helpful, m.unhelpful, m.flagged, m.screened
      FROM memories AS m
     CROSS JOIN scopes AS s ON s.key = m.scope
     CROSS JOIN contents AS c ON c.memory = m.key
"""


@frozen
class Seen:
    """As much of a memory as a hook weighs and shows."""

    key: int
    text: str
    category: str
    source: str
    importance: float
    pinned: bool
    session: str
    happened_at: datetime | None
    learned_at: datetime | None
    helpful: int
    unhelpful: int
    flagged: bool
    screened: int


class Glimpse:
    """Made for a moment: all that is asked of it sees the same state of the vault."""

    def __init__(self, opened: Opened, live: LiveSettings, env: Env) -> None:
        self._opened = opened
        self._connection = opened.looked or look(opened, live)
        self._connection.execute("BEGIN")
        self._live = live
        self._env = env
        self._audit = audit.Audit(env, opened.audit_key, live.tuned(StoreLimits).audit_ring)

    def frequencies(self, reader: Reader, terms: Sequence[str], *, most: int) -> list[int]:
        """In how many memories of the whole vault each term stands: what tells a rare word from a common one."""
        with self._read(reader, "frequencies") as connection:
            return [text_index.frequency(connection, term, most) for term in terms]

    def search(self, reader: Reader, terms: Sequence[str], *, limit: int) -> list[Seen]:
        """Active memories that hold any of the terms, best first."""
        with self._read(reader, "search") as connection:
            hits = text_index.search_text(
                connection, readable(reader), text_index.ACTIVE, terms, limit, self._live.tuned(StoreLimits).around_weight
            )
            visible, values = predicate(readable(reader), "m.scope", "s")
            wanted = ", ".join("?" * len(hits))
            keys = [key for key, _ in hits]
            found = _seen(connection, f"{_SELECT} WHERE m.key IN ({wanted}) AND {visible}", (*keys, *values))
        self._note(reader, "search", count=len(found), digest=self._audit.digest(" ".join(terms)))
        return sorted(found, key=lambda one: keys.index(one.key))

    def newest(self, reader: Reader, *, limit: int) -> list[Seen]:
        active, more = text_index.ACTIVE
        with self._read(reader, "list") as connection:
            visible, values = predicate(readable(reader), "m.scope", "s")
            found = _seen(connection, f"{_SELECT} WHERE {visible}{active} ORDER BY m.key DESC LIMIT ?", (*values, *more, limit))
        self._note(reader, "list", count=len(found))
        return found

    def put_away_last(self, reader: Reader, name: str) -> tuple[datetime, bytes] | None:
        """What was put away under this name by whoever stood exactly here, and when."""
        from engram.store.sqlite import working  # late: a prompt needs none of it

        with self._read(reader, "resume") as connection:
            found = working.last(connection, reader.scope, name)
        self._note(reader, "resume", count=int(found is not None))
        return found

    def close(self) -> None:
        """Write what was read into the audit trail, and leave the vault as it was."""
        try:
            entries = self._audit.take_waiting()
            self._connection.execute("ROLLBACK")
            if entries and not self._opened.read_only:
                self._write(entries)
        except apsw.Error as error:
            raise explain(error, "writing the audit trail") from error
        except OSError as error:
            raise DiskFull(f"the vault's log cannot be written ({error.strerror}).") from error
        finally:
            self._connection.close(True)
            self._opened.lock.release()
            if self._live.now.neutral_times:  # read-only too: on a full disk reading leaves a log, and its date
                hide_reading(self._opened.folder)
            self._opened.wipe()

    @contextmanager
    def _read(self, reader: Reader, operation: str) -> Iterator[apsw.Connection]:
        """A refusal or failure leaves a line too."""
        try:
            yield self._connection
        except EngramError:
            self._note(reader, operation, ok=False)
            raise
        except apsw.Error as error:
            self._note(reader, operation, ok=False)
            raise explain(error, operation) from error

    def _note(self, reader: Reader, operation: str, *, count: int = 0, digest: str = "", ok: bool = True) -> None:
        self._audit.note(self._audit.entry(reader, operation, count=count, digest=digest, ok=ok))

    def _write(self, entries: Sequence[AuditEntry]) -> None:
        """In one transaction, which is synced when the log is folded in: by closing, or by whoever else has the vault open."""
        connection, settings, limits = self._connection, self._live.now, self._live.tuned(StoreLimits)
        opening.allow_changes(connection)
        opening.sync_commits(connection, "normal")
        connection.wal_autocheckpoint(limits.wal_pages)
        silence = Silence(lambda: settings, self._env, limits)
        take_turn(connection, "BEGIN IMMEDIATE", settings.write_patience_s, self._env)
        silence.lengthen(self._opened.folder.wal, _LOG_PAGES)
        audit.write(connection, entries, settings.audit_rows)
        silence.settle(connection)
        connection.execute("COMMIT")


def glimpse(path: Path, live: LiveSettings, env: Env, credentials: Credentials = Credentials()) -> Glimpse:
    """The vault at `path`, which is there; by default nobody is asked for a passphrase. Whoever opens it for longer checks the
    file: with every prompt it would take up to 25 ms."""
    opened, _ = enter(path, live, env, credentials, brief=True)
    return Glimpse(opened, live, env)


def _seen(connection: apsw.Connection, sql: str, values: Sequence[Any]) -> list[Seen]:
    return [
        Seen(key, text, category, source, importance, bool(pinned), session, _moment(happened), _moment(learned), *rest)
        for key, text, category, source, importance, pinned, session, happened, learned, *rest in connection.execute(sql, values)
    ]


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)
