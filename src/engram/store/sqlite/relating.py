"""The verbs on what stands in a relation to what: the facts that hold, by who says them, by either end and by what they tell. For
what follows from them (K11), and for what is missing (K6).

Only what stands in the clear, is in no dispute and was told: nothing is concluded from conclusions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import apsw

from engram.guard.visibility import Visibility, readable
from engram.store.sqlite import connection as sealed
from engram.store.sqlite.gate import Path
from engram.store.sqlite.rows import predicate
from engram.types import Reader


class Related(NamedTuple):
    """A fact that holds, how sure it is, and the id of the memory that says it."""

    subject: str
    predicate: str
    object: str
    confidence: float
    memory: str


class Relating(Path):
    """Mixed into the store."""

    def said_by(self, reader: Reader, keys: Sequence[int]) -> list[Related]:
        """What these memories say."""
        with self._read(reader, "relations") as connection:
            return _related(connection, readable(reader), "memory", keys, -1)

    def said_of(self, reader: Reader, names: Sequence[str], *, backwards: bool = False, most: int) -> list[Related]:
        """What is said of these, the surest first; `backwards`: what is said to stand in a relation to them."""
        with self._read(reader, "relations") as connection:
            return _related(connection, readable(reader), "object" if backwards else "subject", names, most)

    def is_told(self, reader: Reader, subject: str, what: str) -> bool:
        """Is this told of a subject, or was it, in whatever words and however sure?"""
        visible, values = predicate(readable(reader), "m.scope")
        sql = f"""
            SELECT EXISTS (SELECT 1 FROM facts AS f CROSS JOIN memories AS m ON m.key = f.memory
             WHERE f.subject IN ({sealed.either("facts", "subject", "?1")})
               AND f.predicate IN ({sealed.either("facts", "predicate", "?2")}) AND {visible})
        """
        with self._read(reader, "relations") as connection:
            return bool(connection.execute(sql, (subject, what, *values)).get)

    def saying(self, reader: Reader, what: str, *, most: int) -> list[Related]:
        """What is said of anything by this predicate, the surest first."""
        with self._read(reader, "relations") as connection:
            return _related(connection, readable(reader), "predicate", [what], most)


def _related(
    connection: apsw.Connection, seen: Visibility, column: str, wanted: Sequence[str] | Sequence[int], most: int
) -> list[Related]:
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT f.subject, f.predicate, f.object, m.confidence, m.id
          FROM facts AS f CROSS JOIN memories AS m ON m.key = f.memory
         WHERE f.{column} IN ({", ".join("?" * len(wanted))}) AND f.until IS NULL AND f.holds
           AND m.status = 'active' AND m.tier = 'cleartext' AND m.source <> 'inferred' AND NOT m.flagged AND {visible}
           AND NOT EXISTS (SELECT 1 FROM edges AS g JOIN memories AS o
                              ON o.key = CASE WHEN g.source = m.key THEN g.target ELSE g.source END
                            WHERE g.kind = 'contradicts' AND (g.source = m.key OR g.target = m.key) AND o.status = 'active')
         ORDER BY m.confidence DESC, f.memory, f.number LIMIT ?
    """
    found: list[Any] = connection.execute(sql, (*wanted, *values, most)).fetchall() if wanted else []
    return [Related(*row) for row in found]
