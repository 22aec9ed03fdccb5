"""Facts that memories state of a subject, with the times since and until which they hold.

`SqliteFacts` is the table that the rules on contradiction work on (`rules/contradiction.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.guard.visibility import Visibility, readable, require_owner
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import entities, memory_rows
from engram.store.sqlite.rows import intern, micros
from engram.store.sqlite.visibility import predicate
from engram.types import Fact, Memory, Reader, Sensitivity
from engram.values.entities import Belief, RelatedFact
from engram.values.facts import CONTRADICTS, StoredFact

if TYPE_CHECKING:
    from engram.store.rule_ports import StoreRules
    from engram.store.sqlite.gate import Gate


_UNREAD_TO, _READ_TO, _FACTS_READ = "unread_to", "read_to", "facts_read"
"""Rows of `meta` during the backfill: the last memory to read, the last one read, and a mark that only mentions are missing."""


def _related(
    connection: apsw.Connection, seen: Visibility, column: str, wanted: Sequence[str] | Sequence[int], most: int
) -> list[RelatedFact]:
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT f.subject, f.predicate, f.object, m.confidence, m.id
          FROM facts AS f CROSS JOIN memories AS m ON m.key = f.memory
         WHERE f.{column} IN ({", ".join("?" * len(wanted))}) AND f.until IS NULL AND f.holds
           AND m.status IN ('active', 'challenged') AND m.tier = 'cleartext'
           AND m.source <> 'inferred' AND NOT m.flagged AND {visible}
           AND NOT EXISTS (SELECT 1 FROM edges AS g JOIN memories AS o
                              ON o.key = CASE WHEN g.source = m.key THEN g.target ELSE g.source END
                            WHERE g.kind = 'contradicts' AND (g.source = m.key OR g.target = m.key)
                              AND o.status IN ('active', 'challenged'))
         ORDER BY m.confidence DESC, f.memory, f.number LIMIT ?
    """
    found: list[Any] = connection.execute(sql, (*wanted, *values, most)).fetchall() if wanted else []
    return [RelatedFact(*row) for row in found]


FACT = ", ".join(sealed.read_side("facts", column, "f") for column in ("subject", "predicate", "object"))
"""SQL of the subject, predicate and object of a fact, unsealed."""


_PUT = f"""
    INSERT OR REPLACE INTO facts (memory, number, subject, predicate, object, single, holds, since, until)
    VALUES (?1, ?2, {sealed.write_side("facts", "subject", "?3", "?10")}, {sealed.write_side("facts", "predicate", "?4", "?10")},
            {sealed.write_side("facts", "object", "?5", "?10")}, ?6, ?7, ?8, ?9)
"""

_RIVALS = f"""
    SELECT f.memory, f.number, {sealed.read_side("facts", "object", "f")}, f.single, f.since, m.id, m.confidence, m.pinned,
           {sealed.read_words("text")}, m.speaker, m.learned_at, m.happened_until IS NOT NULL
      FROM facts AS f JOIN memories AS m ON m.key = f.memory JOIN contents AS c ON c.memory = m.key
     WHERE f.subject IN ({sealed.both_forms("facts", "subject", "?1")}) AND f.until IS NULL AND f.holds AND f.memory <> ?3
       AND f.predicate IN ({sealed.both_forms("facts", "predicate", "?2")}) AND m.scope = ?4
       AND m.status IN ('active', 'challenged')
"""


class SqliteFacts:
    """The facts of one scope in one transaction, as the rules on contradiction see them (`FactTable`)."""

    def __init__(self, connection: apsw.Connection, scope: int) -> None:
        self._connection = connection
        self._scope = scope
        self.entities = entities.SqliteEntities(connection, scope)

    def rivals(self, subject: str, predicate: str, besides: int) -> list[StoredFact]:
        """Return the facts with this subject and predicate that hold, of all active memories except `besides`."""
        values = (subject, predicate, besides, self._scope)
        found: list[Any] = self._connection.execute(_RIVALS, values).fetchall()
        return [
            StoredFact(
                memory=key,
                number=number,
                fact=Fact(subject, predicate, thing, bool(single)),
                since=_at(since),
                said=_at(self._said(key, learned)),
                dated=bool(dated),
                memory_id=memory_id,
                confidence=confidence,
                pinned=bool(pinned),
                text=text,
                speaker=speaker,
            )
            for key, number, thing, single, since, memory_id, confidence, pinned, text, speaker, learned, dated in found
        ]

    def of(self, memory: int) -> list[Fact]:
        """Return the facts of a memory that hold, and those that state an end."""
        sql = f"SELECT {FACT}, f.single, f.holds FROM facts AS f WHERE f.memory = ? AND (f.until IS NULL OR NOT f.holds)"
        found: list[Any] = self._connection.execute(sql, (memory,)).fetchall()
        return [Fact(subject, said, thing, bool(single), bool(holds)) for subject, said, thing, single, holds in found]

    def put(self, memory: Memory, number: int, fact: Fact, since: datetime | None, until: datetime | None) -> None:
        """Store a fact of a memory under its number."""
        figures = (fact.single, fact.holds, micros(since), micros(until), memory.tier)
        self._connection.execute(_PUT, (memory.key, number, fact.subject, fact.predicate, fact.object, *figures))

    def end(self, memory: int, number: int, at: datetime | None) -> None:
        """Record that a fact has ended."""
        self._connection.execute("UPDATE facts SET until = ? WHERE memory = ? AND number = ?", (micros(at), memory, number))

    def holding(self, memory: int) -> int:
        """Return the number of facts of a memory that have not ended."""
        return int(self._connection.execute("SELECT count(*) FROM facts WHERE memory = ? AND until IS NULL", (memory,)).get)

    def said_at(self, memory: Memory) -> datetime | None:
        """Return when a memory was last stated: the time of its last turn, else when it was learned."""
        return _at(self._said(memory.key, micros(memory.learned_at)))

    def _said(self, memory: int, learned: int | None) -> int | None:
        sql = "SELECT max(t.at) FROM sources AS s JOIN turns AS t ON t.key = s.turn WHERE s.memory = ?"
        found = self._connection.execute(sql, (memory,)).get
        return learned if found is None else int(found)


def is_contested(connection: apsw.Connection, memory: int) -> bool:
    """Return True if a memory has an edge of the kind `contradicts`."""
    sql = "SELECT EXISTS (SELECT 1 FROM edges WHERE kind = ? AND (source = ? OR target = ?))"
    return bool(connection.execute(sql, (CONTRADICTS, memory, memory)).get)


def end(connection: apsw.Connection, memory: int, now: datetime) -> None:
    """End all facts of a memory."""
    connection.execute("UPDATE facts SET until = ? WHERE memory = ? AND until IS NULL", (to_micros(now), memory))


def reopen(connection: apsw.Connection, memory: int) -> None:
    """Let all facts of a memory hold again, except those that state an end."""
    connection.execute("UPDATE facts SET until = NULL WHERE memory = ? AND holds", (memory,))


def forget(connection: apsw.Connection, rules: StoreRules, memory: int) -> None:
    """Overwrite and delete the facts and the mentions of a memory."""
    connection.execute("UPDATE facts SET subject = '', predicate = '', object = '' WHERE memory = ?", (memory,))
    connection.execute("DELETE FROM facts WHERE memory = ?", (memory,))
    entities.forget_mentions(connection, rules, memory)


def _at(moment: int | None) -> datetime | None:
    return None if moment is None else from_micros(moment)


def _backfill_page(connection: apsw.Connection, rules: StoreRules, seen: Visibility, limit: int) -> int:
    last = connection.execute("SELECT value FROM meta WHERE name = ?", (_UNREAD_TO,)).get
    after = connection.execute("SELECT value FROM meta WHERE name = ?", (_READ_TO,)).get or 0
    if last is None:
        return 0
    keys: list[Any] = connection.execute(
        "SELECT key FROM memories WHERE key > ? AND key <= ? ORDER BY key LIMIT ?", (after, last, limit)
    ).fetchall()
    facts_read = connection.execute("SELECT 1 FROM meta WHERE name = ?", (_FACTS_READ,)).get
    for memory in memory_rows.by_keys(connection, seen, [row[0] for row in keys]):
        if memory.tier is Sensitivity.CLEARTEXT:
            _backfill_mentions(connection, rules, memory)
        if not facts_read:
            _backfill_facts(connection, rules, memory)
    if len(keys) < limit:
        connection.execute("DELETE FROM meta WHERE name IN (?, ?, ?)", (_UNREAD_TO, _READ_TO, _FACTS_READ))
    else:
        connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_READ_TO, keys[-1][0]))
    return len(keys)


def _backfill_mentions(connection: apsw.Connection, rules: StoreRules, memory: Memory) -> None:
    """Store the mentions of a memory from a release that had none, or none with their words."""
    table = entities.SqliteEntities(connection, intern(connection, memory.scope))
    rules.record_mentions(table, memory.key, rules.read(memory, ()).mentions)


def _backfill_facts(connection: apsw.Connection, rules: StoreRules, memory: Memory) -> None:
    """Store the facts and figures of a memory from a release that had none. No memory is superseded by them."""
    if memory.tier is Sensitivity.CLEARTEXT:
        rules.record_facts(SqliteFacts(connection, intern(connection, memory.scope)), memory, rules.read(memory, None, ()).facts)
    values = (*sealed.informativeness(connection, memory), memory.key)
    connection.execute("UPDATE memories SET substance = ?, named = ? WHERE key = ?", values)


class Facts:
    """Facts that memories state of a subject, with their times."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def beliefs(self, reader: Reader, subject: str, *, past: bool = False) -> list[Belief]:
        """Return the facts of a subject that hold, the newest first; with `past`, also those that held."""
        with self._gate.read(reader, "beliefs") as connection:
            return beliefs(connection, self._gate.rules, readable(reader), self._gate.rules.folded(subject), past)

    def by(self, reader: Reader, keys: Sequence[int]) -> list[RelatedFact]:
        """Return the facts of these memories."""
        with self._gate.read(reader, "relations") as connection:
            return _related(connection, readable(reader), "memory", keys, -1)

    def of(self, reader: Reader, names: Sequence[str], *, backwards: bool = False, most: int) -> list[RelatedFact]:
        """Return the facts whose subject, or with `backwards` whose object, is one of these names; the surest first."""
        with self._gate.read(reader, "relations") as connection:
            return _related(connection, readable(reader), "object" if backwards else "subject", names, most)

    def exists(self, reader: Reader, subject: str, what: str) -> bool:
        """Return True if any memory states or stated this predicate of a subject, whatever its confidence."""
        visible, values = predicate(readable(reader), "m.scope")
        sql = f"""
            SELECT EXISTS (SELECT 1 FROM facts AS f CROSS JOIN memories AS m ON m.key = f.memory
             WHERE f.subject IN ({sealed.both_forms("facts", "subject", "?1")})
               AND f.predicate IN ({sealed.both_forms("facts", "predicate", "?2")}) AND {visible})
        """
        with self._gate.read(reader, "relations") as connection:
            return bool(connection.execute(sql, (subject, what, *values)).get)

    def matching(self, reader: Reader, what: str, *, most: int) -> list[RelatedFact]:
        """Return the facts with this predicate, the surest first."""
        with self._gate.read(reader, "relations") as connection:
            return _related(connection, readable(reader), "predicate", [what], most)

    def backfill(self, reader: Reader, *, limit: int) -> int:
        """Read the mentions and facts of a page of memories from releases that stored none; return how many were read.

        No memory is superseded by it.
        """
        with self._gate.watched(reader, "read_old"):
            require_owner(reader, "reading all that is kept")
            if not self._needs_backfill():
                return 0
            return self._gate.write(
                reader,
                "read_old",
                lambda connection: _backfill_page(connection, self._gate.rules, readable(reader), limit),
                count=0,
            )

    def _needs_backfill(self) -> bool:
        with self._gate.readers.use("entities") as connection:
            return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM meta WHERE name = ?)", (_UNREAD_TO,)).get)


def beliefs(connection: apsw.Connection, rules: StoreRules, seen: Visibility, subject: str, past: bool) -> list[Belief]:
    visible, values = predicate(seen, "m.scope")
    keys = entities.keys_called(connection, seen, subject)
    names: list[Any] = connection.execute(
        f"SELECT name FROM entities WHERE key IN ({', '.join('?' * len(keys))})", keys
    ).fetchall()
    subjects = list(dict.fromkeys([subject, *(rules.folded(row[0]) for row in names)]))
    any_form = ", ".join(sealed.both_forms("facts", "subject", f"?{n + 1}") for n in range(len(subjects)))
    present = "" if past else " AND f.until IS NULL AND f.holds AND m.status IN ('active', 'challenged')"
    found: list[Any] = connection.execute(
        f"""
        SELECT {FACT}, m.confidence, f.since, f.until, m.id, m.status,
               (SELECT group_concat(o.confidence) FROM edges AS g JOIN memories AS o
                    ON o.key = CASE WHEN g.source = m.key THEN g.target ELSE g.source END
                 WHERE g.kind = 'contradicts' AND (g.source = m.key OR g.target = m.key)
                              AND o.status IN ('active', 'challenged'))
          FROM facts AS f JOIN memories AS m ON m.key = f.memory
         WHERE f.subject IN ({any_form}) AND {visible}{present} ORDER BY f.since DESC, f.memory DESC
        """,
        (*subjects, *values),
    ).fetchall()
    return [_belief(rules, row) for row in found]


def _belief(rules: StoreRules, row: Sequence[Any]) -> Belief:
    subject, said, thing, confidence, since, until, memory_id, state, against = row
    strengths = [float(confidence) for confidence in str(against).split(",")] if against else []
    status = "retracted" if until is not None or state != "active" else rules.epistemic_status(confidence, strengths)
    return Belief(subject, said, thing, status, confidence, _at(since), _at(until), memory_id)
