"""The statements on who and what memories name: entities, the names they go by, and where they are named.

An entity belongs to a scope, as memories do: two agents that see nothing of each other know two of the same name. A name leads
to one entity in a scope. What a fuller wording tells of somebody is taken over: "Ada" becomes Ada Lovelace, "my manager" becomes
whoever that is said to be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros
from engram.guard.visibility import Visibility, readable, require_owner
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import facts, memory_rows
from engram.store.sqlite.rows import intern, predicate
from engram.text.english.entities import PERSON, TITLES, UNSURE, folded, mentions, other_names
from engram.types import Memory, Reader, Sensitivity
from engram.values.entities import Entity, Mention

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_UNREAD, _READ = "unread_to", "read_to"


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


def memory_keys(connection: apsw.Connection, seen: Visibility, name: str) -> list[int]:
    visible, values = predicate(seen, "scope")
    found: list[Any] = connection.execute(f"SELECT entity FROM aliases WHERE name = ? AND {visible}", (name, *values)).fetchall()
    return [row[0] for row in found]


def _entity_from_row(connection: apsw.Connection, seen: Visibility, name: str) -> tuple[Entity, list[int]] | None:
    keys = memory_keys(connection, seen, name)
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
    keys = memory_keys(connection, seen, name)
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


def _read_page(connection: apsw.Connection, seen: Visibility, limit: int) -> int:
    last = connection.execute("SELECT value FROM meta WHERE name = ?", (_UNREAD,)).get
    after = connection.execute("SELECT value FROM meta WHERE name = ?", (_READ,)).get or 0
    if last is None:
        return 0
    keys: list[Any] = connection.execute(
        "SELECT key FROM memories WHERE key > ? AND key <= ? ORDER BY key LIMIT ?", (after, last, limit)
    ).fetchall()
    for memory in memory_rows.by_keys(connection, seen, [row[0] for row in keys]):
        _read_one(connection, memory)
    if len(keys) < limit:
        connection.execute("DELETE FROM meta WHERE name IN (?, ?)", (_UNREAD, _READ))
    else:
        connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_READ, keys[-1][0]))
    return len(keys)


def _read_one(connection: apsw.Connection, memory: Memory) -> None:
    scope = intern(connection, memory.scope)
    if memory.tier is Sensitivity.CLEARTEXT:
        note(connection, scope, memory.key, memory.text, memory.speaker)
        facts.note(connection, scope, memory)
    values = (*sealed.informativeness(connection, memory), memory.key)
    connection.execute("UPDATE memories SET substance = ?, named = ? WHERE key = ?", values)


_SAID = "SELECT m.scope, c.text, m.speaker FROM memories AS m JOIN contents AS c ON c.memory = m.key WHERE m.key = ?"

_LOOKED_BACK = 2000

_WITNESSES = """
    SELECT c.text, m.speaker FROM mentions AS n JOIN memories AS m ON m.key = n.memory JOIN contents AS c ON c.memory = n.memory
     WHERE n.entity = ? AND n.memory <> ? ORDER BY n.memory DESC LIMIT 24
"""


def note(connection: apsw.Connection, scope: int, memory: int, text: str, speaker: str) -> None:
    """Keep what a memory names."""
    for mention in mentions(text, speaker):
        entity = (
            _called(connection, scope, folded(mention.name)) if mention.kind == UNSURE else _entity(connection, scope, mention)
        )
        if entity is None:
            continue
        connection.execute("INSERT OR IGNORE INTO mentions (entity, memory) VALUES (?, ?)", (entity, memory))


def canonical(connection: apsw.Connection, scope: int, name: str) -> str:
    """The name that something is kept under, folded; the given one if it is not known."""
    found = connection.execute(
        "SELECT e.name FROM aliases AS a JOIN entities AS e ON e.key = a.entity WHERE a.scope = ? AND a.name = ?", (scope, name)
    ).get
    return name if found is None else folded(str(found))


def _entity(connection: apsw.Connection, scope: int, mention: Mention) -> int:
    name = folded(mention.name)
    key = _called(connection, scope, name)
    if key is None and mention.kind == PERSON:
        key = _less_said(connection, scope, name)
    others = [folded(alias) for alias in mention.aliases]
    for other in others:
        twin = _called(connection, scope, other)
        if twin is not None and key is None:
            key = twin
        elif twin is not None and key is not None and twin != key and _is_makeshift(connection, twin):
            _merge(connection, twin, key)
    if key is None:
        connection.execute("INSERT INTO entities (scope, name, kind) VALUES (?, ?, ?)", (scope, mention.name, mention.kind))
        key = connection.last_insert_rowid()
        shared = _told_apart(connection, scope, key, name) if mention.kind == PERSON else frozenset()
        _call(connection, scope, key, [*(one for one in other_names(mention.name, mention.kind) if one not in shared), *others])
    elif _says_more(connection, key, mention):
        _rename(connection, scope, key, mention)
        _call(connection, scope, key, others)
    elif others:
        _call(connection, scope, key, others)
    return key


def _called(connection: apsw.Connection, scope: int, name: str) -> int | None:
    found = connection.execute("SELECT entity FROM aliases WHERE scope = ? AND name = ?", (scope, name)).get
    return None if found is None else int(found)


def _call(connection: apsw.Connection, scope: int, entity: int, names: Sequence[str]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO aliases (scope, name, entity) VALUES (?, ?, ?)", ((scope, name, entity) for name in names if name)
    )


def _less_said(connection: apsw.Connection, scope: int, name: str) -> int | None:
    """A person known by the first name alone, or by a title and the last, of whom this is the full name."""
    first, _, rest = name.partition(" ")
    if first.strip(".") in TITLES and " " in rest:
        titled = f"{first} {rest.rpartition(' ')[2]}"
        key = _called(connection, scope, titled)
        kept = "" if key is None else folded(str(connection.execute("SELECT name FROM entities WHERE key = ?", (key,)).get))
        return key if kept == titled else None
    key = _called(connection, scope, first) if rest and not name.startswith("@") and "'s " not in name else None
    if key is None or _namesakes(connection, scope, first, key):
        return None
    kept = folded(str(connection.execute("SELECT name FROM entities WHERE key = ?", (key,)).get))
    return key if kept in (first, f"@{first}") else None


def _namesakes(connection: apsw.Connection, scope: int, first: str, besides: int) -> list[int]:
    """Others whose full name begins with this first name."""
    sql = "SELECT DISTINCT entity FROM aliases WHERE scope = ? AND name > ? AND name < ? AND entity <> ?"
    found: list[Any] = connection.execute(sql, (scope, f"{first} ", f"{first}!", besides)).fetchall()
    return [row[0] for row in found]


def _told_apart(connection: apsw.Connection, scope: int, key: int, name: str) -> frozenset[str]:
    """A second person of this first name has come: from now on it means neither of them. The names that they share.

    What was told of the first name alone, when there was one, may have been about either: it is told of that name again.
    """
    first, _, rest = name.partition(" ")
    others = _namesakes(connection, scope, first, key) if rest and first.strip(".") not in TITLES else []
    if not others:
        return frozenset()
    shared = frozenset({first, f"@{first}"})
    owner = _called(connection, scope, first)
    if owner is not None and owner in others:
        connection.executemany("DELETE FROM aliases WHERE scope = ? AND name = ?", ((scope, one) for one in sorted(shared)))
        for memory in _barely_named(connection, owner, shared):
            connection.execute("DELETE FROM mentions WHERE entity = ? AND memory = ?", (owner, memory))
            kept = str(connection.execute("SELECT name FROM entities WHERE key = ?", (owner,)).get)
            connection.execute("UPDATE facts SET subject = ? WHERE memory = ? AND subject = ?", (first, memory, folded(kept)))
            for scope_, text, speaker in _rows(connection, _SAID, memory):
                note(connection, scope_, memory, text, speaker)
    return shared


def _barely_named(connection: apsw.Connection, entity: int, shared: frozenset[str]) -> list[int]:
    """Memories that name somebody by the first name alone; of a great many the latest."""
    found: list[Any] = connection.execute(
        """
        SELECT n.memory, c.text, m.speaker FROM mentions AS n
          JOIN memories AS m ON m.key = n.memory JOIN contents AS c ON c.memory = n.memory
         WHERE n.entity = ? ORDER BY n.memory DESC LIMIT ?
        """,
        (entity, _LOOKED_BACK),
    ).fetchall()
    fuller = {row[0] for row in _rows(connection, "SELECT name FROM aliases WHERE entity = ?", entity)} - shared
    return [memory for memory, text, speaker in found if not fuller & _names_in(text, speaker)]


def _names_in(text: str, speaker: str) -> set[str]:
    return {folded(name) for mention in mentions(text, speaker) for name in (mention.name, *mention.aliases)}


def _is_makeshift(connection: apsw.Connection, entity: int) -> bool:
    """Is it kept under a role or a handle, because nobody has told its name yet?"""
    name = folded(str(connection.execute("SELECT name FROM entities WHERE key = ?", (entity,)).get))
    return name.startswith("@") or "'s " in name


def _says_more(connection: apsw.Connection, entity: int, mention: Mention) -> bool:
    if mention.kind != PERSON or mention.name.startswith("@") or "'s " in mention.name:
        return False
    kept = folded(str(connection.execute("SELECT name FROM entities WHERE key = ?", (entity,)).get))
    name = folded(mention.name)
    return name != kept and (kept.startswith("@") or "'s " in kept or name.startswith(f"{kept} ") or _is_short_for(kept, name))


def _is_short_for(kept: str, name: str) -> bool:
    """ "Dr. Moss" for "Dr. Ida Moss"."""
    title, _, last = kept.partition(" ")
    return title.strip(".") in TITLES and name.startswith(f"{title} ") and name.endswith(f" {last}")


def _rename(connection: apsw.Connection, scope: int, entity: int, mention: Mention) -> None:
    old = folded(str(connection.execute("SELECT name FROM entities WHERE key = ?", (entity,)).get))
    connection.execute("UPDATE entities SET name = ?, kind = ? WHERE key = ?", (mention.name, mention.kind, entity))
    _call(connection, scope, entity, other_names(mention.name, mention.kind))
    _retell(connection, scope, old, folded(mention.name))


def _merge(connection: apsw.Connection, twin: int, entity: int) -> None:
    """Two that turned out to be one."""
    scope, old = _rows(connection, "SELECT scope, name FROM entities WHERE key = ?", twin)[0]
    name = str(connection.execute("SELECT name FROM entities WHERE key = ?", (entity,)).get)
    connection.execute("UPDATE OR IGNORE mentions SET entity = ? WHERE entity = ?", (entity, twin))
    connection.execute("UPDATE aliases SET entity = ? WHERE entity = ?", (entity, twin))
    connection.execute("DELETE FROM entities WHERE key = ?", (twin,))
    _retell(connection, scope, folded(old), folded(name))


def _retell(connection: apsw.Connection, scope: int, old: str, new: str) -> None:
    """Facts of somebody who is called otherwise now."""
    if old != new:
        connection.execute(
            f"""
            UPDATE facts SET subject = {sealed.kept("facts", "subject", "?1", "(SELECT tier FROM memories WHERE key = memory)")}
             WHERE subject IN ({sealed.either("facts", "subject", "?2")})
               AND memory IN (SELECT key FROM memories WHERE scope = ?3)
            """,
            (new, old, scope),
        )


def forget(connection: apsw.Connection, memory: int) -> list[int]:
    """Let go of what a memory that goes, or changes, has named: who is named nowhere else goes, others keep only their own names.

    A name may have come from it alone, so those it named are made anew from what is left: the keys of those memories.
    """
    left: dict[int, None] = {}
    for (entity,) in _rows(connection, "SELECT entity FROM mentions WHERE memory = ?", memory):
        if _is_told_without(connection, entity, memory):
            connection.execute("DELETE FROM mentions WHERE entity = ? AND memory = ?", (entity, memory))
            continue
        others = _rows(connection, "SELECT memory FROM mentions WHERE entity = ?", entity)
        left.update(dict.fromkeys(row[0] for row in others if row[0] != memory))
        connection.execute("UPDATE entities SET name = '' WHERE key = ?", (entity,))
        connection.execute("DELETE FROM entities WHERE key = ?", (entity,))  # names and mentions follow
    for key in sorted(left):
        for scope, text, speaker in _rows(connection, _SAID, key):
            note(connection, scope, key, text, speaker)
    return sorted(left)


def _is_told_without(connection: apsw.Connection, entity: int, memory: int) -> bool:
    """Do a few of the other memories tell who somebody is, and all the names? Then nobody who is named by thousands is made
    anew for each of them that goes."""
    name, kind = _rows(connection, "SELECT name, kind FROM entities WHERE key = ?", entity)[0]
    found: list[Any] = connection.execute(_WITNESSES, (entity, memory)).fetchall()
    said = [mention for text, speaker in found for mention in mentions(text, speaker)]
    if not any(one.kind == kind and folded(one.name) == folded(name) for one in said):
        return False
    together = [{folded(one) for one in (*other_names(each.name, each.kind), *each.aliases)} for each in said]
    known = {folded(name)}
    while more := [names for names in together if names & known and not names <= known]:
        known.update(*more)
    return {row[0] for row in _rows(connection, "SELECT name FROM aliases WHERE entity = ?", entity)} <= known


def _rows(connection: apsw.Connection, sql: str, value: int) -> list[Any]:
    return connection.execute(sql, (value,)).fetchall()


class Entities:
    """Entities: people, places and things that memories name."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def select(self, reader: Reader, *, kind: str | None = None, limit: int = 50) -> list[Entity]:
        """What this reader's memories name, the most named first."""
        with self._gate.read(reader, "entities") as connection:
            return _entities(connection, readable(reader), kind, limit)

    def get(self, reader: Reader, name: str) -> tuple[Entity, list[int]] | None:
        """What goes by this name, and the keys of the active memories that name it, the latest first."""
        with self._gate.read(reader, "entity") as connection:
            return _entity_from_row(connection, readable(reader), folded(name))

    def mentions(self, reader: Reader, memory_id: str) -> list[str]:
        """What a memory names, by the names it is kept under."""
        with self._gate.read(reader, "entity") as connection:
            key = memory_rows.required(connection, readable(reader), memory_id).key
            sql = "SELECT e.name FROM mentions AS n JOIN entities AS e ON e.key = n.entity WHERE n.memory = ? ORDER BY e.name"
            found: list[Any] = connection.execute(sql, (key,)).fetchall()
            return [row[0] for row in found]

    def cooccurring(self, reader: Reader, name: str, *, limit: int = 10) -> list[tuple[str, int]]:
        """What is named in the same memories, and in how many."""
        with self._gate.read(reader, "entity") as connection:
            return _named_with(connection, readable(reader), folded(name), limit)

    def reindex(self, reader: Reader, *, limit: int) -> int:
        """Read some of what was kept before names and facts were: how many. Nothing is retired by it."""
        with self._gate.watched(reader, "read_old"):
            require_owner(reader, "reading all that is kept")
            if not self._unread():
                return 0
            return self._gate.write(
                reader, "read_old", lambda connection: _read_page(connection, readable(reader), limit), count=0
            )

    def _unread(self) -> bool:
        with self._gate.readers.use("entities") as connection:
            return bool(connection.execute("SELECT EXISTS (SELECT 1 FROM meta WHERE name = ?)", (_UNREAD,)).get)
