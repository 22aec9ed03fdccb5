"""What an agent puts away when it stops, and takes up again: one row for each scope and name, and nobody else's.

Only who stands in exactly that scope reads it, whatever their policy: it is a train of thought, not knowledge. What was in mind
(`MIND`) and what a program handed over (`HANDOFF`) may be copied from any memory, so they go for every scope when anything is
erased; a checkpoint is its author's own text, and goes if it has a word that is said nowhere else any more. What was handed over
also goes if it repeats a memory that is set aside or changed: it would stand in the next session's prompt.

A mind is always sealed (§10.19). The others are kept as closely as their words ask for and what they were copied from is, at once
and later on: one that opens without `cryptography` spares the start of a session a sixth of its time.
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
from engram.store.sqlite.connection import PUT_AWAY
from engram.store.sqlite.rows import intern, predicate
from engram.store.validation import check_scope
from engram.types import Sensitivity
from engram.values.identity import Reader, Scope, scope_values, strictest
from engram.values.working import HANDOFF, MIND

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


def _tiers(connection: apsw.Connection, sources: Sequence[str]) -> list[Sensitivity]:
    """How closely memories of these ids and turns of these refs are kept, whosever they are: nobody is told. One that is not
    there may have been anything."""
    sql = """
        WITH named AS (SELECT value FROM json_each(?))
        SELECT id, tier FROM memories WHERE id IN (SELECT value FROM named)
        UNION SELECT ref, tier FROM turns WHERE ref <> '' AND ref IN (SELECT value FROM named)
    """
    found: list[Any] = connection.execute(sql, (json.dumps(list(sources)),)).fetchall()
    unknown = set(sources).difference(name for name, _ in found)
    return [*(Sensitivity(tier) for _, tier in found), *([Sensitivity.CONFIDENTIAL] if unknown else [])]


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
        """Keep this in place of what was put away before; when it was kept.

        tier: how closely its words ask to be kept; sources: ids of memories and refs of turns that they were copied from.
        None, and nothing is kept, if anything was erased after the change `since`: its words could be in what is to be kept.
        """
        with self._gate.watched(reader, "suspend"):
            check_scope(reader.scope)
            require_writable(reader, reader.scope)
            if len(body) > (most := self._gate.live.now.turn_bytes):
                raise ContentTooLarge(f"what is to be put away has {len(body):,} bytes; {most:,} is the most.")
            now = self._gate.env.now()

            def work(connection: apsw.Connection) -> datetime | None:
                if since is not None and erased_since(connection, since):
                    return None
                is_clear = strictest(tier, *_tiers(connection, sources)) is Sensitivity.CLEARTEXT
                kept, held = ("?3", body) if is_clear else (PUT_AWAY, body.decode("latin-1"))
                place = intern(connection, reader.scope)
                connection.execute(
                    "INSERT OR REPLACE INTO working_snapshots (scope, name, body, session, saved_at) "
                    f"VALUES (?1, ?2, {kept}, ?4, ?5)",
                    (place, name, held, session, to_micros(now)),
                )
                return now

            return self._gate.write(reader, "suspend", work, receipt=receipt)

    def load(self, reader: Reader, name: str) -> tuple[datetime, bytes] | None:
        """What was put away under this name by whoever stood exactly here, and when."""
        with self._gate.read(reader, "resume") as connection:
            found = last(connection, reader.scope, name)
        self._gate.note(reader, "resume", count=int(found is not None))
        return found

    def drop(self, reader: Reader, *, receipt: ReceiptRequest | None = None) -> int:
        """Remove all that was put away here; how many there were."""
        with self._gate.watched(reader, "suspend"):
            require_writable(reader, reader.scope)

            def work(connection: apsw.Connection) -> int:
                connection.execute("DELETE FROM working_snapshots WHERE scope = ?", (intern(connection, reader.scope),))
                return connection.changes()

            return self._gate.write(reader, "suspend", work, receipt=receipt)
