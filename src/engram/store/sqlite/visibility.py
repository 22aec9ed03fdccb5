"""The reader's visibility as SQL: `predicate` is the one function that turns it into a condition, for every query.

Scopes are interned in a small table of their own, so the predicate on a memory is one integer look-up in a set that SQLite
materialises once per statement.
"""

from __future__ import annotations

from functools import lru_cache

from engram.guard.visibility import Visibility
from engram.values.identity import SCOPE_DIMENSIONS

Sql = tuple[str, tuple[str, ...]]


@lru_cache(maxsize=1024)  # few readers, many statements
def predicate(visibility: Visibility, column: str, joined: str = "") -> Sql:
    """Return the SQL condition on `column`, a scope key, that holds for exactly the visible scopes, and its values.

    `joined`: alias of a row of `scopes` that the statement joins to `column` anyway; testing it directly takes, for one
    memory, half the time of making the set of all visible scopes first.
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
