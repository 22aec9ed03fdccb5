"""Plain SQLite files of other programs that keep memories in one flat table: read as rows, never written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from engram.errors import InvalidContent
from engram.store.sqlite.binding import require_encryption

MAGIC = b"SQLite format 3\x00"
TABLES = ("memories", "memories_legacy")
TEXTS = ("content", "text", "memory", "body", "data")


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of the table of memories, by their columns' names; `text` holds the words, under whatever name they had."""
    require_encryption()
    try:
        connection = apsw.Connection(
            path.absolute().as_uri() + "?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
    except apsw.Error:
        raise _unread(path) from None
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        table, column = _where(connection)
        cursor = connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
        names = [name for name, _ in cursor.get_description()] if cursor.is_readonly else []
        for values in cursor:
            row = dict(zip(names, values, strict=True))
            yield {**row, "text": row.get(column)}
    except apsw.Error:
        raise _unread(path) from None
    finally:
        connection.close()


def _where(connection: apsw.Connection) -> tuple[str, str]:
    for table in TABLES:
        columns = [str(row[1]) for row in connection.execute("SELECT * FROM pragma_table_info(?)", (table,))]
        found = next((name for name in TEXTS if name in columns), None)
        if found is not None:
            return table, found
    raise InvalidContent(
        f"there is no table `{TABLES[0]}` with words in it.", way_out=f"Its words must stand in one of: {', '.join(TEXTS)}."
    )


def _unread(path: Path) -> InvalidContent:
    return InvalidContent(f"{path} is no SQLite file that can be read.", way_out="If it is encrypted, export it first.")
