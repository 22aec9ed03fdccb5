"""What an agent puts away when it stops, and takes up again: one row for each scope and name, and nobody else's.

Only who stands in exactly that scope reads it, whatever their policy: it is a train of thought, not knowledge. What was in mind
(`MIND`) and what a program handed over (`HANDOFF`) may be copied from any memory, so they go for every scope when anything is
erased; a checkpoint is its author's own text, and goes if it has a word that is said nowhere else any more. What was handed over
also goes if it repeats a memory that is set aside or changed: it would stand in the next session's prompt.

A mind is always sealed (§10.19). The others are kept as closely as their words ask for and what they were copied from is, at once
and later on: one that opens without `cryptography` spares the start of a session a sixth of its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import apsw

from engram.env import from_micros
from engram.guard.visibility import writable
from engram.store.sqlite.rows import predicate
from engram.values.identity import Reader, Scope, scope_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MIND, CHECKPOINT, HANDOFF = "mind", "checkpoint", "handoff"

_BODY = """
    CASE WHEN substr(w.body, 1, 7) = CAST('sealed:' AS BLOB)
         THEN unseal(CAST(substr(w.body, 8) AS TEXT), w.scope, 'mind/' || w.name) ELSE w.body END
"""


def last(connection: apsw.Connection, scope: Scope, name: str) -> tuple[datetime, bytes] | None:
    """What was put away under this name in exactly this scope, and when."""
    sql = f"""
        SELECT w.saved_at, {_BODY}
          FROM working_snapshots AS w JOIN scopes AS s ON s.key = w.scope
         WHERE s.project = ? AND s.squad = ? AND s.agent = ? AND s.channel = ? AND s.user = ? AND w.name = ?
    """
    found: list[Any] = connection.execute(sql, (*scope_values(scope), name)).fetchall()
    return next(((from_micros(at), _bytes(body)) for at, body in found), None)


def _bytes(body: str | bytes) -> bytes:
    return body.encode("latin-1") if isinstance(body, str) else bytes(body)


def erased_since(connection: apsw.Connection, change: int) -> bool:
    """If the log does not reach back that far, it is taken to be so."""
    kept = int(connection.execute("SELECT coalesce(min(seq), 0) FROM changes").get)
    return kept > change + 1 or bool(connection.execute("SELECT 1 FROM changes WHERE seq > ? AND what = 'erase'", (change,)).get)


def forget_minds(connection: apsw.Connection, reader: Reader, words: Sequence[str]) -> None:
    """Part of erasing: any mind may hold words of what was erased. Checkpoints are looked into where this reader may write."""
    connection.execute("DELETE FROM working_snapshots WHERE name IN (?, ?)", (MIND, HANDOFF))
    mine, values = predicate(writable(reader), "w.scope")
    sql = f"SELECT w.scope, w.name, {_BODY} FROM working_snapshots AS w WHERE {mine}"
    for scope, name, body in connection.execute(sql, values).fetchall():
        told = _bytes(body).decode("utf-8", "replace").lower()  # type: ignore[arg-type]
        if any(word.lower() in told for word in words):
            connection.execute("DELETE FROM working_snapshots WHERE scope = ? AND name = ?", (scope, name))


def forget_handed(connection: apsw.Connection, aside: Sequence[str]) -> None:
    """Part of setting memories of these words aside, of saying them in other words, or of marking them as an attack."""
    import json  # as they stand in what was handed over

    said = [json.dumps(text, ensure_ascii=False) for text in aside]
    sql = f"SELECT w.scope, {_BODY} FROM working_snapshots AS w WHERE w.name = ?"
    for scope, body in connection.execute(sql, (HANDOFF,)).fetchall():
        told = _bytes(body).decode("utf-8", "replace")  # type: ignore[arg-type]
        if any(text in told for text in said):
            connection.execute("DELETE FROM working_snapshots WHERE scope = ? AND name = ?", (scope, HANDOFF))
