"""The reader's visibility as SQL: the one function that builds the predicate, parameterized, for every query.

Scopes are interned in their own small table, so the predicate on a memory is one integer look-up in a set that SQLite
materialises once a statement, however many dimensions a scope has.
"""

from __future__ import annotations

from functools import lru_cache

import apsw

from engram.guard.scopes import Visibility
from engram.who import SCOPE_DIMENSIONS, Scope, scope_values

Sql = tuple[str, tuple[str, ...]]


@lru_cache(maxsize=1024)  # few readers, many statements
def predicate(visibility: Visibility, column: str, joined: str = "") -> Sql:
    """A condition on `column` (a scope key) that holds for exactly what is visible.

    `joined` names a row of `scopes` that the statement joins to `column` anyway: it is asked directly, which for one
    memory costs half of making the set of all visible scopes first.
    """
    if visibility.everything:
        return "TRUE", ()
    prefix = f"{joined}." if joined else ""
    boxes: list[str] = []
    values: list[str] = []
    for box in visibility.boxes:
        terms = []
        for dimension, admitted in zip(SCOPE_DIMENSIONS, box, strict=True):
            if admitted is not None:
                terms.append(f"{prefix}{dimension} IN ({', '.join('?' * len(admitted))})")
                values.extend(admitted)
        boxes.append(" AND ".join(terms))
    if not boxes:
        return "FALSE", ()
    visible = " OR ".join(boxes)
    return f"({visible})" if joined else f"{column} IN (SELECT key FROM scopes WHERE {visible})", tuple(values)


def intern(connection: apsw.Connection, scope: Scope) -> int:
    """The key of this scope, made if it is new. Runs in the writer's transaction."""
    values = scope_values(scope)
    # Looked up each time: a key remembered from a transaction that was rolled back could become another scope's.
    key = connection.execute(
        "SELECT key FROM scopes WHERE project = ? AND squad = ? AND agent = ? AND channel = ? AND user = ?", values
    ).get
    if key is None:
        connection.execute("INSERT INTO scopes (project, squad, agent, channel, user) VALUES (?, ?, ?, ?, ?)", values)
        key = connection.last_insert_rowid()
    return int(key)
