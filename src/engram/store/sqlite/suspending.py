"""What an agent puts away when it stops, and takes up again: one row for each scope and name, and nobody else's.

Only who stands in exactly that scope reads it, whatever their policy: it is a train of thought, not knowledge. What was in mind
(`MIND`) and what a program handed over (`HANDOFF`) may be copied from any memory, so they go for every scope when anything is
erased; a checkpoint is its author's own text, and goes if it has a word that is said nowhere else any more.

A mind is always sealed (§10.19). The others are kept as closely as their words ask for and what they were copied from is, at once
and later on: one that opens without `cryptography` spares the start of a session a sixth of its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import apsw

from engram.env import from_micros, to_micros
from engram.errors import ContentTooLarge
from engram.guard.scopes import require_writable, writable
from engram.guard.tiers import closer
from engram.store.admission import check_scope
from engram.store.protocol import Once
from engram.store.sqlite.path import Path
from engram.store.sqlite.scopes import intern, predicate
from engram.store.sqlite.sealed import PUT_AWAY
from engram.types import Reader, Tier, scope_values

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MIND, CHECKPOINT, HANDOFF = "mind", "checkpoint", "handoff"

_BODY = """
    CASE WHEN substr(w.body, 1, 7) = CAST('sealed:' AS BLOB)
         THEN unseal(CAST(substr(w.body, 8) AS TEXT), w.scope, 'mind/' || w.name) ELSE w.body END
"""


class Suspending(Path):
    """Mixed into the store."""

    def put_away(
        self,
        reader: Reader,
        name: str,
        body: bytes,
        session: str,
        *,
        tier: Tier = Tier.CONFIDENTIAL,
        sources: Sequence[str] = (),
        since: int | None = None,
        once: Once | None = None,
    ) -> datetime | None:
        """Keep this in place of what was put away before; when it was kept.

        tier: how closely its words ask to be kept; sources: ids of memories and refs of turns that they were copied from.
        None, and nothing is kept, if anything was erased after the change `since`: its words could be in what is to be kept.
        """
        with self._watched(reader, "suspend"):
            check_scope(reader.scope)
            require_writable(reader, reader.scope)
            if len(body) > (most := self._live.now.turn_bytes):
                raise ContentTooLarge(f"what is to be put away has {len(body):,} bytes; {most:,} is the most.")
            now = self._env.now()

            def work(connection: apsw.Connection) -> datetime | None:
                if since is not None and erased_since(connection, since):
                    return None
                is_clear = closer(tier, *_tiers(connection, sources)) is Tier.CLEARTEXT
                kept, held = ("?3", body) if is_clear else (PUT_AWAY, body.decode("latin-1"))
                place = intern(connection, reader.scope)
                connection.execute(
                    "INSERT OR REPLACE INTO working_snapshots (scope, name, body, session, saved_at) "
                    f"VALUES (?1, ?2, {kept}, ?4, ?5)",
                    (place, name, held, session, to_micros(now)),
                )
                return now

            return self._write(reader, "suspend", work, once=once)

    def put_away_last(self, reader: Reader, name: str) -> tuple[datetime, bytes] | None:
        """What was put away under this name by whoever stood exactly here, and when."""
        with self._read(reader, "resume") as connection:
            found: list[Any] = connection.execute(
                f"""
                SELECT w.saved_at, {_BODY}
                  FROM working_snapshots AS w JOIN scopes AS s ON s.key = w.scope
                 WHERE s.project = ? AND s.squad = ? AND s.agent = ? AND s.channel = ? AND s.user = ? AND w.name = ?
                """,
                (*scope_values(reader.scope), name),
            ).fetchall()
        self._note(reader, "resume", count=len(found))
        return next(((from_micros(at), _bytes(body)) for at, body in found), None)

    def drop_put_away(self, reader: Reader, *, once: Once | None = None) -> int:
        """Remove all that was put away here; how many there were."""
        with self._watched(reader, "suspend"):
            require_writable(reader, reader.scope)

            def work(connection: apsw.Connection) -> int:
                connection.execute("DELETE FROM working_snapshots WHERE scope = ?", (intern(connection, reader.scope),))
                return connection.changes()

            return self._write(reader, "suspend", work, once=once)


def _tiers(connection: apsw.Connection, sources: Sequence[str]) -> list[Tier]:
    """How closely memories of these ids and turns of these refs are kept, whosever they are: nobody is told."""
    some = ", ".join("?" * len(sources))
    sql = f"SELECT tier FROM memories WHERE id IN ({some}) UNION SELECT tier FROM turns WHERE ref <> '' AND ref IN ({some})"
    return [Tier(str(row[0])) for row in connection.execute(sql, (*sources, *sources))]


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
