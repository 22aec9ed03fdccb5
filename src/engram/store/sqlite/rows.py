"""Memories from rows, filters as SQL, and the keys of scopes. Times are integers: microseconds, UTC."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import apsw

from engram.env import from_micros, to_micros
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import filter_names
from engram.store.sqlite.filter_names import CODE, LANGUAGE
from engram.values.identity import SCOPE_DIMENSIONS, Scope, Sensitivity, Source, scope_values
from engram.values.memories import NEUTRAL, NO_ATTRIBUTES, Affect, Kind, Memory, Status
from engram.values.query import Filter

Value = None | int | float | str | bytes

SELECT = f"""
    SELECT m.key, m.id, m.kind, m.category, m.source, m.status, m.pinned, m.version, m.importance, m.confidence,
           m.strength, m.accesses, m.accessed_at, m.happened_at, m.happened_until, m.valid_from, m.valid_until,
           m.learned_at, m.updated_at, {sealed.read_words("text")}, {sealed.read_words("summary")},
           {sealed.read_words("key_fact")}, {sealed.read_words("tag")},
           s.project, s.squad, s.agent, s.channel, s.user, m.session, m.speaker, m.surprise, m.corroborations,
           c.text_tokens, c.summary_tokens, c.key_fact_tokens, c.tag_tokens, m.helpful, m.unhelpful,
           m.flagged, m.screened, m.tier, c.words_from, c.words_to
      FROM memories AS m
     CROSS JOIN scopes AS s ON s.key = m.scope
     CROSS JOIN contents AS c ON c.memory = m.key
"""
"""SELECT of a memory without attributes and refs, which are read by a statement each. CROSS JOIN fixes the order of tables: else
SQLite starts at the scopes and sorts all visible rows for one page (17 instead of 0.2 ms at 20K)."""


# A dictionary look-up takes 0.05 µs, calling the enumeration 0.35. Few scopes are in use, so their values are cached.
_KINDS = {kind.value: kind for kind in Kind}
_SOURCES = {source.value: source for source in Source}
_STATUSES = {status.value: status for status in Status}
_TIERS = {tier.value: tier for tier in Sensitivity}
_scope = lru_cache(maxsize=4096)(Scope)


AFFECT = "engram:affect"
"""Name of the attribute that holds a memory's affect as four numbers, sealed like other attributes."""

_AT_ONCE = 500
"""Keys per statement: well under SQLite's limit on parameters, and few distinct statements to keep prepared."""

_STATUS_THEN = """coalesce(
    (SELECT new FROM status_history WHERE memory = {alias}.key AND at <= ? ORDER BY number DESC LIMIT 1),
    (SELECT old FROM status_history WHERE memory = {alias}.key ORDER BY number LIMIT 1),
    {alias}.status)"""
"""SQL of the status at a time: the new status of the last change until then, else the old status of the first change after."""

_KNOWN_THEN = """({alias}.learned_at <= ? OR EXISTS
    (SELECT 1 FROM sources AS o JOIN turns AS t ON t.key = o.turn WHERE o.memory = {alias}.key AND t.at <= ?))"""
"""SQL of a memory that was known at a time: learned by then, or said by then in talk that was ingested later."""


def memories(connection: apsw.Connection, sql: str, values: Sequence[Value]) -> list[Memory]:
    """Return the memories of one SELECT with attributes and refs, by three statements."""
    rows = connection.execute(sql, values).fetchall()
    keys = [row[0] for row in rows]
    attributes, refs = _attributes(connection, keys), _refs(connection, keys)
    return [_memory(row, attributes.get(row[0]), refs.get(row[0], ())) for row in rows]


def affect_of(value: str | None) -> Affect:
    """Return the affect stored in an attribute."""
    return Affect(*map(float, value.split())) if value else NEUTRAL


def affect_attribute(affect: Affect) -> str:
    """Return the value of the attribute of an affect."""
    return f"{affect.valence:g} {affect.arousal:g} {affect.dominance:g} {affect.surprise:g}"


def _attributes(connection: apsw.Connection, keys: Sequence[Any]) -> dict[Any, dict[str, str]]:
    held: dict[Any, dict[str, str]] = {}
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        sql = f"""
            SELECT a.memory, a.name, {sealed.read_side("attributes", "value", "a")}
              FROM attributes AS a JOIN memories AS m ON m.key = a.memory
             WHERE a.memory IN ({", ".join("?" * len(some))})
        """
        for memory, name, value in connection.execute(sql, some):
            held.setdefault(memory, {})[name] = value
    return held


def _refs(connection: apsw.Connection, keys: Sequence[Any]) -> dict[Any, tuple[str, ...]]:
    """Return the refs of the turns each memory came from, each once, in the order of the turns."""
    held: dict[Any, dict[str, None]] = {}
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        sql = f"""
            SELECT s.memory, t.ref FROM sources AS s JOIN turns AS t ON t.key = s.turn
             WHERE s.memory IN ({", ".join("?" * len(some))}) AND t.ref <> '' ORDER BY s.memory, s.turn
        """
        for memory, ref in connection.execute(sql, some):
            held.setdefault(memory, {})[ref] = None
    return {memory: tuple(refs) for memory, refs in held.items()}


def _memory(row: tuple[Any, ...], attributes: dict[str, str] | None, refs: tuple[str, ...]) -> Memory:
    affect = NEUTRAL
    if attributes:
        affect = affect_of(attributes.pop(AFFECT, None))
        for name in (LANGUAGE, CODE):  # for filters only
            attributes.pop(name, None)
    return Memory(
        key=row[0],
        id=row[1],
        kind=_KINDS[row[2]],
        category=row[3],
        source=_SOURCES[row[4]],
        status=_STATUSES[row[5]],
        pinned=bool(row[6]),
        version=row[7],
        importance=row[8],
        confidence=row[9],
        strength=row[10],
        accesses=row[11],
        accessed_at=_moment(row[12]),
        happened_at=_moment(row[13]),
        happened_until=_moment(row[14]),
        valid_from=_moment(row[15]),
        valid_until=_moment(row[16]),
        learned_at=_moment(row[17]),
        updated_at=_moment(row[18]),
        text=row[19],
        summary=row[20],
        key_fact=row[21],
        tag=row[22],
        scope=_scope(*row[23:28]),
        session=row[28],
        speaker=row[29],
        surprise=row[30],
        corroborations=row[31],
        tokens=row[32:36],
        helpful=row[36],
        unhelpful=row[37],
        flagged=bool(row[38]),
        screened=row[39],
        tier=_TIERS[row[40]],
        words_at=(row[41], row[42]),
        refs=refs,
        affect=affect,
        attributes=MappingProxyType(attributes) if attributes else NO_ATTRIBUTES,
    )


def conditions(where: Filter, alias: str = "m", *, probe: bool = False) -> tuple[str, list[Value]]:
    """Return a filter as SQL on `memories`, beginning with AND, and its values. probe: another index finds the rows."""
    parts: list[str] = []
    values: list[Value] = []
    for column, chosen, way in (
        ("kind", where.kinds, "IN"),
        ("category", where.categories, "IN"),
        ("category", where.without, "NOT IN"),
        ("status", where.statuses if where.as_of is None else (), "IN"),
    ):
        if chosen:
            parts.append(f"{alias}.{column} {way} ({', '.join('?' * len(chosen))})")
            values.extend(str(value) for value in chosen)
    if where.as_of is not None:
        moment = to_micros(where.as_of)
        parts.append(_KNOWN_THEN.format(alias=alias))
        values.extend((moment, moment))
        if where.statuses:
            parts.append(f"{_STATUS_THEN.format(alias=alias)} IN ({', '.join('?' * len(where.statuses))})")
            values.extend((moment, *map(str, where.statuses)))
    when = f"coalesce({alias}.happened_at, {alias}.learned_at)"
    if where.since is not None:
        parts.append(f"{when} >= ?")
        values.append(to_micros(where.since))
    if where.until is not None:
        parts.append(f"{when} < ?")
        values.append(to_micros(where.until))
    for condition, given in filter_names.conditions(where, alias, probe=probe):
        parts.append(condition)
        values.extend(given)
    if named := [
        (dimension, value) for dimension, value in zip(SCOPE_DIMENSIONS, scope_values(where.scope), strict=True) if value
    ]:
        within = " AND ".join(f"{dimension} = ?" for dimension, _ in named)
        parts.append(f"{alias}.scope IN (SELECT key FROM scopes WHERE {within})")
        values.extend(value for _, value in named)
    return "".join(f" AND {part}" for part in parts), values


def micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def intern(connection: apsw.Connection, scope: Scope) -> int:
    """Return the key of this scope, inserted if new. Runs in the writer's transaction."""
    values = scope_values(scope)
    # Not cached: the key from a transaction that was rolled back could later belong to another scope.
    key = connection.execute(
        "SELECT key FROM scopes WHERE project = ? AND squad = ? AND agent = ? AND channel = ? AND user = ?", values
    ).get
    if key is None:
        connection.execute("INSERT INTO scopes (project, squad, agent, channel, user) VALUES (?, ?, ?, ?, ?)", values)
        key = connection.last_insert_rowid()
    return int(key)
