"""Saved working memory, checkpoints and hand-overs: one row per scope and name.

A row is read only from exactly its scope, whatever the reader's policy: it is a train of thought, not knowledge. Saved working
memory (`MIND`) and hand-overs (`HANDOFF`) may copy any memory, so those of every scope are deleted when a memory is erased; a
checkpoint is its author's own text, and is deleted if it holds a word that no memory holds any more. A hand-over is also deleted
if it repeats a memory that is retired or changed: it would stand in the next session's prompt.

Saved working memory is always sealed (§10.19). The others have the tier of their words and sources, now and after changes: a row
that needs no `cryptography` saves a sixth of the start of a session.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import from_micros, to_micros
from engram.errors import ContentTooLarge
from engram.guard.visibility import require_writable, writable
from engram.store.receipts import ReceiptRequest
from engram.store.sqlite.connection import SEALED_SNAPSHOT
from engram.store.sqlite.rows import intern
from engram.store.sqlite.visibility import predicate
from engram.store.validation import check_scope
from engram.values.identity import Reader, Scope, Sensitivity, scope_values, strictest
from engram.values.working import HANDOFF, MIND

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_BODY = """
    CASE WHEN substr(w.body, 1, 7) = CAST('sealed:' AS BLOB)
         THEN unseal(CAST(substr(w.body, 8) AS TEXT), w.scope, 'mind/' || w.name) ELSE w.body END
"""


class SavedWorking:
    """Suspended working memory, checkpoints and hand-overs."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def save(
        self,
        reader: Reader,
        name: str,
        body: bytes,
        session: str,
        *,
        tier: Sensitivity = Sensitivity.CONFIDENTIAL,
        sources: Sequence[str] = (),
        since: int | None = None,
        receipt: ReceiptRequest | None = None,
    ) -> datetime | None:
        """Save a snapshot in place of the one of this name; return its time.

        tier: the sensitivity of its words; sources: ids of memories and refs of turns that they were copied from.
        None, and no change, if a memory was erased after the change `since`: the snapshot could hold its words.
        """
        with self._gate.watched(reader, "suspend"):
            check_scope(reader.scope)
            require_writable(reader, reader.scope)
            if len(body) > (most := self._gate.live.now.turn_bytes):
                raise ContentTooLarge(f"the snapshot of working memory has {len(body):,} bytes; the limit is {most:,}.")
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> datetime | None:
                if since is not None and erased_since(connection, since):
                    return None
                is_clear = strictest(tier, *_tiers(connection, sources)) is Sensitivity.CLEARTEXT
                kept, held = ("?3", body) if is_clear else (SEALED_SNAPSHOT, body.decode("latin-1"))
                place = intern(connection, reader.scope)
                connection.execute(
                    "INSERT OR REPLACE INTO working_snapshots (scope, name, body, session, saved_at) "
                    f"VALUES (?1, ?2, {kept}, ?4, ?5)",
                    (place, name, held, session, to_micros(now)),
                )
                return now

            return self._gate.write(reader, "suspend", work, receipt=receipt)

    def load(self, reader: Reader, name: str) -> tuple[datetime, bytes] | None:
        """Return the snapshot of this name in exactly the reader's scope, and its time."""
        with self._gate.read(reader, "resume") as connection:
            found = read_snapshot(connection, reader.scope, name)
        self._gate.note(reader, "resume", count=int(found is not None))
        return found

    def drop(self, reader: Reader, *, receipt: ReceiptRequest | None = None) -> int:
        """Delete all snapshots of the reader's scope; return how many there were."""
        with self._gate.watched(reader, "suspend"):
            require_writable(reader, reader.scope)

            def work(connection: apsw.Connection) -> int:
                connection.execute("DELETE FROM working_snapshots WHERE scope = ?", (intern(connection, reader.scope),))
                return connection.changes()

            return self._gate.write(reader, "suspend", work, receipt=receipt)


def _tiers(connection: apsw.Connection, sources: Sequence[str]) -> list[Sensitivity]:
    """Return the tiers of memories of these ids and turns of these refs, visible or not, because no reader sees the result. A
    missing one counts as confidential."""
    sql = """
        WITH named AS (SELECT value FROM json_each(?))
        SELECT id, tier FROM memories WHERE id IN (SELECT value FROM named)
        UNION SELECT ref, tier FROM turns WHERE ref <> '' AND ref IN (SELECT value FROM named)
    """
    found: list[Any] = connection.execute(sql, (json.dumps(list(sources)),)).fetchall()
    unknown = set(sources).difference(name for name, _ in found)
    return [*(Sensitivity(tier) for _, tier in found), *([Sensitivity.CONFIDENTIAL] if unknown else [])]


def read_snapshot(connection: apsw.Connection, scope: Scope, name: str) -> tuple[datetime, bytes] | None:
    """Return the snapshot of this name in exactly this scope, and its time."""
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
    """Return True if a memory was erased after a change, or if the log does not reach back that far."""
    kept = int(connection.execute("SELECT coalesce(min(seq), 0) FROM changes").get)
    return kept > change + 1 or bool(connection.execute("SELECT 1 FROM changes WHERE seq > ? AND what = 'erase'", (change,)).get)


def delete_saved_words(connection: apsw.Connection, reader: Reader, words: Sequence[str]) -> None:
    """Delete saved working memory and hand-overs, which may hold erased words, and checkpoints in writable scopes that do."""
    connection.execute("DELETE FROM working_snapshots WHERE name IN (?, ?)", (MIND, HANDOFF))
    mine, values = predicate(writable(reader), "w.scope")
    sql = f"SELECT w.scope, w.name, {_BODY} FROM working_snapshots AS w WHERE {mine}"
    for scope, name, body in connection.execute(sql, values).fetchall():
        saved = _bytes(body).decode("utf-8", "replace").lower()  # type: ignore[arg-type]
        if any(word.lower() in saved for word in words):
            connection.execute("DELETE FROM working_snapshots WHERE scope = ? AND name = ?", (scope, name))


def delete_handoffs_with(connection: apsw.Connection, texts: Sequence[str]) -> None:
    """Delete hand-overs that hold one of these texts, because a memory was retired, reworded or flagged."""
    import json  # hand-overs are JSON, so the texts are searched in that form

    quoted = [json.dumps(text, ensure_ascii=False) for text in texts]
    sql = f"SELECT w.scope, {_BODY} FROM working_snapshots AS w WHERE w.name = ?"
    for scope, body in connection.execute(sql, (HANDOFF,)).fetchall():
        saved = _bytes(body).decode("utf-8", "replace")  # type: ignore[arg-type]
        if any(text in saved for text in quoted):
            connection.execute("DELETE FROM working_snapshots WHERE scope = ? AND name = ?", (scope, HANDOFF))
