"""The statements on what readers said of memories: for which questions one did not help, and what was corrected.

Of a question its vector and a keyed digest of its telling words are kept, never the words.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from engram.env import from_micros, to_micros
from engram.guard.visibility import Visibility
from engram.store.ports import Judgement
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import memories
from engram.store.sqlite.rows import intern, predicate
from engram.text.english.facts import Fact
from engram.types import Memory, Scope, Space

CORRECTED = "corrected"
"""The reason in a memory's history that tells a correction from other ways of being superseded."""

SUPERSEDES = "supersedes"


def put(
    connection: apsw.Connection,
    memory: int,
    scope: Scope,
    at: datetime,
    helpful: bool,
    digest: str,
    space: int | None,
    vector: bytes | None,
    forget_before: datetime,
) -> None:
    """Keep one judgement, and let those on this memory go that no longer count. Its vector is kept as closely as the memory."""
    connection.execute("DELETE FROM feedback WHERE memory = ? AND at < ?", (memory, to_micros(forget_before)))
    kept = (b"" if space is None or vector is None else vector, space if vector else None)
    connection.execute(
        """
        INSERT INTO feedback (memory, scope, at, helpful, digest, vector, space)
        SELECT key, ?2, ?3, ?4, ?5, CASE WHEN tier = 'confidential' AND ?6 <> x'' THEN project(?6) ELSE ?6 END, ?7
          FROM memories WHERE key = ?1
        """,
        (memory, intern(connection, scope), to_micros(at), int(helpful), digest, *kept),
    )


def of(connection: apsw.Connection, seen: Visibility, keys: Sequence[int], digest: str, space: Space | None) -> list[Judgement]:
    """Judgements on these memories by those whom `seen` admits, oldest first."""
    visible, values = predicate(seen, "f.scope")
    model = ("", 0) if space is None else (space.model, space.dimensions)
    sql = f"""
        SELECT f.memory, f.at, f.helpful, f.digest = ?,
               CASE WHEN (s.model, s.dimensions) <> (?, ?) OR f.space IS NULL THEN x''
                    WHEN m.tier = 'confidential' THEN straighten(f.vector) ELSE f.vector END
          FROM feedback AS f JOIN memories AS m ON m.key = f.memory LEFT JOIN spaces AS s ON s.key = f.space
         WHERE f.memory IN ({", ".join("?" * len(keys))}) AND {visible} ORDER BY f.at, f.key
    """
    found: list[Any] = connection.execute(sql, (digest, *model, *keys, *values)).fetchall()
    return [Judgement(key, from_micros(at), bool(good), bool(same), bytes(vector)) for key, at, good, same, vector in found]


def corrected(connection: apsw.Connection, seen: Visibility, digests: Sequence[bytes]) -> dict[bytes, Memory]:
    """For each wording that was corrected: what stands in its place. By the index of digests, as `memories.by_digest`."""
    visible, values = predicate(seen, "m.scope")
    found: dict[bytes, Memory] = {}
    forms = sealed.digests(connection, digests)
    stored = list(forms)
    for start in range(0, len(stored), _AT_ONCE):
        some = stored[start : start + _AT_ONCE]
        sql = f"""
            SELECT c.digest, m.key FROM contents AS c CROSS JOIN memories AS m ON m.key = c.memory
             WHERE c.digest IN ({", ".join("?" * len(some))}) AND {_IS_CORRECTED} AND {visible}
        """
        rows: list[Any] = connection.execute(sql, (*some, *values)).fetchall()
        found |= {forms[bytes(digest)]: replacement(connection, seen, key) for digest, key in rows}
    return found


def by_facts(connection: apsw.Connection, seen: Visibility, told: Sequence[Fact]) -> list[Memory]:
    """What was corrected and said something of the same subject and sort as one of these."""
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT m.key FROM facts AS f CROSS JOIN memories AS m ON m.key = f.memory
         WHERE f.subject = ? AND f.predicate = ? AND {_IS_CORRECTED} AND {visible}
    """
    found: dict[int, None] = {}
    for fact in told:
        rows: list[Any] = connection.execute(sql, (fact.subject, fact.predicate, *values)).fetchall()
        found |= dict.fromkeys(row[0] for row in rows)
    return memories.by_keys(connection, seen, list(found))


def all_corrected(connection: apsw.Connection, seen: Visibility) -> list[int]:
    """Keys of what was corrected."""
    visible, values = predicate(seen, "m.scope")
    rows: list[Any] = connection.execute(
        f"SELECT m.key FROM memories AS m WHERE {visible} AND {_IS_CORRECTED}", values
    ).fetchall()
    return [row[0] for row in rows]


def replacement(connection: apsw.Connection, seen: Visibility, key: int) -> Memory:
    """What stands in the place of a corrected memory now, through all corrections since; itself if that is gone."""
    visible, values = predicate(seen, "m.scope")
    last = connection.execute(
        f"""
        WITH RECURSIVE line (key, far) AS (
            SELECT ?, 0 UNION
            SELECT e.source, line.far + 1 FROM line JOIN edges AS e ON e.target = line.key
             WHERE e.kind = '{SUPERSEDES}' AND line.far < {_LONGEST_LINE})
        SELECT m.key FROM line JOIN memories AS m ON m.key = line.key
         WHERE m.status = 'active' AND {visible} ORDER BY line.far LIMIT 1
        """,
        (key, *values),
    ).get
    return memories.by_keys(connection, seen, [key if last is None else int(last)])[0]


_AT_ONCE = 500
_LONGEST_LINE = 64
_IS_CORRECTED = f"""m.status = 'superseded' AND EXISTS
    (SELECT 1 FROM status_history AS h WHERE h.memory = m.key AND h.new = 'superseded'
        AND {sealed.told("status_history", "reason", "h")} = '{CORRECTED}')"""
