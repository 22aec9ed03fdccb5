"""Facts that memories state of a subject, with the times since and until which they hold.

`SqliteFacts` is the table that the rules on contradiction work on (`rules/contradiction.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import Conflict, NotFound
from engram.guard.visibility import Visibility, readable, require_owner, writable
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import entities, memory_rows
from engram.store.sqlite.rows import intern, micros
from engram.store.sqlite.visibility import predicate
from engram.types import Fact, Memory, Reader, Sensitivity, Source, Status, Strength
from engram.values.entities import Belief, BeliefQuery, FactNeighbour, RelatedFact
from engram.values.facts import CONTRADICTS, OUTDATES, SUPERSEDES, StoredFact
from engram.values.frozen import replace
from engram.values.memories import VALID, StatusChange

if TYPE_CHECKING:
    from engram.store.rule_ports import StoreRules
    from engram.store.sqlite.gate import Gate
    from engram.store.sqlite.reconciliation import Reconciliation


_UNREAD_TO, _READ_TO, _FACTS_READ = "unread_to", "read_to", "facts_read"
"""Rows of `meta` during the backfill: the last memory to read, the last one read, and a mark that only mentions are missing."""

_WEAK = "'hypothetical', 'hearsay'"
"""Strengths of facts that nothing is concluded from."""

_WITHDRAWN = "the fact that replaced it was withdrawn"

AT_ONCE = 500
"""Keys per statement: well under SQLite's limit on parameters."""


def _related(
    connection: apsw.Connection, seen: Visibility, column: str, wanted: Sequence[str] | Sequence[int], most: int
) -> list[RelatedFact]:
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT f.subject, f.predicate, f.object, m.confidence, m.id
          FROM facts AS f CROSS JOIN memories AS m ON m.key = f.memory
         WHERE f.{column} IN ({", ".join("?" * len(wanted))}) AND f.until IS NULL AND f.holds
           AND m.status IN ('active', 'challenged') AND m.tier = 'cleartext'
           AND m.source <> 'inferred' AND NOT m.flagged AND f.strength NOT IN ({_WEAK}) AND {visible}
           AND NOT EXISTS (SELECT 1 FROM edges AS g JOIN memories AS o
                              ON o.key = CASE WHEN g.source = m.key THEN g.target ELSE g.source END
                            WHERE g.kind = 'contradicts' AND (g.source = m.key OR g.target = m.key)
                              AND o.status IN ('active', 'challenged'))
         ORDER BY m.confidence DESC, f.memory, f.number LIMIT ?
    """
    found: list[Any] = connection.execute(sql, (*wanted, *values, most)).fetchall() if wanted else []
    return [RelatedFact(*row) for row in found]


DECIDING = f"('{SUPERSEDES}', '{OUTDATES}', '{CONTRADICTS}')"

ENDED = """coalesce(f.until, CASE m.status WHEN 'superseded'
    THEN (SELECT max(h.at) FROM status_history AS h WHERE h.memory = m.key AND h.new = 'superseded') END)"""
"""SQL of the end of a fact: its own, else that of a memory which was superseded for another reason than this fact."""

FACT = ", ".join(sealed.read_side("facts", column, "f") for column in ("subject", "predicate", "object"))
"""SQL of the subject, predicate and object of a fact, unsealed."""


_PUT = f"""
    INSERT OR REPLACE INTO facts
           (memory, number, subject, predicate, object, single, holds, since, until, strength, bound, teller)
    VALUES (?1, ?2, {sealed.write_side("facts", "subject", "?3", "?12")}, {sealed.write_side("facts", "predicate", "?4", "?12")},
            {sealed.write_side("facts", "object", "?5", "?12")}, ?6, ?7, ?8, ?9, ?10, ?11,
            {sealed.write_side("facts", "teller", "?13", "?12")})
"""

_RIVALS = f"""
    SELECT f.memory, f.number, {sealed.read_side("facts", "object", "f")}, f.single, f.since, f.strength, m.id, m.source,
           m.confidence, m.corroborations, m.pinned, {sealed.read_words("text")}, m.speaker, m.learned_at,
           m.happened_until IS NOT NULL OR f.since <> coalesce(m.happened_at, m.learned_at)
      FROM facts AS f JOIN memories AS m ON m.key = f.memory JOIN contents AS c ON c.memory = m.key
     WHERE f.subject IN ({sealed.both_forms("facts", "subject", "?1")}) AND f.holds AND f.memory <> ?3
       AND (f.until IS NULL OR (f.until IS f.bound AND f.until > ?5))
       AND f.predicate IN ({sealed.both_forms("facts", "predicate", "?2")}) AND m.scope = ?4
       AND m.status IN ('active', 'challenged')
"""

_OF_MEMORY = f"""
    SELECT {FACT}, f.single, f.holds, f.since, f.bound, f.strength, {sealed.read_side("facts", "teller", "f", "''")}
      FROM facts AS f WHERE f.memory = ?
"""


_STATED = f"""
    SELECT f.memory, {FACT}, f.single, f.holds,
           CASE WHEN f.since IS coalesce(m.happened_at, m.learned_at) AND (f.until IS f.bound OR NOT f.holds)
                THEN NULL ELSE f.since END,
           CASE WHEN f.holds THEN f.until ELSE f.bound END, f.strength, {sealed.read_side("facts", "teller", "f", "''")}
      FROM facts AS f JOIN memories AS m ON m.key = f.memory
"""


class SqliteFacts:
    """The facts of one scope in one transaction, as the rules on contradiction see them (`FactTable`)."""

    def __init__(self, connection: apsw.Connection, scope: int, rules: StoreRules) -> None:
        self._connection = connection
        self._scope = scope
        self._rules = rules
        self.entities = entities.SqliteEntities(connection, scope)

    def rivals(self, subject: str, predicate: str, besides: int, at: datetime | None) -> list[StoredFact]:
        """Return the facts with this subject and predicate that hold, of all active memories except `besides`."""
        values = (subject, predicate, besides, self._scope, micros(at) or 0)
        found: list[Any] = self._connection.execute(_RIVALS, values).fetchall()
        return [self._rival(subject, predicate, row) for row in found]

    def _rival(self, subject: str, predicate: str, row: Sequence[Any]) -> StoredFact:
        key, number, thing, single, since, strength, memory_id, source, confidence, witnesses, pinned, *said = row
        text, speaker, learned, dated = said
        return StoredFact(
            memory=key,
            number=number,
            fact=Fact(subject, predicate, thing, bool(single)),
            since=moment_of(since),
            said=moment_of(self._said(key, learned)),
            dated=bool(dated),
            memory_id=memory_id,
            confidence=confidence,
            weight=self._rules.weight(_strength(strength), Source(source), confidence, witnesses),
            pinned=bool(pinned),
            text=text,
            speaker=speaker,
        )

    def of(self, memory: int) -> list[Fact]:
        """Return the facts of a memory that hold and have no end, and those that state an end."""
        sql = f"{_OF_MEMORY} AND (f.until IS NULL OR NOT f.holds)"
        found: list[Any] = self._connection.execute(sql, (memory,)).fetchall()
        return [fact_of(row) for row in found]

    def put(self, memory: Memory, number: int, fact: Fact, since: datetime | None, until: datetime | None) -> None:
        """Store a fact of a memory under its number."""
        slot = (memory.key, number, fact.subject, fact.predicate, fact.object, fact.single, fact.holds)
        times = (micros(since), micros(until))
        values = (*slot, *times, fact.strength or "", micros(fact.until), memory.tier, fact.teller)
        self._connection.execute(_PUT, values)

    def end(self, memory: int, number: int, at: datetime | None) -> None:
        """Record that a fact has ended."""
        self._connection.execute("UPDATE facts SET until = ? WHERE memory = ? AND number = ?", (micros(at), memory, number))

    def holding(self, memory: int) -> int:
        """Return the number of facts of a memory that nothing has ended; those that were stated with an end are among them."""
        return int(self._connection.execute("SELECT count(*) FROM facts WHERE memory = ? AND until IS bound", (memory,)).get)

    def said_at(self, memory: Memory) -> datetime | None:
        """Return when a memory was last stated: the time of its last turn, else when it was learned."""
        return moment_of(self._said(memory.key, micros(memory.learned_at)))

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
    connection.execute(
        "UPDATE facts SET until = ?1 WHERE memory = ?2 AND (until IS NULL OR (until IS bound AND until > ?1))",
        (to_micros(now), memory),
    )


def reopen(connection: apsw.Connection, memory: int) -> None:
    """Let all facts of a memory hold again, up to the end that they were stated with; except those that state an end."""
    connection.execute("UPDATE facts SET until = bound WHERE memory = ? AND holds", (memory,))


def forget(connection: apsw.Connection, rules: StoreRules, memory: int) -> None:
    """Overwrite and delete the facts and the mentions of a memory."""
    connection.execute("UPDATE facts SET subject = '', predicate = '', object = '', teller = '' WHERE memory = ?", (memory,))
    connection.execute("DELETE FROM facts WHERE memory = ?", (memory,))
    entities.forget_mentions(connection, rules, memory)


def _next_number(connection: apsw.Connection, memory: Memory) -> int:
    last = connection.execute("SELECT max(number) FROM facts WHERE memory = ?", (memory.key,)).get
    return 0 if last is None else int(last) + 1


def _withdrawal(subject: str, what: str) -> str:
    """Return the reason in the history of a memory from which a fact was taken back; an import does not bring it back."""
    return f'the fact "{subject} {what}" was withdrawn'


def moment_of(moment: int | None) -> datetime | None:
    return None if moment is None else from_micros(moment)


def _strength(name: str) -> Strength | None:
    return Strength(name) if name else None


def fact_of(row: Sequence[Any]) -> Fact:
    subject, said, thing, single, holds, since, bound, strength, teller = row
    return Fact(subject, said, thing, bool(single), bool(holds), moment_of(since), moment_of(bound), _strength(strength), teller)


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
        memory_rows.put_languages(connection, memory.key, memory)
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
        table = SqliteFacts(connection, intern(connection, memory.scope), rules)
        rules.record_facts(table, memory, rules.read(memory, None, ()).facts)
    values = (*sealed.informativeness(connection, memory), memory.key)
    connection.execute("UPDATE memories SET substance = ?, named = ? WHERE key = ?", values)


class Facts:
    """Facts that memories state of a subject, with their times."""

    def __init__(self, gate: Gate, reconciliation: Reconciliation) -> None:
        self._gate = gate
        self._reconciliation = reconciliation

    def beliefs(self, reader: Reader, asked: BeliefQuery) -> list[Belief]:
        """Return the facts of a subject, the newest first."""
        from engram.store.sqlite.beliefs import believed  # late: it reads facts by this module

        folded = replace(asked, subject=self._gate.rules.folded(asked.subject))
        with self._gate.read(reader, "beliefs") as connection:
            return believed(connection, self._gate.rules, readable(reader), folded, self._gate.env.now())

    def by(self, reader: Reader, keys: Sequence[int]) -> list[RelatedFact]:
        """Return the facts of these memories."""
        with self._gate.read(reader, "relations") as connection:
            return _related(connection, readable(reader), "memory", keys, -1)

    def of(self, reader: Reader, names: Sequence[str], *, backwards: bool = False, most: int) -> list[RelatedFact]:
        """Return the facts whose subject, or with `backwards` whose object, is one of these names; the surest first."""
        with self._gate.read(reader, "relations") as connection:
            return _related(connection, readable(reader), "object" if backwards else "subject", names, most)

    def around(
        self, reader: Reader, names: Sequence[str], *, predicates: Sequence[str] = (), as_of: datetime | None = None, most: int
    ) -> list[FactNeighbour]:
        """Return the facts whose subject or object has one of these names, the surest first."""
        moment = micros(as_of or self._gate.env.now())
        with self._gate.read(reader, "relations") as connection:
            return _around(connection, readable(reader), names, predicates, as_of is not None, moment, most) if names else []

    def sharing(
        self, reader: Reader, slots: Sequence[tuple[str, str]], *, most: int
    ) -> dict[tuple[str, str], list[tuple[int, str]]]:
        """Return for each slot the keys of the latest memories that give it a single value, with that value."""
        with self._gate.read(reader, "relations") as connection:
            found: dict[tuple[str, str], list[tuple[int, str]]] = {}
            for start in range(0, len(slots), AT_ONCE // 2):
                for subject, said, key, thing in _sharing(
                    connection, readable(reader), slots[start : start + AT_ONCE // 2], most
                ):
                    found.setdefault((subject, said), []).append((key, thing))
            return found

    def state(self, reader: Reader, memory_id: str, stated: Sequence[Fact], *, receipt: ReceiptRequest | None = None) -> Memory:
        """Add facts to a memory that stands, with all that follows from them; they replace those of the same slots."""
        with self._gate.watched(reader, "state", memory_id):
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> Memory:
                memory = memory_rows.required(connection, writable(reader), memory_id)
                if memory.status not in VALID:
                    raise Conflict("this memory no longer stands.", way_out="Restore it first: `engram restore ID`.")
                for fact in stated:
                    self._withdraw(connection, reader, memory, fact.subject, fact.predicate, now)
                return self._reconciliation.state(connection, reader, memory, stated, _next_number(connection, memory), now)

            return self._gate.write(reader, "state", work, subject=memory_id, receipt=receipt)

    def withdraw(
        self, reader: Reader, memory_id: str, subject: str, what: str, *, receipt: ReceiptRequest | None = None
    ) -> Memory:
        """Take a fact from a memory. Beliefs of other memories that it had replaced hold again."""
        with self._gate.watched(reader, "withdraw", memory_id):
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> Memory:
                memory = memory_rows.required(connection, writable(reader), memory_id)
                withdrawn = self._withdraw(connection, reader, memory, subject, what, now)
                for name in withdrawn if memory.status in VALID else ():
                    change = StatusChange(memory.status, memory.status, _withdrawal(name, what), now)
                    memory_rows.log_status(connection, memory, change)
                if not withdrawn:
                    raise NotFound(
                        "this memory states nothing of that subject and predicate.",
                        way_out="`engram beliefs SUBJECT` lists them.",
                    )
                return memory

            return self._gate.write(reader, "withdraw", work, subject=memory_id, receipt=receipt)

    def _withdraw(
        self, connection: apsw.Connection, reader: Reader, memory: Memory, subject: str, what: str, now: datetime
    ) -> set[str]:
        """Take the facts of one slot from a memory and reinstate those that they had replaced; return their subjects."""
        rules, slot = self._gate.rules, "f.subject IN ({0}) AND f.predicate IN ({1})"
        names = names_of(connection, rules, readable(reader), subject)
        any_form = ", ".join(sealed.both_forms("facts", "subject", f"?{n + 3}") for n in range(len(names)))
        slot = slot.format(any_form, sealed.both_forms("facts", "predicate", "?2"))
        numbers: list[Any] = connection.execute(
            f"SELECT f.number, {sealed.read_side('facts', 'subject', 'f')} FROM facts AS f WHERE f.memory = ?1 AND {slot}",
            (memory.key, what, *names),
        ).fetchall()
        rivals: list[Any] = connection.execute(
            f"""
            SELECT DISTINCT f.memory, f.number, m.id, m.status FROM edges AS e
              JOIN facts AS f ON f.memory = e.target JOIN memories AS m ON m.key = f.memory
             WHERE e.source = ?1 AND e.kind IN {DECIDING} AND {slot}
            """,
            (memory.key, what, *names),
        ).fetchall()
        for number, _ in numbers:
            row = (memory.key, number)
            connection.execute(
                "UPDATE facts SET subject = '', predicate = '', object = '', teller = '' WHERE memory = ? AND number = ?", row
            )
            connection.execute("DELETE FROM facts WHERE memory = ? AND number = ?", row)
        for key, number, memory_id, status in rivals if numbers else ():
            connection.execute(f"DELETE FROM edges WHERE source = ? AND target = ? AND kind IN {DECIDING}", (memory.key, key))
            if status == Status.SUPERSEDED:
                self._reconciliation.set_status(connection, reader, memory_id, Status.ACTIVE, _WITHDRAWN, now)
            elif status in VALID:
                connection.execute("UPDATE facts SET until = bound WHERE memory = ? AND number = ? AND holds", (key, number))
        return {name for _, name in numbers}

    def adopt(self, reader: Reader, stated: Mapping[str, Sequence[Fact]]) -> int:
        """Add facts of another vault to memories that stand here, by id; return how many are new.

        A fact is left out where the memory states that slot already, or where it was withdrawn from it.
        """
        with self._gate.watched(reader, "state"):
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> int:
                added = 0
                for memory in memory_rows.by_ids(connection, writable(reader), list(stated)):
                    new = self._unknown(connection, reader, memory, stated[memory.id]) if memory.status in VALID else []
                    if new:
                        self._reconciliation.state(connection, reader, memory, new, _next_number(connection, memory), now)
                    added += len(new)
                return added

            return self._gate.write(reader, "state", work, count=len(stated))

    def _unknown(self, connection: apsw.Connection, reader: Reader, memory: Memory, stated: Sequence[Fact]) -> list[Fact]:
        """Return those of these facts that a memory does not state and that nobody withdrew from it."""
        known = [fact_of(row) for row in connection.execute(_OF_MEMORY, (memory.key,))]
        reasons = {change.reason for change in memory_rows.status_history(connection, readable(reader), memory.id)}
        new = []
        for fact in stated:
            names = names_of(connection, self._gate.rules, readable(reader), fact.subject)
            same = [one.object for one in known if one.subject in names and one.predicate == fact.predicate]
            withdrawn = any(_withdrawal(name, fact.predicate) in reasons for name in names)
            if not withdrawn and ((fact.object not in same and not fact.single) or not same):
                new.append(fact)
        return new

    def stated(self, reader: Reader, keys: Sequence[int]) -> dict[int, list[Fact]]:
        """Return the facts of these memories by key, of every status, with the ends that they have by now.

        A start that was not stated but is the date of the memory is left out.
        """
        visible, values = predicate(readable(reader), "m.scope")
        found: dict[int, list[Fact]] = {}
        with self._gate.read(reader, "relations") as connection:
            for start in range(0, len(keys), AT_ONCE):
                page = keys[start : start + AT_ONCE]
                sql = f"{_STATED} WHERE f.memory IN ({', '.join('?' * len(page))}) AND {visible} ORDER BY f.memory, f.number"
                for key, *fact in connection.execute(sql, (*page, *values)):
                    found.setdefault(key, []).append(fact_of(fact))
        return found

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
        """Read the mentions, facts and languages of a page of memories from releases that stored none; return how many.

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


def _named(visible: str, wanted: str) -> str:
    """Return the SQL of two tables: `asked`, the rows `wanted` of names, and `called`, with the other names of their entities."""
    return f"""
        WITH asked (name) AS (VALUES {wanted}),
             called (asked, name) AS (
                 SELECT name, name FROM asked
                  UNION
                 SELECT asked.name, b.name FROM asked CROSS JOIN aliases AS a ON a.name = asked.name AND {visible}
                  CROSS JOIN aliases AS b ON b.entity = a.entity)
    """


def _around(
    connection: apsw.Connection,
    seen: Visibility,
    names: Sequence[str],
    predicates: Sequence[str],
    then: bool,
    moment: int | None,
    most: int,
) -> list[FactNeighbour]:
    in_scope, scopes = predicate(seen, "a.scope")
    visible, values = predicate(seen, "m.scope")
    of_kind = f"AND f.predicate IN ({', '.join('?' * len(predicates))})" if predicates else ""
    if then:
        held = f"(f.since IS NULL OR f.since <= {moment}) AND ({ENDED} IS NULL OR {ENDED} > {moment})"
        statuses = "'active', 'challenged', 'superseded'"
    else:
        held, statuses = f"(f.until IS NULL OR f.until > {moment})", "'active', 'challenged'"
    arms = " UNION ALL ".join(
        f"""
        SELECT called.asked, f.subject, f.predicate, f.object, {column == "object"}, m.id, m.confidence AS sure, f.since,
               {ENDED}, f.memory, f.number
          FROM called CROSS JOIN facts AS f ON f.{column} = called.name CROSS JOIN memories AS m ON m.key = f.memory
         WHERE f.holds AND f.strength NOT IN ({_WEAK}) {of_kind} AND {held} AND m.status IN ({statuses})
           AND m.tier = 'cleartext' AND NOT m.flagged AND {visible}
        """
        for column in ("subject", "object")
    )
    table = _named(in_scope, ", ".join(["(?)"] * len(names)))
    rows: list[Any] = connection.execute(
        f"{table} SELECT * FROM ({arms}) ORDER BY sure DESC, memory, number LIMIT ?",
        (*names, *scopes, *predicates, *values, *predicates, *values, most),
    ).fetchall()
    return [
        FactNeighbour(name, subject, said, thing, bool(backwards), memory, sure, moment_of(since), moment_of(until))
        for name, subject, said, thing, backwards, memory, sure, since, until, _, _ in rows
    ]


def _sharing(
    connection: apsw.Connection, seen: Visibility, slots: Sequence[tuple[str, str]], most: int
) -> list[tuple[str, str, int, str]]:
    visible, values = predicate(seen, "m.scope")
    in_scope, scopes = predicate(seen, "a.scope")
    rows: list[Any] = connection.execute(
        f"""
        WITH slots (subject, predicate) AS (VALUES {", ".join(["(?, ?)"] * len(slots))}),
             called (subject, predicate, name) AS (
                 SELECT subject, predicate, subject FROM slots
                  UNION
                 SELECT slots.subject, slots.predicate, b.name FROM slots
                  CROSS JOIN aliases AS a ON a.name = slots.subject AND {in_scope} CROSS JOIN aliases AS b ON b.entity = a.entity)
        SELECT subject, predicate, memory, value FROM (
            SELECT c.subject, c.predicate, f.memory, {sealed.read_side("facts", "object", "f")} AS value,
                   row_number() OVER (PARTITION BY c.subject, c.predicate ORDER BY f.memory DESC) AS place
              FROM called AS c CROSS JOIN facts AS f ON f.subject = c.name AND f.predicate = c.predicate
             CROSS JOIN memories AS m ON m.key = f.memory
             WHERE f.single AND f.holds AND f.until IS NULL AND m.status IN ('active', 'challenged') AND NOT m.flagged
               AND {visible})
         WHERE place <= ? ORDER BY place
        """,
        (*(part for slot in slots for part in slot), *scopes, *values, most),
    ).fetchall()
    return rows


def names_of(connection: apsw.Connection, rules: StoreRules, seen: Visibility, name: str) -> list[str]:
    """Return a name and the own names of the entities that have it."""
    keys = entities.keys_called(connection, seen, name)
    sql = f"SELECT name FROM entities WHERE key IN ({', '.join('?' * len(keys))})"
    names: list[Any] = connection.execute(sql, keys).fetchall()
    return list(dict.fromkeys([name, *(rules.folded(row[0]) for row in names)]))
