"""Edges between memories. Both ends must be visible to the reader, or writable for a new edge."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import InvalidQuery, NotFound
from engram.guard.visibility import Visibility, readable, writable
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite import memory_rows, rows, sensitivity
from engram.store.sqlite.rows import micros
from engram.store.sqlite.visibility import predicate
from engram.store.validation import check_edges
from engram.types import Edge, Reader
from engram.values.edges import ACYCLIC, DERIVED, LASTING, EdgeWeights
from engram.values.query import Filter, Hop

if TYPE_CHECKING:
    from engram.store.rule_ports import StoreRules
    from engram.store.sqlite.gate import Gate


_MONTH = 30 * 86_400_000_000

_DAY = 86_400_000_000


_AT_ONCE = 500
"""Ids per statement: well under SQLite's limit on parameters."""

_CYCLE = f"""
    WITH RECURSIVE further (key) AS (
        VALUES (?)
        UNION
        SELECT e.target FROM edges AS e JOIN further ON e.source = further.key WHERE e.kind IN ({", ".join("?" * len(ACYCLIC))})
    )
    SELECT EXISTS (SELECT 1 FROM further WHERE key = ?)
"""


class Edges:
    """Edges between memories, and the neighbours of a memory."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def of(self, reader: Reader, ids: Sequence[str]) -> list[Edge]:
        with self._gate.read(reader, "edges") as connection:
            found = edges_of(connection, readable(reader), ids) if ids else []
        self._gate.note(reader, "edges", count=len(found))
        return found

    def among(self, reader: Reader, keys: Sequence[int], kinds: Sequence[str]) -> list[tuple[int, int, str]]:
        """Return edges of these kinds into or out of these memories as (source, target, kind), both ends active."""
        with self._gate.read(reader, "links") as connection:
            return among(connection, readable(reader), keys, kinds) if keys else []

    def put(
        self, reader: Reader, edges: Sequence[Edge], *, timeout: float | None = None, receipt: ReceiptRequest | None = None
    ) -> int:
        with self._gate.watched(reader, "relate"):
            check_edges(edges, self._gate.live.now)
            return self._gate.write(
                reader,
                "relate",
                lambda connection: put(connection, writable(reader), edges, self._gate.env.now(), self._gate.rules),
                count=len(edges),
                timeout=timeout,
                receipt=receipt,
            )

    def linked(self, reader: Reader, keys: Sequence[int], now: datetime, *, most: int) -> list[Hop]:
        """Return hops over edges from these memories to active ones, in both directions, the surest first; unsure edges are left
        out.
        """
        with self._gate.read(reader, "links") as connection:
            return _linked(connection, readable(reader), keys, now, self._gate.live.tuned(EdgeWeights), most) if keys else []

    def sharing_entities(self, reader: Reader, keys: Sequence[int], *, fan: int, most: int) -> list[Hop]:
        """Return hops from these memories to active ones that mention the same entity; entities of more than `fan` memories are
        left out.
        """
        with self._gate.read(reader, "links") as connection:
            return _sharing_entities(connection, readable(reader), keys, fan, most) if keys else []

    def naming(self, reader: Reader, names: Sequence[str], *, most: int) -> list[Hop]:
        """Return hops to the latest active memories that mention one of these entities; `here` is the index in `names`."""
        with self._gate.read(reader, "links") as connection:
            return _naming(connection, readable(reader), [self._gate.rules.folded(name) for name in names], most) if names else []

    def passing(self, reader: Reader, keys: Sequence[int], where: Filter) -> set[int]:
        """Return those of these memories that are visible and pass a filter."""
        with self._gate.read(reader, "keys") as connection:
            return _passing(connection, readable(reader), keys, where) if keys else set()


def _linked(
    connection: apsw.Connection, seen: Visibility, keys: Sequence[int], now: datetime, weights: EdgeWeights, most: int
) -> list[Hop]:
    at_here, values = predicate(seen, "a.scope")
    at_there, _ = predicate(seen, "b.scope")
    marks, lasting = ", ".join("?" * len(keys)), ", ".join(f"'{kind}'" for kind in sorted(LASTING))
    # As `links.sure_at` says it: an association fades evenly after a grace period, down to half the floor.
    seen_last = "coalesce(e.reinforced_at, e.created_at)"
    faded = f"e.confidence - max((?1 - {seen_last} - ?2) * 1.0 / {_MONTH}, 0.0) * ?3"
    sure = f"CASE WHEN e.kind IN ({lasting}) THEN e.confidence ELSE max({faded}, min(e.confidence, ?4 / 2)) END"
    arms = " UNION ALL ".join(
        f"""
        SELECT e.{here} AS here, e.{there} AS there, e.kind AS kind, {sure} AS sure, min(max(e.weight, 0.0), 1.0) AS weight
          FROM edges AS e
          JOIN memories AS a INDEXED BY memories_for_search ON a.key = e.{here}
          JOIN memories AS b INDEXED BY memories_for_search ON b.key = e.{there}
         WHERE e.{here} IN ({marks}) AND b.status IN ('active', 'challenged') AND {at_here} AND {at_there}
        """
        for here, there in (("source", "target"), ("target", "source"))
    )
    sql = (
        f"SELECT here, there, kind, sure * weight FROM ({arms}) WHERE sure >= ?4 ORDER BY sure * weight DESC, there DESC LIMIT ?"
    )
    fading = (to_micros(now), int(weights.edge_grace_days * _DAY), weights.edge_fade, weights.edge_floor)
    once: tuple[int | str, ...] = (*keys, *values, *values)
    found: list[Any] = connection.execute(sql, (*fading, *once, *once, most)).fetchall()
    return [Hop(*row) for row in found]


def _sharing_entities(connection: apsw.Connection, seen: Visibility, keys: Sequence[int], fan: int, most: int) -> list[Hop]:
    at_here, values = predicate(seen, "a.scope")
    at_there, _ = predicate(seen, "b.scope")
    # Counted only up to `fan`: a name that most memories mention is not counted to the end.
    sql = f"""
        WITH named AS MATERIALIZED (
            SELECT DISTINCT n.memory AS here, n.entity AS entity,
                   (SELECT count(*) FROM (SELECT DISTINCT x.memory FROM mentions AS x
                     WHERE x.entity = n.entity AND NOT x.is_speaker LIMIT ?)) AS fan
              FROM mentions AS n JOIN memories AS a INDEXED BY memories_for_search ON a.key = n.memory
             WHERE n.memory IN ({", ".join("?" * len(keys))}) AND NOT n.is_speaker AND {at_here}
        )
        SELECT DISTINCT named.here, o.memory, e.name, named.fan
          FROM named
          CROSS JOIN entities AS e ON e.key = named.entity
          CROSS JOIN mentions AS o ON o.entity = named.entity
          CROSS JOIN memories AS b INDEXED BY memories_for_search ON b.key = o.memory
         WHERE named.fan <= ? AND o.memory <> named.here AND NOT o.is_speaker
           AND b.status IN ('active', 'challenged') AND {at_there}
         ORDER BY named.fan, o.memory DESC LIMIT ?
    """
    found: list[Any] = connection.execute(sql, (fan + 1, *keys, *values, fan, *values, most)).fetchall()
    return [Hop(here, there, name, 1.0 / fan.bit_length(), True) for here, there, name, fan in found]


def _naming(connection: apsw.Connection, seen: Visibility, names: Sequence[str], most: int) -> list[Hop]:
    at_name, values = predicate(seen, "a.scope")
    at_there, _ = predicate(seen, "m.scope")
    found: list[Any] = connection.execute(
        f"""
        SELECT DISTINCT a.name, m.key, n.entity FROM aliases AS a
          CROSS JOIN mentions AS n ON n.entity = a.entity
          CROSS JOIN memories AS m INDEXED BY memories_for_search ON m.key = n.memory
         WHERE a.name IN ({", ".join("?" * len(names))}) AND a.until = 0 AND {at_name} AND NOT n.is_speaker
           AND m.status IN ('active', 'challenged') AND {at_there}
         ORDER BY n.entity, n.memory DESC LIMIT ?
        """,
        (*names, *values, *values, most),
    ).fetchall()
    return [Hop(names.index(name), key, name, 1.0, True) for name, key, _ in found]


def _passing(connection: apsw.Connection, seen: Visibility, keys: Sequence[int], where: Filter) -> set[int]:
    visible, values = predicate(seen, "m.scope")
    extra, more = rows.conditions(where)
    sql = f"SELECT m.key FROM memories AS m WHERE m.key IN ({', '.join('?' * len(keys))}) AND {visible}{extra}"
    found: list[Any] = connection.execute(sql, (*keys, *values, *more)).fetchall()
    return {row[0] for row in found}


def put(connection: apsw.Connection, owned: Visibility, edges: Sequence[Edge], now: datetime, rules: StoreRules) -> int:
    """Store edges, all or none; an existing edge is reinforced. Return how many were stored."""
    wanted = list(dict.fromkeys(end for edge in edges for end in (edge.source, edge.target)))
    keys = {memory.id: memory.key for memory in memory_rows.by_ids(connection, owned, wanted)}
    if len(keys) < len(wanted):
        raise NotFound(f"{len(wanted) - len(keys)} of the memories to link cannot be used by this identity.")
    for edge in edges:
        source, target = keys[edge.source], keys[edge.target]
        known = _one(connection, source, target, edge)
        if known is None and closes_cycle(connection, source, target, edge):
            raise InvalidQuery(
                f"this {edge.kind} link would close a cycle: a memory cannot be derived from its own derivation.",
                way_out="Link them the other way round, or by a kind that goes both ways, such as `related_to`.",
            )
        stored = edge if known is None else rules.reinforced(known, edge, now)
        connection.execute(
            """
            INSERT OR REPLACE INTO edges (source, target, kind, weight, confidence, created_at, reinforced_at)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """,
            (
                source,
                target,
                stored.kind,
                stored.weight,
                stored.confidence,
                to_micros(stored.created_at or now),
                micros(stored.reinforced_at),
            ),
        )
    for key in keys.values():
        memory_rows.log_change(connection, key, "relate")
    sensitivity.inherit(connection, rules, [(keys[edge.source], keys[edge.target]) for edge in edges if edge.kind in DERIVED])
    return len(edges)


def known(connection: apsw.Connection, source: int, target: int, kind: str) -> bool:
    sql = "SELECT EXISTS (SELECT 1 FROM edges WHERE source = ? AND target = ? AND kind = ?)"
    return bool(connection.execute(sql, (source, target, kind)).get)


def closes_cycle(connection: apsw.Connection, source: int, target: int, edge: Edge) -> bool:
    """Return True if this edge would close a cycle of a kind that must have none."""
    return edge.kind in ACYCLIC and bool(connection.execute(_CYCLE, (target, *sorted(ACYCLIC), source)).get)


def _one(connection: apsw.Connection, source: int, target: int, edge: Edge) -> Edge | None:
    found: list[Any] = connection.execute(
        "SELECT weight, confidence, created_at, reinforced_at FROM edges WHERE source = ? AND target = ? AND kind = ?",
        (source, target, edge.kind),
    ).fetchall()
    return _edge(edge.source, edge.target, edge.kind, *found[0]) if found else None


def edges_of(connection: apsw.Connection, seen: Visibility, ids: Sequence[str]) -> list[Edge]:
    """Return the edges into and out of `ids` whose ends are both visible."""
    found: set[Edge] = set()
    ids = [memory_id for memory_id in ids if memory_rows.is_text(memory_id)]
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


def among(connection: apsw.Connection, seen: Visibility, keys: Sequence[int], kinds: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return edges of these kinds into or out of these memories as (source, target, kind), both ends visible and active."""
    at_source, values = predicate(seen, "a.scope")
    at_target, _ = predicate(seen, "b.scope")
    keys_, kinds_ = ", ".join("?" * len(keys)), ", ".join("?" * len(kinds))
    arms = " UNION ".join(
        f"""
        SELECT e.source, e.target, e.kind
          FROM edges AS e JOIN memories AS a ON a.key = e.source JOIN memories AS b ON b.key = e.target
         WHERE e.{side} IN ({keys_}) AND e.kind IN ({kinds_})
           AND a.status IN ('active', 'challenged') AND b.status IN ('active', 'challenged') AND {at_source} AND {at_target}
        """
        for side in ("source", "target")
    )
    once: tuple[int | str, ...] = (*keys, *kinds, *values, *values)
    found: list[Any] = connection.execute(arms, once + once).fetchall()
    return found
