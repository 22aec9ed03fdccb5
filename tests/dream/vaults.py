"""Vaults at rest, for the tests of dreams: the real store and engine, on words alone unless an encoder is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram.dream.job import Desk
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
"""Logs, cursors, filling, and boxes, which are filled beside: they tell that something was done, not what is known."""


def desk_of(mem: Engram, reader: Reader | None = None) -> Desk:
    vault = mem._vault
    return Desk(vault.store, reader or mem.reader, vault.live.now, vault.env.now(), vault.index, vault.embedder)


def rows(store: SqliteStore) -> Mapping[str, list[Any]]:
    """Every row of every table of what is known."""
    with store._readers.use("a test") as connection:
        sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'lexicon%' ORDER BY name"
        tables = [str(row[0]) for row in connection.execute(sql) if str(row[0]) not in _MOVING]
        return {table: sorted(map(repr, connection.execute(f'SELECT * FROM "{table}"').fetchall())) for table in tables}


def keep(mem: Engram, *texts: str, **more: Any) -> list[str]:
    """Keep statements as they are, in one commit, past what would take two for one; their ids."""
    made = [Memory(text=text, scope=mem.reader.scope, **more) for text in texts]
    return [memory.id for memory in mem._vault.store.add(mem.reader, made)]
