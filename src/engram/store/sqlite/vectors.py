"""The statements on vectors: whose a space's are, which memories have one and which still lack it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import apsw

from engram.errors import DimensionMismatch
from engram.guard.visibility import Visibility
from engram.store.ports import Filter
from engram.store.sqlite import connection as sealed
from engram.store.sqlite import rows
from engram.store.sqlite.rows import predicate
from engram.types import Space

_KEPT = "CASE tier WHEN 'confidential' THEN project(?) ELSE ? END"
"""A vector as its memory's tier has it stored."""


def put(connection: apsw.Connection, memory: int, space: int, vector: bytes) -> None:
    """Store the vector of a memory that has none."""
    sql = f"INSERT INTO embeddings (memory, space, vector) SELECT key, ?, {_KEPT} FROM memories WHERE key = ?"
    connection.execute(sql, (space, vector, vector, memory))


def vectors(connection: apsw.Connection, seen: Visibility, where: Filter, space: str) -> Iterable[tuple[int, bytes]]:
    visible, values = predicate(seen, "m.scope")
    extra, more = rows.conditions(where)
    sql = f"""
        SELECT e.memory, {sealed.VECTOR}
          FROM embeddings AS e JOIN memories AS m ON m.key = e.memory
         WHERE e.space = (SELECT key FROM spaces WHERE name = ?) AND {visible}{extra}
         ORDER BY e.memory
    """
    return connection.execute(sql, (space, *values, *more))


def space_key(connection: apsw.Connection, space: Space) -> int:
    """The key of a space, made if it is new. A space holds one model and one length."""
    connection.execute(
        "INSERT OR IGNORE INTO spaces (name, model, dimensions) VALUES (?, ?, ?)", (space.name, space.model, space.dimensions)
    )
    key, model, dimensions = connection.execute(
        "SELECT key, model, dimensions FROM spaces WHERE name = ?", (space.name,)
    ).fetchall()[0]
    if (model, dimensions) != (space.model, space.dimensions):
        raise DimensionMismatch(
            f"the vector space {space.name!r} holds {dimensions} dimensions of the model {model!r},"
            f" not {space.dimensions} of {space.model!r}."
        )
    return int(key)  # type: ignore[arg-type]


def own_space(connection: apsw.Connection, space: Space | None) -> int | None:
    """The key of a space, made if it is new; None if another model has it."""
    try:
        return None if space is None else space_key(connection, space)
    except DimensionMismatch:
        return None


def put_vectors(
    connection: apsw.Connection,
    owned: Visibility,
    space: Space,
    vectors: Mapping[int, bytes],
    said: Mapping[int, str] | None = None,
) -> int:
    """Store vectors for memories that may be written and, if it is told, still say what the vectors were made of."""
    key = space_key(connection, space)
    if said is not None:
        vectors = {memory: vector for memory, vector in vectors.items() if _says(connection, memory, said[memory])}
    visible, values = predicate(owned, "scope")
    sql = f"""
        INSERT OR REPLACE INTO embeddings (memory, space, vector) SELECT key, ?, {_KEPT} FROM memories WHERE key = ? AND {visible}
    """
    before = connection.total_changes()
    connection.executemany(sql, ((key, vector, vector, memory, *values) for memory, vector in vectors.items()))
    put = connection.total_changes() - before
    connection.executemany(
        f"INSERT INTO changes (memory, what) SELECT key, 'vector' FROM memories WHERE key = ? AND {visible}",
        ((memory, *values) for memory in vectors),
    )
    return put


def _says(connection: apsw.Connection, key: int, text: str) -> bool:
    sql = f"SELECT {sealed.opened('text')} FROM contents AS c JOIN memories AS m ON m.key = c.memory WHERE m.key = ?"
    return bool(connection.execute(sql, (key,)).get == text)


def space_rows(connection: apsw.Connection, space: str, condition: str, values: Sequence[int]) -> list[Any]:
    """What a vector index is made of; `condition` is one of this room's own."""
    sql = f"""
        SELECT m.key, m.scope, m.kind, m.status, m.category, coalesce(m.happened_at, m.learned_at), {sealed.VECTOR}
          FROM memories AS m JOIN embeddings AS e ON e.memory = m.key
         WHERE e.space = (SELECT key FROM spaces WHERE name = ?) AND {condition}
    """
    return connection.execute(sql, (space, *values)).fetchall()


def without_vector(
    connection: apsw.Connection, seen: Visibility, space: str, after: int, limit: int
) -> list[tuple[int, str, str]]:
    """Active memories that have no vector in a space yet: (key, speaker, text)."""
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT m.key, m.speaker, {sealed.opened("text")} FROM memories AS m JOIN contents AS c ON c.memory = m.key
         WHERE m.key > ? AND m.status = 'active' AND {visible} AND NOT EXISTS
               (SELECT 1 FROM embeddings WHERE memory = m.key AND space = (SELECT key FROM spaces WHERE name = ?))
         ORDER BY m.key LIMIT ?
    """
    found: list[Any] = connection.execute(sql, (after, *values, space, limit)).fetchall()
    return found


_ENDS = 256
"""Memories looked at on either end: vectors are missing from before a model was there, or since it went. All would be O(n)."""


def lacking(connection: apsw.Connection, seen: Visibility, space: str) -> bool:
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT EXISTS (SELECT 1 FROM memories AS m
         WHERE (m.key < (SELECT min(key) FROM memories) + {_ENDS} OR m.key > (SELECT max(key) FROM memories) - {_ENDS})
           AND m.status = 'active' AND {visible} AND NOT EXISTS
               (SELECT 1 FROM embeddings WHERE memory = m.key AND space = (SELECT key FROM spaces WHERE name = ?)))
    """
    return bool(connection.execute(sql, (*values, space)).get)


def pending(connection: apsw.Connection, seen: Visibility) -> int:
    """How many active memories have no vector in any space."""
    visible, values = predicate(seen, "m.scope")
    sql = f"""
        SELECT count(*) FROM memories AS m
         WHERE m.status = 'active' AND {visible} AND NOT EXISTS (SELECT 1 FROM embeddings WHERE memory = m.key)
    """
    return int(connection.execute(sql, values).get)


def clear_space(connection: apsw.Connection, name: str) -> int:
    """Take all vectors out of a space, and its model's name off it; how many there were."""
    gone = "SELECT memory FROM embeddings WHERE space = (SELECT key FROM spaces WHERE name = ?)"
    connection.execute(f"INSERT INTO changes (memory, what) SELECT memory, 'vector' FROM ({gone})", (name,))
    before = connection.total_changes()
    connection.execute("DELETE FROM embeddings WHERE space = (SELECT key FROM spaces WHERE name = ?)", (name,))
    removed = connection.total_changes() - before
    questions = "UPDATE feedback SET vector = x'', space = NULL WHERE space = (SELECT key FROM spaces WHERE name = ?)"
    connection.execute(questions, (name,))
    connection.execute("DELETE FROM spaces WHERE name = ?", (name,))
    return removed
