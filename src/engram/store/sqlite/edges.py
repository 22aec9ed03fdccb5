"""The statements on links between memories. Both ends must be ones that the reader may see, or for a new link write."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import InvalidQuery, NotFound
from engram.guard.visibility import Visibility
from engram.rules.edges import ACYCLIC, DERIVED, EdgeWeights, reinforced
from engram.store.sqlite import memories, sensitivity
from engram.store.sqlite.rows import micros, predicate
from engram.types import Edge

_AT_ONCE = 500
"""Ids in one statement: well under SQLite's limit on parameters."""

_CIRCLE = f"""
    WITH RECURSIVE further (key) AS (
        VALUES (?)
        UNION
        SELECT e.target FROM edges AS e JOIN further ON e.source = further.key WHERE e.kind IN ({", ".join("?" * len(ACYCLIC))})
    )
    SELECT EXISTS (SELECT 1 FROM further WHERE key = ?)
"""


def put(connection: apsw.Connection, owned: Visibility, edges: Sequence[Edge], now: datetime, weights: EdgeWeights) -> int:
    """Link memories by their ids; a link that is there is surer for it. All that is told is linked, or nothing."""
    wanted = list(dict.fromkeys(end for edge in edges for end in (edge.source, edge.target)))
    keys = {memory.id: memory.key for memory in memories.by_ids(connection, owned, wanted)}
    if len(keys) < len(wanted):
        raise NotFound(f"{len(wanted) - len(keys)} of the memories to be linked cannot be used by this identity.")
    for told in edges:
        source, target = keys[told.source], keys[told.target]
        known = _one(connection, source, target, told)
        if known is None and closes(connection, source, target, told):
            raise InvalidQuery(
                f"this {told.kind} link would close a circle: what came of something cannot be what it came from.",
                way_out="Link them the other way round, or by a kind that goes both ways, such as `related_to`.",
            )
        edge = told if known is None else reinforced(known, told, now, weights)
        connection.execute(
            """
            INSERT OR REPLACE INTO edges (source, target, kind, weight, confidence, created_at, reinforced_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            (
                source,
                target,
                edge.kind,
                edge.weight,
                edge.confidence,
                to_micros(edge.created_at or now),
                micros(edge.reinforced_at),
            ),
        )
    for key in keys.values():
        memories.log_change(connection, key, "relate")
    sensitivity.inherit(connection, [(keys[told.source], keys[told.target]) for told in edges if told.kind in DERIVED])
    return len(edges)


def known(connection: apsw.Connection, source: int, target: int, kind: str) -> bool:
    sql = "SELECT EXISTS (SELECT 1 FROM edges WHERE source = ? AND target = ? AND kind = ?)"
    return bool(connection.execute(sql, (source, target, kind)).get)


def closes(connection: apsw.Connection, source: int, target: int, told: Edge) -> bool:
    """Would this link, if it is new, close a circle?"""
    return told.kind in ACYCLIC and bool(connection.execute(_CIRCLE, (target, *sorted(ACYCLIC), source)).get)


def _one(connection: apsw.Connection, source: int, target: int, told: Edge) -> Edge | None:
    found: list[Any] = connection.execute(
        "SELECT weight, confidence, created_at, reinforced_at FROM edges WHERE source = ? AND target = ? AND kind = ?",
        (source, target, told.kind),
    ).fetchall()
    return _edge(told.source, told.target, told.kind, *found[0]) if found else None


def at(connection: apsw.Connection, seen: Visibility, ids: Sequence[str]) -> list[Edge]:
    """Links into and out of `ids`, where both ends are visible."""
    found: set[Edge] = set()
    ids = [memory_id for memory_id in ids if memories.is_text(memory_id)]
    for start in range(0, len(ids), _AT_ONCE):
        found |= _of_some(connection, seen, ids[start : start + _AT_ONCE])
    return sorted(found, key=lambda edge: (edge.source, edge.target, edge.kind))


def _of_some(connection: apsw.Connection, seen: Visibility, ids: Sequence[str]) -> set[Edge]:
    at_source, values = predicate(seen, "a.scope")
    at_target, _ = predicate(seen, "b.scope")
    marks = ", ".join("?" * len(ids))
    arms = " UNION ".join(
        f"""
        SELECT a.id, b.id, e.kind, e.weight, e.confidence, e.created_at, e.reinforced_at
          FROM memories AS asked
          JOIN edges AS e ON e.{side} = asked.key
          JOIN memories AS a ON a.key = e.source
          JOIN memories AS b ON b.key = e.target
         WHERE asked.id IN ({marks}) AND {at_source} AND {at_target}
        """
        for side in ("source", "target")
    )
    once = (*ids, *values, *values)
    found: list[Any] = connection.execute(arms, once + once).fetchall()
    return {_edge(*row) for row in found}


def _edge(
    source: str, target: str, kind: str, weight: float, confidence: float, created_at: int, reinforced_at: int | None
) -> Edge:
    again = None if reinforced_at is None else from_micros(reinforced_at)
    return Edge(source, target, kind, weight, confidence, from_micros(created_at), again)
