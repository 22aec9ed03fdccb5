"""The verbs on what memories tell of the world: who and what there is, what holds of it, and reading what was kept before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from engram.env import from_micros
from engram.guard.visibility import Visibility, readable, require_owner
from engram.rules.contradiction import epistemic_status
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import entities as naming
from engram.store.sqlite import facts, memories
from engram.store.sqlite.rows import intern, predicate
from engram.store.sqlite.writing import Writing
from engram.text.english.entities import folded
from engram.text.english.informativeness import told
from engram.types import Memory, Reader, Sensitivity
from engram.values.entities import Belief, Entity

_UNREAD, _READ = "unread_to", "read_to"


class World(Writing):
    """Mixed into the store."""

    def entities(self, reader: Reader, *, kind: str | None = None, limit: int = 50) -> list[Entity]:
        """What this reader's memories name, the most named first."""
        with self._read(reader, "entities") as connection:
            return _entities(connection, readable(reader), kind, limit)

    def entity(self, reader: Reader, name: str) -> tuple[Entity, list[int]] | None:
        """What goes by this name, and the keys of the active memories that name it, the latest first."""
        with self._read(reader, "entity") as connection:
            return _entity_from_row(connection, readable(reader), folded(name))

    def named_in(self, reader: Reader, memory_id: str) -> list[str]:
        """What a memory names, by the names it is kept under."""
        with self._read(reader, "entity") as connection:
            key = memories.one(connection, readable(reader), memory_id).key
            sql = "SELECT e.name FROM mentions AS n JOIN entities AS e ON e.key = n.entity WHERE n.memory = ? ORDER BY e.name"
            found: list[Any] = connection.execute(sql, (key,)).fetchall()
            return [row[0] for row in found]

    def named_with(self, reader: Reader, name: str, *, limit: int = 10) -> list[tuple[str, int]]:
        """What is named in the same memories, and in how many."""
        with self._read(reader, "entity") as connection:
            return _named_with(connection, readable(reader), folded(name), limit)

    def beliefs(self, reader: Reader, subject: str, *, past: bool = False) -> list[Belief]:
        """The facts of a subject that hold, the newest first; `past`: those that held, too."""
        with self._read(reader, "beliefs") as connection:
            return _beliefs(connection, readable(reader), folded(subject), past)

    def read_old(self, reader: Reader, *, limit: int) -> int:
        """Read some of what was kept before names and facts were: how many. Nothing is retired by it."""
        with self._watched(reader, "read_old"):
            require_owner(reader, "reading all that is kept")
            if not self._unread():
                return 0
            return self._write(reader, "read_old", lambda connection: _read_page(connection, readable(reader), limit), count=0)

    def _unread(self) -> bool:
        with self._readers.use("entities") as connection:
            return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM meta WHERE name = ?)", (_UNREAD,)).get)


def _entities(connection: apsw.Connection, seen: Visibility, kind: str | None, limit: int) -> list[Entity]:
    visible, values = predicate(seen, "m.scope")
    sort, more = ("", ()) if kind is None else (" AND e.kind = ?", (kind,))
    found: list[Any] = connection.execute(
        f"""
        SELECT e.name, e.kind, count(*), min(coalesce(m.happened_at, m.learned_at)), max(coalesce(m.happened_at, m.learned_at))
          FROM entities AS e JOIN mentions AS n ON n.entity = e.key JOIN memories AS m ON m.key = n.memory
         WHERE m.status = 'active' AND {visible}{sort} GROUP BY e.name, e.kind ORDER BY count(*) DESC, e.name LIMIT ?
        """,
        (*values, *more, limit),
    ).fetchall()
    return [Entity(name, of, (), count, from_micros(first), from_micros(last)) for name, of, count, first, last in found]


def _keys(connection: apsw.Connection, seen: Visibility, name: str) -> list[int]:
    visible, values = predicate(seen, "scope")
    found: list[Any] = connection.execute(f"SELECT entity FROM aliases WHERE name = ? AND {visible}", (name, *values)).fetchall()
    return [row[0] for row in found]


def _entity_from_row(connection: apsw.Connection, seen: Visibility, name: str) -> tuple[Entity, list[int]] | None:
    keys = _keys(connection, seen, name)
    marks = ", ".join("?" * len(keys))
    visible, values = predicate(seen, "m.scope")
    rows: list[Any] = connection.execute(
        f"""
        SELECT DISTINCT m.key, coalesce(m.happened_at, m.learned_at) AS at
          FROM mentions AS n JOIN memories AS m ON m.key = n.memory
         WHERE n.entity IN ({marks}) AND m.status = 'active' AND {visible} ORDER BY at DESC, m.key DESC
        """,
        (*keys, *values),
    ).fetchall()
    if not rows:
        return None
    kept: list[Any] = connection.execute(f"SELECT name, kind FROM entities WHERE key IN ({marks})", keys).fetchall()
    called, kind = max(kept, key=lambda row: len(row[0]))
    names: list[Any] = connection.execute(
        f"SELECT DISTINCT name FROM aliases WHERE entity IN ({marks}) ORDER BY name", keys
    ).fetchall()
    made = Entity(called, kind, tuple(row[0] for row in names), len(rows), from_micros(rows[-1][1]), from_micros(rows[0][1]))
    return made, [row[0] for row in rows]


def _named_with(connection: apsw.Connection, seen: Visibility, name: str, limit: int) -> list[tuple[str, int]]:
    keys = _keys(connection, seen, name)
    marks = ", ".join("?" * len(keys))
    visible, values = predicate(seen, "m.scope")
    found: list[Any] = connection.execute(
        f"""
        SELECT e.name, count(DISTINCT m.key) FROM mentions AS n JOIN memories AS m ON m.key = n.memory
          JOIN mentions AS o ON o.memory = n.memory JOIN entities AS e ON e.key = o.entity
         WHERE n.entity IN ({marks}) AND o.entity NOT IN ({marks}) AND m.status = 'active' AND {visible}
         GROUP BY e.name ORDER BY count(DISTINCT m.key) DESC, e.name LIMIT ?
        """,
        (*keys, *keys, *values, limit),
    ).fetchall()
    return [(other, count) for other, count in found]


def _beliefs(connection: apsw.Connection, seen: Visibility, subject: str, past: bool) -> list[Belief]:
    visible, values = predicate(seen, "m.scope")
    keys = _keys(connection, seen, subject)
    names: list[Any] = connection.execute(
        f"SELECT name FROM entities WHERE key IN ({', '.join('?' * len(keys))})", keys
    ).fetchall()
    subjects = list(dict.fromkeys([subject, *(folded(row[0]) for row in names)]))
    any_form = ", ".join(sealed.either("facts", "subject", f"?{n + 1}") for n in range(len(subjects)))
    now = "" if past else " AND f.until IS NULL AND f.holds AND m.status = 'active'"
    found: list[Any] = connection.execute(
        f"""
        SELECT {facts.FACT}, m.confidence, f.since, f.until, m.id, m.status,
               (SELECT group_concat(o.confidence) FROM edges AS g JOIN memories AS o
                    ON o.key = CASE WHEN g.source = m.key THEN g.target ELSE g.source END
                 WHERE g.kind = 'contradicts' AND (g.source = m.key OR g.target = m.key) AND o.status = 'active')
          FROM facts AS f JOIN memories AS m ON m.key = f.memory
         WHERE f.subject IN ({any_form}) AND {visible}{now} ORDER BY f.since DESC, f.memory DESC
        """,
        (*subjects, *values),
    ).fetchall()
    return [_belief(row) for row in found]


def _belief(row: Sequence[Any]) -> Belief:
    subject, said, thing, confidence, since, until, memory_id, state, against = row
    strengths = [float(one) for one in str(against).split(",")] if against else []
    held = "retracted" if until is not None or state != "active" else epistemic_status(confidence, strengths).value
    return Belief(subject, said, thing, held, confidence, _at(since), _at(until), memory_id)


def _at(value: int | None) -> Any:
    return None if value is None else from_micros(value)


def _read_page(connection: apsw.Connection, seen: Visibility, limit: int) -> int:
    last = connection.execute("SELECT value FROM meta WHERE name = ?", (_UNREAD,)).get
    after = connection.execute("SELECT value FROM meta WHERE name = ?", (_READ,)).get or 0
    if last is None:
        return 0
    keys: list[Any] = connection.execute(
        "SELECT key FROM memories WHERE key > ? AND key <= ? ORDER BY key LIMIT ?", (after, last, limit)
    ).fetchall()
    for memory in memories.by_keys(connection, seen, [row[0] for row in keys]):
        _read_one(connection, memory)
    if len(keys) < limit:
        connection.execute("DELETE FROM meta WHERE name IN (?, ?)", (_UNREAD, _READ))
    else:
        connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_READ, keys[-1][0]))
    return len(keys)


def _read_one(connection: apsw.Connection, memory: Memory) -> None:
    scope = intern(connection, memory.scope)
    if memory.tier is Sensitivity.CLEARTEXT:
        naming.note(connection, scope, memory.key, memory.text, memory.speaker)
        facts.note(connection, scope, memory)
    values = (*told(memory.text, memory.speaker, memory.category), memory.key)
    connection.execute("UPDATE memories SET substance = ?, named = ? WHERE key = ?", values)
