"""Vaults for the dream tests: the real store and engine, without an encoder unless one is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.dream.job import JobContext
from engram.engine import Engram
from engram.store.sqlite.store import SqliteStore
from engram.types import Memory, Reader

_MOVING = {
    "changes",
    "audit",
    "passes",
    "jobs",
    "dues",
    "undoing",
    "meta",
    "padding",
    "sqlite_sequence",
    "receipts",
    "boxes",
    "boxed",
}
"""Tables of logs, cursors and background state, which differ after an undo although the knowledge is the same."""


def context_of(mem: Engram, reader: Reader | None = None) -> JobContext:
    return mem._vault.job_context(reader or mem.reader)


def rows(store: SqliteStore) -> Mapping[str, list[Any]]:
    """Return every row of every table that holds knowledge."""
    with store.gate.readers.use("a test") as connection:
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'lexicon%' ORDER BY name"
        tables = [str(row[0]) for row in connection.execute(sql) if str(row[0]) not in _MOVING]
        return {table: sorted(map(repr, connection.execute(f'SELECT * FROM "{table}"').fetchall())) for table in tables}


def keep(mem: Engram, *texts: str, **more: Any) -> list[str]:
    """Store statements in one commit, bypassing duplicate detection; return their ids."""
    made = [Memory(text=text, scope=mem.reader.scope, **more) for text in texts]
    return [memory.id for memory in mem._vault.store.memories.add(mem.reader, made)]
