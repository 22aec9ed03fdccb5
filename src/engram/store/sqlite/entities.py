"""Entities: the people, places and things that memories mention, their names, and their mentions.

An entity belongs to a scope, as memories do. `SqliteEntities` is the table that the rules on entities work on
(`rules/entities.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros
from engram.errors import NotFound
from engram.guard.visibility import Visibility, readable, require_writable, require_writer, writable
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import memory_rows
from engram.store.sqlite.rows import intern, micros
from engram.store.sqlite.visibility import predicate
from engram.types import Memory, Reader, Scope
from engram.values.entities import Entity, EntityAction, EntityDecision, Mention, RoleTenure, StoredMention, Tenure
from engram.values.frozen import replace

if TYPE_CHECKING:
    from engram.store.receipts import ReceiptRequest
    from engram.store.rule_ports import StoreRules
    from engram.store.sqlite.gate import Gate


def _most_mentioned(connection: apsw.Connection, seen: Visibility, kind: str | None, limit: int) -> list[Entity]:
    visible, values = predicate(seen, "m.scope")
    of_kind, kinds = ("", ()) if kind is None else (" AND e.kind = ?", (kind,))
    found: list[Any] = connection.execute(
        f"""
        SELECT e.name, e.kind, count(DISTINCT m.key) AS times,
               min(coalesce(m.happened_at, m.learned_at)), max(coalesce(m.happened_at, m.learned_at))
          FROM entities AS e JOIN mentions AS n ON n.entity = e.key JOIN memories AS m ON m.key = n.memory
         WHERE m.status IN ('active', 'challenged') AND {visible}{of_kind}
         GROUP BY e.name, e.kind ORDER BY times DESC, e.name LIMIT ?
        """,
        (*values, *kinds, limit),
    ).fetchall()
    return [Entity(name, of, (), count, from_micros(first), from_micros(last)) for name, of, count, first, last in found]


def keys_called(connection: apsw.Connection, seen: Visibility, name: str) -> list[int]:
    """Return the keys of the entities that have this name, or had it last, in the scopes of `seen`; one in each scope."""
    visible, values = predicate(seen, "scope")
    sql = f"SELECT scope, entity FROM aliases WHERE name = ? AND {visible} ORDER BY until <> 0, until DESC, since DESC"
    found: list[Any] = connection.execute(sql, (name, *values)).fetchall()
    return list(dict(reversed(found)).values())


def tenure(entity: int, since: int | None, until: int) -> Tenure:
    return Tenure(entity, None if since is None else from_micros(since), from_micros(until) if until else None)


def _to_json(words: Sequence[str]) -> str:
    return json.dumps(words, ensure_ascii=False) if words else ""


def _from_json(text: str) -> tuple[str, ...]:
    return tuple(json.loads(text)) if text else ()


def _entity_called(connection: apsw.Connection, seen: Visibility, name: str) -> tuple[Entity, list[int]] | None:
    keys = keys_called(connection, seen, name)
    marks = ", ".join("?" * len(keys))
    visible, values = predicate(seen, "m.scope")
    rows: list[Any] = connection.execute(
        f"""
        SELECT DISTINCT m.key, coalesce(m.happened_at, m.learned_at) AS at
          FROM mentions AS n JOIN memories AS m ON m.key = n.memory
         WHERE n.entity IN ({marks}) AND m.status IN ('active', 'challenged') AND {visible} ORDER BY at DESC, m.key DESC
        """,
        (*keys, *values),
    ).fetchall()
    if not rows:
        return None
    own_names: list[Any] = connection.execute(f"SELECT name, kind FROM entities WHERE key IN ({marks})", keys).fetchall()
    name, kind = max(own_names, key=lambda row: len(row[0]))
    names: list[Any] = connection.execute(
        f"SELECT DISTINCT name FROM aliases WHERE entity IN ({marks}) AND until = 0 ORDER BY name", keys
    ).fetchall()
    entity = Entity(name, kind, tuple(row[0] for row in names), len(rows), from_micros(rows[-1][1]), from_micros(rows[0][1]))
    return entity, [row[0] for row in rows]


def _tenures(connection: apsw.Connection, seen: Visibility, column: str, wanted: Sequence[str | int]) -> list[RoleTenure]:
    """Return the tenures of roles whose column, `name` or `entity`, has one of these values, the latest first."""
    visible, values = predicate(seen, "a.scope")
    found: list[Any] = connection.execute(
        f"""
        SELECT a.name, e.name, a.since, a.until FROM aliases AS a JOIN entities AS e ON e.key = a.entity
         WHERE a.{column} IN ({", ".join("?" * len(wanted))}) AND (a.since IS NOT NULL OR a.until <> 0) AND {visible}
         ORDER BY a.until <> 0, coalesce(a.since, a.until) DESC, a.name
        """,
        (*wanted, *values),
    ).fetchall()
    return [
        RoleTenure(role, holder, None if since is None else from_micros(since), from_micros(until) if until else None)
        for role, holder, since, until in found
    ]


def _cooccurring(connection: apsw.Connection, seen: Visibility, name: str, limit: int) -> list[tuple[str, int]]:
    keys = keys_called(connection, seen, name)
    marks = ", ".join("?" * len(keys))
    visible, values = predicate(seen, "m.scope")
    found: list[Any] = connection.execute(
        f"""
        SELECT e.name, count(DISTINCT m.key) FROM mentions AS n JOIN memories AS m ON m.key = n.memory
          JOIN mentions AS o ON o.memory = n.memory JOIN entities AS e ON e.key = o.entity
         WHERE n.entity IN ({marks}) AND o.entity NOT IN ({marks}) AND m.status IN ('active', 'challenged') AND {visible}
         GROUP BY e.name ORDER BY count(DISTINCT m.key) DESC, e.name LIMIT ?
        """,
        (*keys, *keys, *values, limit),
    ).fetchall()
    return [(other, count) for other, count in found]


class SqliteEntities:
    """The entity tables of one scope in one transaction, as the rules on entities see them (`EntityTable`)."""

    def __init__(self, connection: apsw.Connection, scope: int) -> None:
        self._connection = connection
        self._scope = scope
        self._decisions: tuple[EntityDecision, ...] | None = None

    def called(self, name: str) -> int | None:
        """Return the entity that has this name now; None if there is none, or several have it."""
        found = self._rows("SELECT entity FROM aliases WHERE name = ? AND scope = ? AND until = 0", name, self._scope)
        return int(found[0][0]) if len(found) == 1 else None

    def describe(self, entity: int) -> tuple[str, str]:
        """Return the own name and the kind of an entity."""
        name, kind = self._rows("SELECT name, kind FROM entities WHERE key = ?", entity)[0]
        return str(name), str(kind)

    def names_of(self, entity: int) -> set[str]:
        """Return all names that an entity has now."""
        return {row[0] for row in self._rows("SELECT name FROM aliases WHERE entity = ? AND until = 0", entity)}

    def beginning(self, letters: str) -> list[tuple[str, int]]:
        """Return the names that begin so, each with its entity."""
        sql = "SELECT name, entity FROM aliases WHERE name > ? AND name < ? AND scope = ? AND until = 0"
        return self._rows(sql, letters, f"{letters}\U0010ffff", self._scope)

    def ending(self, letters: str) -> list[tuple[str, int]]:
        """Return the names that end so, each with its entity."""
        sql = "SELECT name, entity FROM aliases WHERE scope = ? AND until = 0 AND substr(name, -length(?2)) = ?2"
        return self._rows(sql, self._scope, letters)

    def holders(self, role: str) -> list[Tenure]:
        """Return the entities that have or had a role, in the order of their times."""
        sql = "SELECT entity, since, until FROM aliases WHERE name = ? AND scope = ?"
        order = "ORDER BY since IS NOT NULL, since, until = 0, until, entity"
        return [tenure(*row) for row in self._rows(f"{sql} {order}", role, self._scope)]

    def set_holders(self, role: str, tenures: Sequence[Tenure]) -> None:
        """Set the entities that have or had a role."""
        self._connection.execute("DELETE FROM aliases WHERE name = ? AND scope = ?", (role, self._scope))
        self._connection.executemany(
            "INSERT OR REPLACE INTO aliases (name, scope, until, entity, since) VALUES (?, ?, ?, ?, ?)",
            ((role, self._scope, micros(span.until) or 0, span.entity, micros(span.since)) for span in tenures),
        )

    def roles_of(self, entity: int) -> set[str]:
        """Return the roles that an entity has or had."""
        sql = "SELECT name FROM aliases WHERE entity = ? AND (since IS NOT NULL OR until <> 0)"
        return {row[0] for row in self._rows(sql, entity)}

    def said_at(self, memory: int) -> datetime | None:
        """Return the time that a memory speaks of: since when it holds, else when it happened or was learned."""
        at = self._rows("SELECT coalesce(valid_from, happened_at, learned_at) FROM memories WHERE key = ?", memory)
        return from_micros(at[0][0]) if at else None

    def id_of(self, memory: int) -> str:
        """Return the id of a memory."""
        return str(self._rows("SELECT id FROM memories WHERE key = ?", memory)[0][0])

    def add(self, name: str, kind: str) -> int:
        """Add an entity and return its key."""
        self._connection.execute("INSERT INTO entities (scope, name, kind) VALUES (?, ?, ?)", (self._scope, name, kind))
        return self._connection.last_insert_rowid()

    def add_names(self, entity: int, names: Iterable[str]) -> None:
        """Add names of an entity. A name that belongs to another entity is skipped."""
        self._connection.executemany(
            """
            INSERT INTO aliases (scope, name, entity, until) SELECT ?1, ?2, ?3, 0
             WHERE NOT EXISTS (SELECT 1 FROM aliases WHERE name = ?2 AND scope = ?1 AND until = 0)
            """,
            ((self._scope, name, entity) for name in names if name),
        )

    def memories_naming(self, names: Sequence[str]) -> list[int]:
        """Return the memories that have a mention by one of these names. All mentions of the scope are read."""
        marks = ", ".join("?" * len(names))
        sql = f"""
            SELECT DISTINCT n.memory FROM mentions AS n JOIN memories AS m ON m.key = n.memory
             WHERE m.scope = ? AND m.tier = 'cleartext' AND lower(n.name) IN ({marks})
        """
        return [row[0] for row in self._rows(sql, self._scope, *names)]

    def decisions(self) -> tuple[EntityDecision, ...]:
        """Return the decisions by hand that were not taken back, in their order."""
        if self._decisions is None:
            sql = f"SELECT {DECISION} FROM entity_decisions AS d WHERE d.scope = ? AND d.undone_at IS NULL ORDER BY d.key"
            self._decisions = tuple(decision_of(*row) for row in self._rows(sql, self._scope))
        return self._decisions

    def remove_names(self, names: Iterable[str]) -> None:
        """Remove names, whichever entity has them."""
        self._connection.executemany("DELETE FROM aliases WHERE scope = ? AND name = ?", ((self._scope, name) for name in names))

    def rename(self, entity: int, name: str, kind: str) -> None:
        """Set the own name and the kind of an entity."""
        self._connection.execute("UPDATE entities SET name = ?, kind = ? WHERE key = ?", (name, kind, entity))

    def absorb(self, entity: int, twin: int) -> None:
        """Give the names and mentions of `twin` to `entity`, and remove `twin`."""
        self._connection.execute("UPDATE mentions SET entity = ? WHERE entity = ?", (entity, twin))
        self._connection.execute("UPDATE OR REPLACE aliases SET entity = ? WHERE entity = ?", (entity, twin))
        self._connection.execute("DELETE FROM entities WHERE key = ?", (twin,))

    def remove(self, entity: int) -> None:
        """Overwrite the name of an entity and delete it; by their references its names go with it, and its mentions mean none."""
        self._connection.execute("UPDATE entities SET name = '' WHERE key = ?", (entity,))
        self._connection.execute("DELETE FROM entities WHERE key = ?", (entity,))

    def put_mentions(self, memory: int, mentions: Sequence[Mention]) -> None:
        """Store the mentions of a memory, numbered from 0, in place of those it had. The memory is cleartext, and so are they."""
        self._connection.execute("DELETE FROM mentions WHERE memory = ?", (memory,))
        self._connection.executemany(
            "INSERT INTO mentions (memory, number, name, kind, aliases, is_speaker) VALUES (?, ?, ?, ?, ?, ?)",
            (
                (memory, number, said.name, said.kind, _to_json(said.aliases), said.is_speaker)
                for number, said in enumerate(mentions)
            ),
        )

    def link(self, memory: int, number: int, entity: int | None) -> None:
        """Record which entity a mention means."""
        sql = "UPDATE mentions SET entity = ? WHERE memory = ? AND number = ?"
        self._connection.execute(sql, (entity, memory, number))

    def unlink(self, memory: int, entity: int) -> None:
        """Record that no mention of a memory means this entity."""
        self._connection.execute("UPDATE mentions SET entity = NULL WHERE memory = ? AND entity = ?", (memory, entity))

    def mentions_of(self, memory: int) -> list[StoredMention]:
        """Return the mentions of a memory."""
        return self._mentions("n.memory = ? ORDER BY n.number", memory)

    def mentions_meaning(self, entity: int, limit: int = -1, besides: int = 0) -> list[StoredMention]:
        """Return the mentions that mean an entity, those of the latest memories first, except the memory `besides`."""
        return self._mentions("n.entity = ? AND n.memory <> ? ORDER BY n.memory DESC, n.number LIMIT ?", entity, besides, limit)

    def aliasing(self, entity: int) -> list[StoredMention]:
        """Return the mentions that mean an entity and give it other names."""
        return self._mentions("n.entity = ? AND n.aliases <> '' ORDER BY n.memory, n.number", entity)

    def naming_role(self, role: str) -> list[StoredMention]:
        """Return the mentions by this role alone, whomever they mean."""
        own_scope = "(SELECT m.scope FROM memories AS m WHERE m.key = n.memory AND m.tier = 'cleartext') = ?2"
        named = "lower(n.name) IN (?1, 'the ' || ?1) AND instr(n.name, '''s ') > 0"
        return self._mentions(f"{named} AND {own_scope} ORDER BY n.memory, n.number", role, self._scope)

    def _mentions(self, which: str, *values: int | str) -> list[StoredMention]:
        rows = self._rows(f"SELECT n.memory, n.number, n.entity, {_SAID} FROM mentions AS n WHERE {which}", *values)
        return [
            StoredMention(memory, number, entity, Mention(name, kind, _from_json(aliases), bool(is_speaker)))
            for memory, number, entity, name, kind, aliases, is_speaker in rows
        ]

    def mentioned_in(self, memory: int) -> list[int]:
        """Return the entities that a memory mentions."""
        sql = "SELECT DISTINCT entity FROM mentions WHERE memory = ? AND entity IS NOT NULL"
        return [row[0] for row in self._rows(sql, memory)]

    def memories_of(self, entity: int) -> list[int]:
        """Return the memories that mention an entity."""
        return [row[0] for row in self._rows("SELECT DISTINCT memory FROM mentions WHERE entity = ?", entity)]

    def rename_subject(self, old: str, new: str) -> None:
        """Rename the subject `old` in all facts of the scope."""
        self._connection.execute(_RENAME_SUBJECT, (new, old, self._scope))

    def set_subject(self, memory: int, old: str, new: str) -> None:
        """Rename the subject `old` in the facts of one memory."""
        self._connection.execute(_SET_SUBJECT, (new, old, memory))

    def _rows(self, sql: str, *values: int | str) -> list[Any]:
        return self._connection.execute(sql, values).fetchall()


DECISION = "d.id, d.action, unseal(d.body, d.scope, 'decision/' || d.id), d.at, d.undone_at"
"""SQL of a decision by hand, for `decision_of`."""


def decision_of(decision_id: str, action: str, body: str, at: int, undone_at: int | None) -> EntityDecision:
    """Return the decision of a row."""
    said = json.loads(body)
    return EntityDecision(
        id=decision_id,
        action=EntityAction(action),
        name=said["name"],
        other=said["other"],
        names=tuple(said["names"]),
        memories=tuple(said["memories"]),
        reason=said["reason"],
        at=from_micros(at),
        undone_at=None if undone_at is None else from_micros(undone_at),
    )


_SAID = f"{sealed.read_side('mentions', 'name', 'n')}, n.kind, {sealed.read_side('mentions', 'aliases', 'n')}, n.is_speaker"

_NEW_SUBJECT = f"""
    UPDATE facts SET subject = {sealed.write_side("facts", "subject", "?1", "(SELECT tier FROM memories WHERE key = memory)")}
     WHERE subject IN ({sealed.both_forms("facts", "subject", "?2")})
"""
_RENAME_SUBJECT = f"{_NEW_SUBJECT} AND memory IN (SELECT key FROM memories WHERE scope = ?3)"
_SET_SUBJECT = f"{_NEW_SUBJECT} AND memory = ?3"


def unlink_mentions(connection: apsw.Connection, rules: StoreRules, memory: int) -> None:
    """Let the mentions of a memory mean no entity, and remove every name that only it gave. Its row must still exist."""
    scope = connection.execute("SELECT scope FROM memories WHERE key = ?", (memory,)).get
    if scope is not None:
        rules.forget_mentions(SqliteEntities(connection, int(scope)), memory)


def forget_mentions(connection: apsw.Connection, rules: StoreRules, memory: int) -> None:
    """Overwrite and delete the mentions of a memory, and remove every name that only it gave. Its row must still exist."""
    unlink_mentions(connection, rules, memory)
    connection.execute("UPDATE mentions SET name = '', aliases = '' WHERE memory = ?", (memory,))
    connection.execute("DELETE FROM mentions WHERE memory = ?", (memory,))


def drop_borrowed_mentions(connection: apsw.Connection, rules: StoreRules, erased: Sequence[Memory], names: set[str]) -> None:
    """Remove mentions by these folded names from memories whose own words do not give them, of the sessions of erased ones.

    Such a name may have been read out of the erased words: "she" in the next sentence.
    """
    for scope, session in {(memory.scope, memory.session) for memory in erased}:
        table = SqliteEntities(connection, intern(connection, scope))
        for key in table.memories_naming(sorted(names)):
            memory, said = memory_rows.by_key(connection, key), table.mentions_of(key)
            words = memory.words.casefold()
            kept = [one.said for one in said if one.said.is_speaker or one.said.name.casefold() in words or _is_role(one.said)]
            if memory.session == session and len(kept) < len(said):
                rules.forget_mentions(table, key)
                rules.record_mentions(table, key, kept)


def _is_role(mention: Mention) -> bool:
    """True for a name that is made of the words and not in them: "the user's manager" for "my manager"."""
    return "'s " in mention.name


def stored_mentions(connection: apsw.Connection, memory: Memory) -> tuple[Mention, ...] | None:
    """Return the mentions that are stored of a memory; None if there are none, so that its words are to be read."""
    found = SqliteEntities(connection, 0).mentions_of(memory.key)
    return tuple(mention.said for mention in found) or None


class Entities:
    """Entities: people, places and things that memories mention."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def select(self, reader: Reader, *, kind: str | None = None, limit: int = 50) -> list[Entity]:
        """Return the entities that the reader's memories mention, the most mentioned first."""
        with self._gate.read(reader, "entities") as connection:
            return _most_mentioned(connection, readable(reader), kind, limit)

    def get(self, reader: Reader, name: str) -> tuple[Entity, list[int]] | None:
        """Return the entity of this name and the keys of the active memories that mention it, the latest first."""
        with self._gate.read(reader, "entity") as connection:
            return _entity_called(connection, readable(reader), self._gate.rules.folded(name))

    def roles(self, reader: Reader, name: str) -> tuple[list[RoleTenure], list[RoleTenure]]:
        """Return the roles that the entity of this name has and had, and all who have or had the role of this name."""
        with self._gate.read(reader, "entity") as connection:
            seen, asked = readable(reader), self._gate.rules.folded(name)
            own = _tenures(connection, seen, "entity", keys_called(connection, seen, asked))
            return own, _tenures(connection, seen, "name", [asked])

    def speakers(self, reader: Reader) -> list[str]:
        """Return the speakers of visible memories, each once, in the order of the alphabet."""
        with self._gate.read(reader, "entity") as connection:
            visible, values = predicate(readable(reader), "m.scope")
            sql = f"SELECT DISTINCT m.speaker FROM memories AS m WHERE m.speaker <> '' AND {visible} ORDER BY m.speaker"
            found: list[Any] = connection.execute(sql, values).fetchall()
            return [row[0] for row in found]

    def mentions(self, reader: Reader, memory_id: str) -> list[str]:
        """Return the names of the entities that a memory mentions."""
        with self._gate.read(reader, "entity") as connection:
            key = memory_rows.required(connection, readable(reader), memory_id).key
            named = "SELECT DISTINCT e.name FROM mentions AS n JOIN entities AS e ON e.key = n.entity WHERE n.memory = ?"
            found: list[Any] = connection.execute(f"{named} ORDER BY e.name", (key,)).fetchall()
            return [row[0] for row in found]

    def cooccurring(self, reader: Reader, name: str, *, limit: int = 10) -> list[tuple[str, int]]:
        """Return the entities mentioned in the same memories, each with the number of those memories."""
        with self._gate.read(reader, "entity") as connection:
            return _cooccurring(connection, readable(reader), self._gate.rules.folded(name), limit)

    def decide(self, reader: Reader, decision: EntityDecision, *, receipt: ReceiptRequest | None = None) -> EntityDecision:
        """Store a decision by hand in every scope that the reader may write and that knows the entity; return it completed.

        Its id and time are set here; its names and memories, by id, are those that the caller gives.
        """
        from engram.store.sqlite import entity_decisions  # late, for the start-up time of a hook

        with self._gate.watched(reader, "decide_entity"):
            require_writer(reader)
            entity_decisions.check(decision, self._gate.live.now.summary_bytes)
            made = replace(decision, id=self._gate.env.new_id(), at=self._gate.env.now(), undone_at=None)
            rules = self._gate.rules

            def work(connection: apsw.Connection) -> EntityDecision:
                owned = writable(reader)
                scopes = entity_decisions.scopes_knowing(connection, owned, rules.folded(made.name))
                if made.action is EntityAction.MERGE:
                    others = entity_decisions.scopes_knowing(connection, owned, rules.folded(made.other))
                    scopes = [scope for scope in scopes if scope in others] or scopes[:1]
                if not scopes:
                    raise NotFound("no entity of that name is known here.", way_out="`engram entities` lists those that are.")
                whole = {scope: entity_decisions.completed(connection, rules, owned, scope, made) for scope in scopes}
                for scope, one in whole.items():
                    entity_decisions.put(connection, rules, scope, one)
                return whole[scopes[0]]

            return self._gate.write(reader, "decide_entity", work, subject=made.id, receipt=receipt)

    def undo_decision(self, reader: Reader, decision_id: str, *, receipt: ReceiptRequest | None = None) -> EntityDecision:
        """Take a decision by hand back; return it with the time of this."""
        from engram.store.sqlite import entity_decisions  # late, as in `decide`

        with self._gate.watched(reader, "undo_entity_decision", decision_id):
            now = self._gate.env.now()
            return self._gate.write(
                reader,
                "undo_entity_decision",
                lambda connection: entity_decisions.take_back(connection, self._gate.rules, writable(reader), decision_id, now),
                subject=decision_id,
                receipt=receipt,
            )

    def decisions(self, reader: Reader, *, limit: int) -> list[tuple[Scope, EntityDecision]]:
        """Return the decisions by hand of visible scopes, the latest first, those taken back among them, each with its scope."""
        from engram.store.sqlite import entity_decisions  # late, as in `decide`

        with self._gate.read(reader, "entity_decisions") as connection:
            return entity_decisions.select(connection, readable(reader), limit)

    def adopt_decisions(self, reader: Reader, scope: Scope, decisions: Sequence[EntityDecision]) -> int:
        """Store decisions by hand of another vault in a scope, except those that stand there already; return how many.

        Their memories are ids of this vault.
        """
        from engram.store.sqlite import entity_decisions  # late, as in `decide`

        with self._gate.watched(reader, "decide_entity"):
            require_writable(reader, scope)
            for decision in decisions:
                entity_decisions.check(decision, self._gate.live.now.summary_bytes)
            ids = [self._gate.env.new_id() for _ in decisions]
            return self._gate.write(
                reader,
                "decide_entity",
                lambda connection: entity_decisions.adopt(
                    connection, self._gate.rules, intern(connection, scope), decisions, ids
                ),
                count=len(decisions),
            )
