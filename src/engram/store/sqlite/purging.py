"""Everything of one user, agent, channel, squad or project, out of every table (§10.20).

Which tables have something of a place is asked of the database itself: what hangs on a memory goes with it, what stands in a
scope goes with the scope, and what names the place in a column of its own is removed by that name. A table that is added later
cannot be forgotten here. The scope's row stays, under a name that nobody has: its number must not become another's.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from engram.errors import InvalidQuery
from engram.guard.visibility import Visibility, require_owner, writable
from engram.store.ports import Once
from engram.store.sqlite import audit, episodes, erasure, memories
from engram.store.sqlite.scrubbing import NothingDone, Scrubbing
from engram.types import SCOPE_DIMENSIONS, Reader, Report

_NOBODY = "purged:"
_PURGED_AT_ONCE = 500


class Purging(Scrubbing):
    """Mixed into the store."""

    def purge(
        self,
        reader: Reader,
        dimension: str,
        name: str,
        *,
        dry_run: bool = False,
        timeout: float | None = None,
        once: Once | None = None,
    ) -> Report:
        """Remove all that belongs to a place; the report counts it table by table. With `dry_run`, only the report is made."""
        with self._watched(reader, "purge"):
            require_owner(reader, "a purge")
            if dimension not in SCOPE_DIMENSIONS or not name:
                raise InvalidQuery(
                    "a purge names one place.", way_out=f"Give one of {', '.join(SCOPE_DIMENSIONS)}, with its name."
                )
            nobody = _NOBODY + self._env.random(8).hex()

            def remove(connection: apsw.Connection, held: erasure.Held) -> None:
                _remove(connection, writable(reader), dimension, name, nobody, held)

            work = self._counting(reader, remove, dry_run=dry_run)
            self._flush_audit(wait=True)  # entries that still wait name the place too
            entry = self._audit.entry(reader, "purge", count=1, digest=self._audit.digest(name))
            try:
                counts, wanted = self._write(reader, "purge", work, entries=[entry], timeout=timeout, once=once)
            except NothingDone as trial:
                self._note(reader, "purge:trial", count=1, digest=self._audit.digest(name))
                return Report(operation="purge", counts=trial.counts, notes=("nothing was removed.",))
            return Report(operation="purge", counts=counts, notes=self._scrubbed(reader, wanted))


def _remove(connection: apsw.Connection, owned: Visibility, dimension: str, name: str, nobody: str, held: erasure.Held) -> None:
    places = _places(connection, dimension, name)
    keys = [int(row[0]) for row in connection.execute(f"SELECT key FROM memories WHERE scope IN ({_marks(places)})", places)]
    for start in range(0, len(keys), _PURGED_AT_ONCE):
        doomed = memories.by_keys(connection, owned, keys[start : start + _PURGED_AT_ONCE])
        doomed += episodes.learned_from(connection, owned, doomed)  # elsewhere too: it has their words
        for memory in doomed:
            erasure.note(connection, held, memory)
            memories.wipe_out(connection, memory)
        audit.forget(connection, [memory.id for memory in doomed])
    for table in _having(connection, "scope"):
        if table != "memories":
            connection.execute(f"DELETE FROM {table} WHERE scope IN ({_marks(places)})", places)
    for table in _having(connection, dimension):
        connection.execute(f"DELETE FROM {table} WHERE {dimension} = ?", (name,))
    connection.execute(f"UPDATE scopes SET {dimension} = ? WHERE key IN ({_marks(places)})", (nobody, *places))


def _places(connection: apsw.Connection, dimension: str, name: str) -> tuple[int, ...]:
    return tuple(int(row[0]) for row in connection.execute(f"SELECT key FROM scopes WHERE {dimension} = ?", (name,)))


def _having(connection: apsw.Connection, column: str) -> list[str]:
    """Tables that have a column of this name; the table of scopes itself is another matter."""
    found = connection.execute(
        """
        SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
         WHERE m.type = 'table' AND c.name = ? AND m.name <> 'scopes' ORDER BY m.name
        """,
        (column,),
    )
    return [str(row[0]) for row in found]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
