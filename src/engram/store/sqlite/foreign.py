"""Reads memories from the SQLite file of another program, without trusting its schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw

from engram.errors import InvalidContent
from engram.store.sqlite.connection import require_encryption

_TABLES = ("memories", "memories_legacy")
_TEXT_COLUMNS = ("content", "text", "memory", "body", "data")


def foreign_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table of memories by column name; `text` holds the words, whatever the name of their column."""
    require_encryption()
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        connection = apsw.Connection(path.absolute().as_uri() + "?mode=ro", flags=flags)
    except apsw.Error:
        raise _not_sqlite(path) from None
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        table, column = _text_column(connection)
        cursor = connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
        names = [name for name, _ in cursor.get_description()] if cursor.is_readonly else []
        for values in cursor:
            row = dict(zip(names, values, strict=True))
            yield {**row, "text": row.get(column)}
    except apsw.Error:
        raise _not_sqlite(path) from None
    finally:
        connection.close()


def _text_column(connection: apsw.Connection) -> tuple[str, str]:
    """Return the table of memories and its column with the words."""
    for table in _TABLES:
        columns = [str(row[1]) for row in connection.execute("SELECT * FROM pragma_table_info(?)", (table,))]
        column = next((name for name in _TEXT_COLUMNS if name in columns), None)
        if column is not None:
            return table, column
    raise InvalidContent(
        f"there is no table `{_TABLES[0]}` with a column of text.",
        way_out=f"The column must be one of: {', '.join(_TEXT_COLUMNS)}.",
    )


def _not_sqlite(path: Path) -> InvalidContent:
    return InvalidContent(f"{path} cannot be read as SQLite.", way_out="If it is encrypted, export it first.")
