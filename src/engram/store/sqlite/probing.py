"""How often each identity has asked, for all processes on the vault: counts by keyed digests, no words, kept for a day."""

from __future__ import annotations

from datetime import datetime

import apsw

from engram.env import to_micros
from engram.store.sqlite.path import Path
from engram.types import Reader, scope_values

_TICK = 5_000_000  # µs: a minute is the last twelve of these
_KEPT = 86_400_000_000


class Probing(Path):
    """Mixed into the store."""

    def probed(self, reader: Reader, session: str, at: datetime) -> tuple[int, int]:
        """Count one question of this reader's; how many that makes within a minute, and in its session."""
        who = self._audit.digest("\x1f".join((*scope_values(reader.scope), reader.role, reader.policy)))
        where, now = self._audit.digest(f"session\x1f{session}"), to_micros(at)

        def work(connection: apsw.Connection) -> tuple[int, int]:
            connection.execute("DELETE FROM probes WHERE tick < ?", ((now - _KEPT) // _TICK,))
            connection.execute(
                """
                INSERT INTO probes (identity, session, tick, times) VALUES (?, ?, ?, 1)
                    ON CONFLICT (identity, session, tick) DO UPDATE SET times = times + 1
                """,
                (who, where, now // _TICK),
            )
            recent = "SELECT coalesce(sum(times), 0) FROM probes WHERE identity = ? AND tick > ?"
            here = "SELECT coalesce(sum(times), 0) FROM probes WHERE identity = ? AND session = ?"
            minute = connection.execute(recent, (who, (now - 60_000_000) // _TICK)).get
            return int(minute), int(connection.execute(here, (who, where)).get)

        with self._watched(reader, "probe"):
            return self._write(reader, "probe", work)
