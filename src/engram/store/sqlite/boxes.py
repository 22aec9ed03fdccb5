"""Boxes (M14): stretches of memories about one subject, derived from memories in the order of their keys.

The last boxed key is a figure in `meta`, written in the same transaction, so that two processes do not box a memory twice.
Reading boxes leaves an audit entry; filling them, which no user asks for, does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.guard.visibility import readable, require_owner
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import memory_rows
from engram.store.sqlite.visibility import predicate
from engram.store.sqlite.working import erased_since
from engram.store.validation import bounded
from engram.types import Memory, Reader, Scope
from engram.values.episodes import Box, BoxRow, BoxTopics, FilledBox, SealReason

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_UPTO = "figure:boxed_to"

_RECENT = 300
"""Latest boxes of a scope that a new one is compared with."""


_ROW = f"""
    SELECT m.key, m.scope, m.session,
           coalesce(
               (SELECT t.at FROM sources AS o JOIN turns AS t ON t.key = o.turn WHERE o.memory = m.key LIMIT 1), m.learned_at
           ),
           m.speaker, {sealed.INDEXED}, {sealed.VECTOR}
      FROM memories AS m
      JOIN contents AS c ON c.memory = m.key
      LEFT JOIN embeddings AS e ON e.memory = m.key AND e.space = (SELECT key FROM spaces WHERE name = ?)
"""


_BOX = """
    SELECT b.key, s.project, s.squad, s.agent, s.channel, s.user, b.session, b.opened_at, b.last_at, b.sealed, b.trace,
           (SELECT count(*) FROM boxed AS x WHERE x.box = b.key), b.topic
      FROM boxes AS b JOIN scopes AS s ON s.key = b.scope
"""


class Boxes:
    """Boxes: stretches of talk about one subject."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def pending(self, reader: Reader, space: str, limit: int) -> tuple[int, list[BoxRow]]:
        """Return the last boxed key, and the next memories after it."""
        require_owner(reader, "boxing")
        with self._gate.read(reader, "boxes") as connection:
            upto = _reach(connection)
            found: list[Any] = connection.execute(
                f"{_ROW} WHERE m.key > ? ORDER BY m.key LIMIT ?", (space, upto, limit)
            ).fetchall()
        return upto, [_row(*one) for one in found]

    def latest_vectors(self, reader: Reader, space: str, *, upto: int, limit: int) -> list[bytes]:
        """Return the vectors of the latest memories up to a key, as a sample."""
        require_owner(reader, "boxing")
        with self._gate.read(reader, "boxes") as connection:
            found: list[Any] = connection.execute(
                """
                SELECT vector FROM embeddings
                 WHERE memory <= ? AND space = (SELECT key FROM spaces WHERE name = ?) ORDER BY memory DESC LIMIT ?
                """,
                (upto, space, limit),
            ).fetchall()
        return [bytes(vector) for (vector,) in found]

    def growing(self, reader: Reader, streams: Iterable[tuple[int, str]], space: str) -> list[tuple[Box, list[BoxRow]]]:
        """Return the open boxes of these scopes and sessions, with their memories."""
        require_owner(reader, "boxing")
        found = []
        with self._gate.read(reader, "boxes") as connection:
            for scope, session in streams:
                sql = f"{_BOX} WHERE b.scope = ? AND b.session = ? AND b.sealed = '' ORDER BY b.key DESC LIMIT 1"
                for box in _boxes(connection, sql, (scope, session)):
                    inside: list[Any] = connection.execute(
                        f"{_ROW} JOIN boxed AS x ON x.memory = m.key WHERE x.box = ? ORDER BY m.key", (space, box.key)
                    ).fetchall()
                    found.append((box, [_row(*one) for one in inside]))
        return found

    def topics(self, reader: Reader, scopes: Iterable[int]) -> dict[int, BoxTopics]:
        """Return the topics of the latest boxes, by scope."""
        require_owner(reader, "boxing")
        with self._gate.read(reader, "boxes") as connection:
            return {scope: _topics(connection, scope) for scope in scopes}

    def put(self, reader: Reader, boxes: Sequence[FilledBox], *, start: int, upto: int, since: int) -> bool:
        """Store boxes; False, and no change, if another process has moved on from `start`, or if after the change `since` a
        memory was erased or a member updated: a topic could hold words that are erased or sealed by now.
        """
        with self._gate.watched(reader, "boxes"):
            require_owner(reader, "boxing")

            def work(connection: apsw.Connection) -> bool:
                if _reach(connection) != start or _outdated(connection, since, boxes):
                    return False
                keys: list[int] = []
                for box in boxes:
                    keys.append(_put(connection, box, keys))
                connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_UPTO, upto))
                return True

            return self._gate.writer.run(work, "filling boxes")

    def unlabelled(self, reader: Reader, limit: int) -> list[tuple[int, list[tuple[str, str]]]]:
        """Return the boxes whose topic was emptied because a member was erased, with the texts and speakers that are left."""
        require_owner(reader, "boxing")
        with self._gate.read(reader, "boxes") as connection:
            keys: list[Any] = connection.execute("SELECT key FROM boxes WHERE topic = '' LIMIT ?", (limit,)).fetchall()
            sql = f"""
                SELECT {sealed.INDEXED}, m.speaker FROM boxed AS x
                  JOIN memories AS m ON m.key = x.memory JOIN contents AS c ON c.memory = m.key
                 WHERE x.box = ? ORDER BY x.memory
            """
            left: list[Any] = [(key, connection.execute(sql, (key,)).fetchall()) for (key,) in keys]
        return left

    def relabel(self, reader: Reader, topics: dict[int, tuple[str, ...]], *, since: int) -> None:
        """Set the topics of boxes and delete empty ones; no change if, after the change `since`, a memory was erased or a member
        updated.
        """
        with self._gate.watched(reader, "boxes"):
            require_owner(reader, "boxing")

            def work(connection: apsw.Connection) -> None:
                if _changed(connection, since, "SELECT memory FROM boxed"):
                    return
                for key, topic in topics.items():
                    connection.execute("UPDATE boxes SET topic = ? WHERE key = ?", (" ".join(topic), key))
                connection.execute("DELETE FROM boxes WHERE key NOT IN (SELECT box FROM boxed)")

            self._gate.writer.run(work, "filling boxes")

    def select(self, reader: Reader, *, trace: int | None = None, limit: int = 50) -> list[Box]:
        """Return boxes, or those of one trace, the latest first. A box is visible to readers of its scope."""
        bounded(limit, self._gate.limits.page_limit, "a list of boxes")
        visible, values = predicate(readable(reader), "b.scope", "s")
        along, more = ("", ()) if trace is None else (" AND b.trace = ?", (trace,))
        with self._gate.read(reader, "boxes") as connection:
            sql = f"{_BOX} WHERE {visible}{along} AND b.topic <> '' ORDER BY b.last_at DESC, b.key DESC LIMIT ?"
            found = _boxes(connection, sql, (*values, *more, limit))
        self._gate.note(reader, "boxes", count=len(found))
        return found

    def get(self, reader: Reader, key: int) -> list[Memory]:
        """Return the memories of a box in the order of their keys."""
        with self._gate.read(reader, "boxes") as connection:
            keys: list[Any] = connection.execute("SELECT memory FROM boxed WHERE box = ? ORDER BY memory", (key,)).fetchall()
            found = memory_rows.by_keys(connection, readable(reader), [one for (one,) in keys])
        self._gate.note(reader, "boxes", count=len(found))
        return found


def _boxes(connection: apsw.Connection, sql: str, values: Sequence[Any]) -> list[Box]:
    found: list[Any] = connection.execute(sql, values).fetchall()
    return [
        Box(
            key,
            Scope(*scope),
            session,
            from_micros(opened),
            from_micros(last),
            SealReason(sealed),
            trace,
            size,
            tuple(topic.split()),
        )
        for key, *scope, session, opened, last, sealed, trace, size, topic in found
    ]


def _outdated(connection: apsw.Connection, since: int, boxes: Sequence[FilledBox]) -> bool:
    keys = ", ".join(str(box.key) for box in boxes)
    fresh = ", ".join(str(member) for box in boxes for member in box.members)
    inside = f"SELECT memory FROM boxed WHERE box IN ({keys})"
    return _changed(connection, since, f"SELECT key FROM memories WHERE key IN ({fresh}) OR key IN ({inside})")


def _changed(connection: apsw.Connection, since: int, members: str) -> bool:
    """Return True if any memory was erased, or one of `members` updated, after the change `since`."""
    updated = f"SELECT 1 FROM changes WHERE seq > ? AND what = 'update' AND memory IN ({members}) LIMIT 1"
    return erased_since(connection, since) or bool(connection.execute(updated, (since,)).get)


def _reach(connection: apsw.Connection) -> int:
    return int(connection.execute("SELECT value FROM meta WHERE name = ?", (_UPTO,)).get or 0)


def _row(key: int, scope: int, session: str, at: int, speaker: str, text: str, vector: bytes | None) -> BoxRow:
    return BoxRow(key, scope, session, from_micros(at), speaker, text, None if vector is None else bytes(vector))


def _topics(connection: apsw.Connection, scope: int) -> BoxTopics:
    sql = "SELECT key, trace, topic FROM boxes WHERE scope = ? ORDER BY key DESC LIMIT ?"
    found: list[Any] = connection.execute(sql, (scope, _RECENT)).fetchall()
    return {key: (trace, tuple(topic.split())) for key, trace, topic in found}


def _put(connection: apsw.Connection, box: FilledBox, before: Sequence[int]) -> int:
    """Store a box and return its key. `before`: the keys of the boxes before it in the same page."""
    key = box.key
    figures = (to_micros(box.opened_at), to_micros(box.last_at), box.sealed, " ".join(box.topic))
    if key:
        connection.execute("UPDATE boxes SET opened_at = ?, last_at = ?, sealed = ?, topic = ? WHERE key = ?", (*figures, key))
    else:
        connection.execute(
            "INSERT INTO boxes (opened_at, last_at, sealed, topic, scope, session, trace) VALUES (?, ?, ?, ?, ?, ?, 0)",
            (*figures, box.scope, box.session),
        )
        key = connection.last_insert_rowid()
    # From `memories`, because a member may have been erased meanwhile.
    sql = "INSERT OR REPLACE INTO boxed (memory, box) SELECT key, ? FROM memories WHERE key = ?"
    connection.executemany(sql, ((key, memory) for memory in box.members))
    along = box.trace or (key if box.like is None else _trace(connection, before[box.like]))
    connection.execute("UPDATE boxes SET trace = ? WHERE key = ?", (along, key))
    return key


def _trace(connection: apsw.Connection, key: int) -> int:
    return int(connection.execute("SELECT trace FROM boxes WHERE key = ?", (key,)).get)
