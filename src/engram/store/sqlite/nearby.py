"""The verbs on what stands near some memories: over links, and by naming the same. For recall, which follows them by keys.

Both ends of every link are checked against the reader's visibility in the statement that follows it: a link never leads into
what somebody else keeps. What one step brings is bounded, the surest first, however many links there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import apsw

from engram.env import to_micros
from engram.guard.visibility import Visibility, readable
from engram.rules.edges import LASTING, EdgeWeights
from engram.store.ports import Filter
from engram.store.sqlite import rows
from engram.store.sqlite.gate import Path
from engram.store.sqlite.rows import predicate
from engram.text.english.entities import folded
from engram.types import Reader

_MONTH = 30 * 86_400_000_000
_DAY = 86_400_000_000


class Step(NamedTuple):
    """From one memory to the next, by keys; `sure` is how much of what there is goes over, `by` the kind of link, or the name
    that both have (`named`)."""

    here: int
    there: int
    by: str
    sure: float
    named: bool = False


class Nearby(Path):
    """Mixed into the store."""

    def linked(self, reader: Reader, keys: Sequence[int], now: datetime, *, most: int) -> list[Step]:
        """Links from these memories to active ones, either way round, the surest first; what is hardly sure is not followed."""
        with self._read(reader, "links") as connection:
            return _linked(connection, readable(reader), keys, now, self._live.tuned(EdgeWeights), most) if keys else []

    def named_alike(self, reader: Reader, keys: Sequence[int], *, fan: int, most: int) -> list[Step]:
        """From these memories to active ones that name the same; what more than `fan` memories name leads nowhere."""
        with self._read(reader, "links") as connection:
            return _named_alike(connection, readable(reader), keys, fan, most) if keys else []

    def naming(self, reader: Reader, names: Sequence[str], *, most: int) -> list[Step]:
        """Active memories that name one of these, by whatever name, the latest of each; `here` is the place among `names`."""
        with self._read(reader, "links") as connection:
            return _naming(connection, readable(reader), [folded(name) for name in names], most) if names else []

    def passing(self, reader: Reader, keys: Sequence[int], where: Filter) -> set[int]:
        """Those of these memories that are visible and pass a filter."""
        with self._read(reader, "keys") as connection:
            return _passing(connection, readable(reader), keys, where) if keys else set()


def _linked(
    connection: apsw.Connection, seen: Visibility, keys: Sequence[int], now: datetime, weights: EdgeWeights, most: int
) -> list[Step]:
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
         WHERE e.{here} IN ({marks}) AND b.status = 'active' AND {at_here} AND {at_there}
        """
        for here, there in (("source", "target"), ("target", "source"))
    )
    sql = (
        f"SELECT here, there, kind, sure * weight FROM ({arms}) WHERE sure >= ?4 ORDER BY sure * weight DESC, there DESC LIMIT ?"
    )
    fading = (to_micros(now), int(weights.edge_grace_days * _DAY), weights.edge_fade, weights.edge_floor)
    once: tuple[int | str, ...] = (*keys, *values, *values)
    found: list[Any] = connection.execute(sql, (*fading, *once, *once, most)).fetchall()
    return [Step(*row) for row in found]


def _named_alike(connection: apsw.Connection, seen: Visibility, keys: Sequence[int], fan: int, most: int) -> list[Step]:
    at_here, values = predicate(seen, "a.scope")
    at_there, _ = predicate(seen, "b.scope")
    # Counted only as far as it matters: a name that everything bears is not counted through.
    sql = f"""
        WITH named AS MATERIALIZED (
            SELECT n.memory AS here, n.entity AS entity,
                   (SELECT count(*) FROM (SELECT 1 FROM mentions AS x WHERE x.entity = n.entity LIMIT ?)) AS fan
              FROM mentions AS n JOIN memories AS a INDEXED BY memories_for_search ON a.key = n.memory
             WHERE n.memory IN ({", ".join("?" * len(keys))}) AND {at_here}
        )
        SELECT named.here, o.memory, e.name, named.fan
          FROM named
          CROSS JOIN entities AS e ON e.key = named.entity
          CROSS JOIN mentions AS o ON o.entity = named.entity
          CROSS JOIN memories AS b INDEXED BY memories_for_search ON b.key = o.memory
         WHERE named.fan <= ? AND o.memory <> named.here AND b.status = 'active' AND {at_there}
         ORDER BY named.fan, o.memory DESC LIMIT ?
    """
    found: list[Any] = connection.execute(sql, (fan + 1, *keys, *values, fan, *values, most)).fetchall()
    return [Step(here, there, name, 1.0 / fan.bit_length(), True) for here, there, name, fan in found]


def _naming(connection: apsw.Connection, seen: Visibility, names: Sequence[str], most: int) -> list[Step]:
    at_name, values = predicate(seen, "a.scope")
    at_there, _ = predicate(seen, "m.scope")
    found: list[Any] = connection.execute(
        f"""
        SELECT a.name, m.key FROM aliases AS a
          CROSS JOIN mentions AS n ON n.entity = a.entity
          CROSS JOIN memories AS m INDEXED BY memories_for_search ON m.key = n.memory
         WHERE a.name IN ({", ".join("?" * len(names))}) AND {at_name} AND m.status = 'active' AND {at_there}
         ORDER BY n.entity, n.memory DESC LIMIT ?
        """,
        (*names, *values, *values, most),
    ).fetchall()
    return [Step(names.index(name), key, name, 1.0, True) for name, key in found]


def _passing(connection: apsw.Connection, seen: Visibility, keys: Sequence[int], where: Filter) -> set[int]:
    visible, values = predicate(seen, "m.scope")
    extra, more = rows.conditions(where)
    sql = f"SELECT m.key FROM memories AS m WHERE m.key IN ({', '.join('?' * len(keys))}) AND {visible}{extra}"
    found: list[Any] = connection.execute(sql, (*keys, *values, *more)).fetchall()
    return {row[0] for row in found}
