"""Bringing a database up to the format of this release.

The migrations run in one exclusive transaction, so that of two processes that race one migrates and the other finds it done.
"""

from __future__ import annotations

from datetime import datetime

import apsw

from engram.env import to_micros
from engram.errors import EngramError, MigrationFailed, VaultTooNew
from engram.store.sqlite.binding import explain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from engram.store.sqlite.migrations import Migration

_PATIENCE_MS = 600_000
"""How long a process waits for another one's migration: as long as a large vault may take."""

VERSION = 5
"""As many as there are migrations; they are loaded where there is something to migrate."""


def version_of(connection: apsw.Connection) -> int:
    """The version this database is at; 0 for an empty one."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_version'").get:
        return 0
    return int(connection.execute("SELECT coalesce(max(version), 0) FROM schema_version").get or 0)


def require_known(version: int, newest: int = VERSION) -> None:
    if version > newest:
        raise VaultTooNew(f"this vault has schema version {version}; this release reads versions up to {newest}.")


def migrate(connection: apsw.Connection, now: datetime, steps: tuple[tuple[str, Migration], ...] | None = None) -> int:
    """Bring the database up to date, by these steps or all of ours; returns how many it took. Fails as a whole or not at all."""
    from engram.store.sqlite.migrations import MIGRATIONS

    steps = MIGRATIONS if steps is None else steps
    try:
        connection.set_busy_timeout(_PATIENCE_MS)
        connection.execute("BEGIN EXCLUSIVE")
        # Inside the transaction: a process that waited here finds the work done by the one it waited for.
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_version"
            " (version INTEGER PRIMARY KEY, applied_at INTEGER NOT NULL, what TEXT NOT NULL) STRICT"
        )
        start = version_of(connection)
        require_known(start, len(steps))
        for number, (what, step) in enumerate(steps[start:], start + 1):
            step(connection)
            connection.execute("INSERT INTO schema_version VALUES (?, ?, ?)", (number, to_micros(now), what))
        connection.execute("COMMIT")
    except apsw.Error as error:
        _undo(connection)
        told = explain(error, "bringing the vault's format up to date")
        raise (told if told.code in ("E1002", "E1003", "E1006") else MigrationFailed(told.message)) from error
    except EngramError:
        _undo(connection)
        raise
    except Exception as error:  # noqa: BLE001  a step is any function; what it raised must not leave half of it
        _undo(connection)
        raise MigrationFailed(f"a step failed ({type(error).__name__}) while bringing the vault's format up to date.") from None
    except BaseException:
        _undo(connection)
        raise
    return len(steps) - start


def _undo(connection: apsw.Connection) -> None:
    if connection.in_transaction:
        connection.execute("ROLLBACK")
