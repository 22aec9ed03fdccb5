"""Memories as rows and rows as memories. Times are whole microseconds, UTC."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from types import MappingProxyType

from engram.env import from_micros, to_micros
from engram.store.protocol import Filter
from engram.types import Kind, Memory, Scope, Source, Status

Value = None | int | float | str | bytes

SELECT = """
    SELECT m.key, m.id, m.kind, m.category, m.source, m.status, m.pinned, m.version, m.importance, m.confidence,
           m.strength, m.accesses, m.accessed_at, m.happened_at, m.happened_until, m.valid_from, m.valid_until,
           m.learned_at, m.updated_at, c.text, c.summary, c.key_fact, c.tag,
           s.project, s.squad, s.agent, s.channel, s.user,
           (SELECT json_group_object(name, value) FROM attributes WHERE memory = m.key)
      FROM memories AS m
      JOIN contents AS c ON c.memory = m.key
      JOIN scopes AS s ON s.key = m.scope
"""
"""One statement for a whole memory, attributes included: no query in a loop."""


def memories(rows: Iterable[tuple[Value, ...]]) -> Iterator[Memory]:
    return (_memory(row) for row in rows)


def _memory(row: tuple) -> Memory:  # type: ignore[type-arg]  # a row is what SELECT says, checked by STRICT tables
    return Memory(
        key=row[0],
        id=row[1],
        kind=Kind(row[2]),
        category=row[3],
        source=Source(row[4]),
        status=Status(row[5]),
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
        scope=Scope(*row[23:28]),
        attributes=_attributes(row[28]),
    )


def conditions(where: Filter, alias: str = "m") -> tuple[str, list[Value]]:
    """A filter as SQL on the narrow table, led by AND."""
    parts: list[str] = []
    values: list[Value] = []
    for column, chosen in (("kind", where.kinds), ("category", where.categories), ("status", where.statuses)):
        if chosen:
            parts.append(f"{alias}.{column} IN ({', '.join('?' * len(chosen))})")
            values.extend(str(value) for value in chosen)
    when = f"coalesce({alias}.happened_at, {alias}.learned_at)"
    if where.since is not None:
        parts.append(f"{when} >= ?")
        values.append(to_micros(where.since))
    if where.until is not None:
        parts.append(f"{when} < ?")
        values.append(to_micros(where.until))
    for name, value in (where.attributes or {}).items():
        parts.append(f"{alias}.key IN (SELECT memory FROM attributes WHERE name = ? AND value = ?)")
        values.extend((name, value))
    return "".join(f" AND {part}" for part in parts), values


def micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_micros(value)


def _attributes(encoded: str | None) -> MappingProxyType[str, str]:
    if not encoded or encoded == "{}":
        return MappingProxyType({})
    return MappingProxyType(json.loads(encoded))
