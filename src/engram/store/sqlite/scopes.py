"""The reader's visibility as SQL: the one function that builds the predicate, parameterized, for every query.

Scopes are interned in their own small table, so the predicate on a memory is one integer look-up in a set that SQLite
materialises once a statement, however many dimensions a scope has.
"""

from __future__ import annotations

from dataclasses import astuple

import apsw

from engram.guard.scopes import Visibility
from engram.types import SCOPE_DIMENSIONS, Scope

Sql = tuple[str, tuple[str, ...]]


def predicate(visibility: Visibility, column: str) -> Sql:
    """A condition on `column` (a scope key) that holds for exactly what is visible."""
    if visibility.everything:
        return "TRUE", ()
    boxes: list[str] = []
    values: list[str] = []
    for box in visibility.boxes:
        terms = []
        for dimension, admitted in zip(SCOPE_DIMENSIONS, box, strict=True):
            if admitted is not None:
                terms.append(f"{dimension} IN ({', '.join('?' * len(admitted))})")
                values.extend(admitted)
        boxes.append(" AND ".join(terms))
    if not boxes:
        return "FALSE", ()
    return f"{column} IN (SELECT key FROM scopes WHERE {' OR '.join(boxes)})", tuple(values)


def intern(connection: apsw.Connection, scope: Scope) -> int:
    """The key of this scope, made if it is new. Runs in the writer's transaction."""
    values = astuple(scope)
    connection.execute("INSERT OR IGNORE INTO scopes (project, squad, agent, channel, user) VALUES (?, ?, ?, ?, ?)", values)
    key = connection.execute(
        "SELECT key FROM scopes WHERE project = ? AND squad = ? AND agent = ? AND channel = ? AND user = ?", values
    ).get
    return int(key)
