"""Everything of one user, agent, channel, squad or project, out of every table (§10.20).

Which tables have something of a place is asked of the database itself: what hangs on a memory goes with it, what stands in a
scope goes with the scope, and what names the place in a column of its own is removed by that name. A table that is added later
cannot be forgotten here. The scope's row stays, under a name that nobody has: its number must not become another's.
"""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from engram.errors import InvalidQuery
from engram.guard.scopes import Visibility, require_owner, writable
from engram.store.sqlite import granting, memories, shelving, suspending
from engram.store.sqlite.scrubbing import Scrubbing
from engram.types import SCOPE_DIMENSIONS, Reader, Report

_NOBODY = "purged:"
_AT_ONCE = 500


class Purging(Scrubbing):
    """Mixed into the store."""

    def purge(self, reader: Reader, dimension: str, name: str, *, dry_run: bool = False, timeout: float | None = None) -> Report:
        """Remove all that belongs to a place; the report counts it table by table. With `dry_run`, only the report is made."""
        with self._watched(reader, "purge"):
            require_owner(reader, "a purge")
            if dimension not in SCOPE_DIMENSIONS or not name:
                raise InvalidQuery(
                    "a purge names one place.", way_out=f"Give one of {', '.join(SCOPE_DIMENSIONS)}, with its name."
                )
            if dry_run:
                with self._read(reader, "purge") as connection:
                    return Report(
                        operation="purge", counts=_counted(connection, dimension, name), notes=("nothing was removed.",)
                    )
            self._questions.take_waiting()
            self._flush_audit(wait=True)  # entries that still wait name the place too
            digest = self._audit.digest(name)
            entry = self._audit.entry(reader, "purge", count=1, digest=digest)
            nobody = _NOBODY + self._env.random(8).hex()

            def work(connection: apsw.Connection) -> dict[str, int]:
                counts = _counted(connection, dimension, name)
                _remove(connection, writable(reader), dimension, name, nobody)
                return counts

            counts = self._write(reader, "purge", work, entries=[entry], timeout=timeout)
            return Report(operation="purge", counts=counts, notes=self._scrubbed())


def _counted(connection: apsw.Connection, dimension: str, name: str) -> dict[str, int]:
    """How many rows of each table are of the place; tables that have none are left out."""
    places = _places(connection, dimension, name)
    doomed = f"SELECT key FROM memories WHERE scope IN ({_marks(places)})"
    found = {}
    for table, column in _hanging_on(connection, "memories"):
        found[table] = f"SELECT count(*) FROM {table} WHERE {column} IN ({doomed})"
    for table in _having(connection, "scope"):
        found[table] = f"SELECT count(*) FROM {table} WHERE scope IN ({_marks(places)})"
    counts = {table: int(connection.execute(sql, places).get) for table, sql in found.items()}
    for table in _having(connection, dimension):
        counts[table] = counts.get(table, 0) + int(_named(connection, f"SELECT count(*) FROM {table}", dimension, name).get)
    return {table: count for table, count in sorted(counts.items()) if count}


def _remove(connection: apsw.Connection, owned: Visibility, dimension: str, name: str, nobody: str) -> None:
    places = _places(connection, dimension, name)
    keys = [int(row[0]) for row in connection.execute(f"SELECT key FROM memories WHERE scope IN ({_marks(places)})", places)]
    for start in range(0, len(keys), _AT_ONCE):
        for memory in memories.by_keys(connection, owned, keys[start : start + _AT_ONCE]):
            memories.wipe_out(connection, memory)
    for table in _having(connection, "scope"):
        if table != "memories":
            connection.execute(f"DELETE FROM {table} WHERE scope IN ({_marks(places)})", places)
    for table in _having(connection, dimension):
        _named(connection, f"DELETE FROM {table}", dimension, name)
    connection.execute(f"UPDATE scopes SET {dimension} = ? WHERE key IN ({_marks(places)})", (nobody, *places))
    shelving.forget_numbers(connection)
    suspending.forget_minds(connection)
    granting.forget_receipts(connection)


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


def _hanging_on(connection: apsw.Connection, parent: str) -> list[tuple[str, str]]:
    """Tables whose rows go with a row of `parent`, each with its first column that refers to it."""
    found = connection.execute(
        """
        SELECT m.name, min(f."from") FROM sqlite_master AS m JOIN pragma_foreign_key_list(m.name) AS f
         WHERE m.type = 'table' AND f."table" = ? GROUP BY m.name
        """,
        (parent,),
    )
    return [(str(table), str(column)) for table, column in found]


def _named(connection: apsw.Connection, statement: str, dimension: str, name: str) -> apsw.Cursor:
    return connection.execute(f"{statement} WHERE {dimension} = ?", (name,))


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
