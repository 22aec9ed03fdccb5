"""The verbs by which an agent puts away what it had in mind, and takes it up again; what that is stands in `minds`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from engram.env import to_micros
from engram.errors import ContentTooLarge
from engram.guard.visibility import require_writable
from engram.store.ports import Once
from engram.store.sqlite import working
from engram.store.sqlite.connection import PUT_AWAY
from engram.store.sqlite.gate import Path
from engram.store.sqlite.rows import intern
from engram.store.validation import check_scope
from engram.types import Reader, Sensitivity
from engram.values.identity import strictest


class Suspending(Path):
    """Mixed into the store."""

    def put_away(
        self,
        reader: Reader,
        name: str,
        body: bytes,
        session: str,
        *,
        tier: Sensitivity = Sensitivity.CONFIDENTIAL,
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
                if since is not None and working.erased_since(connection, since):
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

            return self._write(reader, "suspend", work, once=once)

    def put_away_last(self, reader: Reader, name: str) -> tuple[datetime, bytes] | None:
        """What was put away under this name by whoever stood exactly here, and when."""
        with self._read(reader, "resume") as connection:
            found = working.last(connection, reader.scope, name)
        self._note(reader, "resume", count=int(found is not None))
        return found

    def drop_put_away(self, reader: Reader, *, once: Once | None = None) -> int:
        """Remove all that was put away here; how many there were."""
        with self._watched(reader, "suspend"):
            require_writable(reader, reader.scope)

            def work(connection: apsw.Connection) -> int:
                connection.execute("DELETE FROM working_snapshots WHERE scope = ?", (intern(connection, reader.scope),))
                return connection.changes()

            return self._write(reader, "suspend", work, once=once)


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
