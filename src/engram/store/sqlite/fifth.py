"""The tables of format 5, in the parts that they came in."""

from __future__ import annotations

import apsw


def _dreams(connection: apsw.Connection) -> None:
    """Passes at rest: what each did, in figures; how far each job has come; when it should look at what again; and what undoes a
    pass, as figures of rows before and after it. No words but the kinds of links."""
    connection.execute(
        """
        CREATE TABLE passes (
            key      INTEGER PRIMARY KEY AUTOINCREMENT,
            id       TEXT NOT NULL UNIQUE,
            verb     TEXT NOT NULL,
            walker   TEXT NOT NULL,
            holder   TEXT NOT NULL,
            began_at INTEGER NOT NULL,
            beat_at  INTEGER NOT NULL,
            ended_at INTEGER,
            ending   TEXT NOT NULL,
            counts   TEXT NOT NULL,
            probes   TEXT NOT NULL,
            before   REAL,
            after    REAL
        ) STRICT;

        CREATE TABLE jobs (
            name   TEXT NOT NULL,
            walker TEXT NOT NULL,
            row    INTEGER NOT NULL,
            change INTEGER NOT NULL,
            PRIMARY KEY (name, walker)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE dues (
            job    TEXT NOT NULL,
            memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            at     INTEGER NOT NULL,
            PRIMARY KEY (job, memory)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX dues_by_time ON dues (job, at);
        CREATE INDEX dues_by_memory ON dues (memory);

        CREATE TABLE undoing (
            pass   INTEGER NOT NULL REFERENCES passes (key) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            memory INTEGER NOT NULL REFERENCES memories (key) ON DELETE CASCADE,
            other  INTEGER REFERENCES memories (key) ON DELETE CASCADE,
            place  TEXT NOT NULL,
            part   TEXT NOT NULL,
            was    TEXT,
            now    TEXT,
            PRIMARY KEY (pass, number)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX undoing_by_memory ON undoing (memory);
        CREATE INDEX undoing_by_other ON undoing (other) WHERE other IS NOT NULL;
        """
    )


def _relations(connection: apsw.Connection) -> None:
    """What leads to something is looked up by that; and who else has something that is told of one."""
    connection.execute("CREATE INDEX facts_by_object ON facts (object, predicate)")
    connection.execute("CREATE INDEX facts_by_predicate ON facts (predicate)")


def _doubts(connection: apsw.Connection) -> None:
    """Which memories stand against each other, and which are much used: few of many, found without looking at the others."""
    connection.execute(
        """
        CREATE INDEX edges_contested ON edges (source, target) WHERE kind = 'contradicts';
        CREATE INDEX memories_much_used ON memories (updated_at) WHERE accesses >= 5;
        """
    )


_PARTS = (_dreams, _relations, _doubts)


def fifth(connection: apsw.Connection) -> None:
    for part in _PARTS:
        part(connection)
