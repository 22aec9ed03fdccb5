"""Figures of how much is known: tallies of memories, subjects that several memories name, and doubts.

Every count applies the reader's visibility, to both ends of a contradiction too: memories of others neither add knowledge nor
cast doubt. Of a subject with more than `_MOST` memories the latest are counted.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.guard.visibility import Visibility, readable
from engram.store.sqlite import memory_rows
from engram.store.sqlite.visibility import predicate
from engram.store.validation import bounded
from engram.types import Memory, Reader
from engram.values.entities import Gap, GapKind, KnownSubject, SubjectTally

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_MOST = 500  # memories of one subject that are counted

_LATEST = 5000  # memories that are sorted by category

_NAMED = 2  # least memories of a subject


class KnowledgeSurvey:
    """Figures of how much is known about subjects, and of doubtful memories."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def tally(self, reader: Reader, keys: Sequence[int]) -> SubjectTally:
        """Return figures of those of these memories that are active and visible; of very many the first are counted."""
        marks = ", ".join("?" * len(keys[:_MOST]))
        with self._gate.read(reader, "knows") as connection:
            found = _tally(connection, readable(reader), f"m.key IN ({marks})", keys[:_MOST], self._stale())
        self._gate.note(reader, "knows", count=found.memories)
        return found if len(keys) <= _MOST else found._replace(memories=len(keys))

    def subjects(self, reader: Reader, *, limit: int, without: Collection[str] = ()) -> list[KnownSubject]:
        """Return entities that several memories name, and categories except `without`, those with most memories first."""
        bounded(limit, self._gate.limits.page_limit, "a list of subjects")
        with self._gate.read(reader, "knows") as connection:
            seen, stale = readable(reader), self._stale()
            sorts = [one for one in _categories(connection, seen, stale) if one.name not in without]
            found = [*_named(connection, seen, limit, stale), *sorts]
        self._gate.note(reader, "knows", count=len(found))
        return sorted(found, key=lambda one: (-one.tally.memories, one.name))[:limit]

    def doubts(self, reader: Reader, *, keys: Sequence[int] | None = None, limit: int) -> list[Gap]:
        """Return contradicting pairs, the latest first, then old memories in frequent use, the most used first. `keys`: only
        doubts about these memories.
        """
        bounded(limit, self._gate.limits.page_limit, "a page")
        with self._gate.read(reader, "gaps") as connection:
            disputes = _contested(connection, readable(reader), keys, limit)
            found = disputes + _stale(connection, readable(reader), keys, limit - len(disputes), self._stale())
        self._gate.note(reader, "gaps", count=len(found))
        return found

    def _stale(self) -> tuple[int, int]:
        limits = self._gate.limits
        return limits.stale_uses, to_micros(self._gate.env.now() - timedelta(days=limits.stale_days))


def _tally(
    connection: apsw.Connection, seen: Visibility, which: str, values: Sequence[Any], stale: tuple[int, int]
) -> SubjectTally:
    rows: list[Any] = connection.execute(*_counting(seen, "1", which, values, stale)).fetchall()
    return SubjectTally(*rows[0][1:]) if rows else SubjectTally(0, 0, 0, None, None, None, None, None, None, None, None)


def _counting(
    seen: Visibility, by: str, which: str, values: Sequence[Any], stale: tuple[int, int]
) -> tuple[str, tuple[Any, ...]]:
    """Return the statement that tallies memories by an expression, and its values. A contradiction counts if both ends are
    visible."""
    visible, scopes = predicate(seen, "m.scope")
    other, _ = predicate(seen, "o.scope")
    sql = f"""
        SELECT {by}, count(*), count(DISTINCT nullif(m.session, '')), count(DISTINCT nullif(m.speaker, '')),
               avg(m.confidence), avg(m.corroborations), avg(m.helpful), avg(m.unhelpful),
               sum(EXISTS (
                   SELECT 1 FROM edges AS g JOIN memories AS o
                       ON o.key = CASE WHEN g.source = m.key THEN g.target ELSE g.source END
                    WHERE g.kind = 'contradicts' AND (g.source = m.key OR g.target = m.key)
                      AND o.status IN ('active', 'challenged') AND {other}
               )),
               sum(m.accesses >= ? AND m.updated_at < ?),
               min(coalesce(m.happened_at, m.learned_at)), max(coalesce(m.happened_at, m.learned_at))
          FROM memories AS m
         WHERE {which} AND m.status IN ('active', 'challenged') AND m.flagged = 0 AND {visible} GROUP BY {by}
    """
    return sql, (*scopes, *stale, *values, *scopes)


def _named(connection: apsw.Connection, seen: Visibility, limit: int, stale: tuple[int, int]) -> list[KnownSubject]:
    visible, values = predicate(seen, "m.scope")
    found: list[Any] = connection.execute(
        f"""
        WITH counted AS (
            SELECT n.entity AS entity, count(DISTINCT n.memory) AS times
              FROM mentions AS n CROSS JOIN memories AS m INDEXED BY memories_for_search ON m.key = n.memory
             WHERE m.status IN ('active', 'challenged') AND {visible} GROUP BY n.entity
        )
        SELECT e.name, e.kind, sum(c.times), group_concat(e.key) FROM counted AS c JOIN entities AS e ON e.key = c.entity
         GROUP BY e.name, e.kind HAVING sum(c.times) >= {_NAMED} ORDER BY sum(c.times) DESC, e.name LIMIT ?
        """,
        (*values, limit),
    ).fetchall()
    made = []
    for name, kind, count, entities in found:
        own = f"SELECT DISTINCT memory FROM mentions WHERE entity IN ({entities}) ORDER BY memory DESC LIMIT {_MOST}"
        tally = _tally(connection, seen, f"m.key IN ({own})", (), stale)
        if tally.memories:
            made.append(KnownSubject(name, kind, tally if count <= _MOST else tally._replace(memories=count)))
    return made


def _categories(connection: apsw.Connection, seen: Visibility, stale: tuple[int, int]) -> list[KnownSubject]:
    """Return the categories of the latest memories: an overview needs no scan of all."""
    visible, scopes = predicate(seen, "scope")
    latest = f"SELECT key FROM memories WHERE status IN ('active', 'challenged') AND {visible} ORDER BY key DESC LIMIT {_LATEST}"
    found: list[Any] = connection.execute(*_counting(seen, "m.category", f"m.key IN ({latest})", scopes, stale)).fetchall()
    made = [KnownSubject(category, "category", SubjectTally(*tally)) for category, *tally in found]
    return [one for one in made if one.tally.memories >= _NAMED]


def _contested(connection: apsw.Connection, seen: Visibility, keys: Sequence[int] | None, limit: int) -> list[Gap]:
    here, scopes = predicate(seen, "a.scope")
    there, _ = predicate(seen, "b.scope")
    which, values = _among(("g.source", "g.target"), keys)
    rows: list[Any] = connection.execute(
        f"""
        SELECT g.source, g.target, g.created_at, a.accesses + b.accesses FROM edges AS g
          JOIN memories AS a ON a.key = g.source JOIN memories AS b ON b.key = g.target
         WHERE g.kind = 'contradicts' AND {which} AND a.status IN ('active', 'challenged')
           AND b.status IN ('active', 'challenged')
           AND a.flagged = 0 AND b.flagged = 0 AND {here} AND {there}
         ORDER BY g.created_at DESC, g.source DESC LIMIT ?
        """,
        (*values, *scopes, *scopes, limit),
    ).fetchall()
    known = {one.key: one for one in memory_rows.by_keys(connection, seen, [key for row in rows for key in row[:2]])}
    pairs = [(known[one], known[other], at, uses) for one, other, at, uses in rows]
    return [_gap(GapKind.CONTESTED, f"Which holds: “{_said(a)}” or “{_said(b)}”?", uses, at, a, b) for a, b, at, uses in pairs]


def _stale(
    connection: apsw.Connection, seen: Visibility, keys: Sequence[int] | None, limit: int, stale: tuple[int, int]
) -> list[Gap]:
    visible, scopes = predicate(seen, "m.scope")
    which, values = _among(("m.key",), keys)
    rows: list[Any] = connection.execute(
        f"""
        SELECT m.key, coalesce(m.accessed_at, m.updated_at), m.accesses FROM memories AS m
         WHERE m.accesses >= 5 AND m.accesses >= ? AND m.updated_at < ? AND {which}
           AND m.status IN ('active', 'challenged') AND m.flagged = 0
           AND {visible} ORDER BY m.accesses DESC, m.key DESC LIMIT ?
        """,
        (*stale, *values, *scopes, max(limit, 0)),
    ).fetchall()
    known = {one.key: one for one in memory_rows.by_keys(connection, seen, [row[0] for row in rows])}
    return [_gap(GapKind.STALE, f"Is this still so: “{_said(known[key])}”?", uses, at, known[key]) for key, at, uses in rows]


def _among(columns: Sequence[str], keys: Sequence[int] | None) -> tuple[str, list[int]]:
    if keys is None:
        return "TRUE", []
    marks = ", ".join("?" * len(keys[:_MOST]))
    return f"({' OR '.join(f'{column} IN ({marks})' for column in columns)})", [*keys[:_MOST]] * len(columns)


def _said(memory: Memory) -> str:
    return " ".join((memory.summary or memory.text).split()).rstrip(".")


def _gap(kind: GapKind, text: str, uses: int, at: int, *about: Memory) -> Gap:
    return Gap(
        text=text,
        scope=about[0].scope,
        times=uses,
        asked_at=from_micros(at),
        kind=kind,
        memories=tuple(one.id for one in about),
    )


def moment(at: int | None) -> datetime | None:
    return None if at is None else from_micros(at)
