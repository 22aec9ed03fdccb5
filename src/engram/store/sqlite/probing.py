"""How often each identity has asked, for all processes on the vault: counts by keyed digests, no words, kept for a day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import apsw

from engram.env import to_micros
from engram.guard.limits import RateLimits, check_rate
from engram.store.sqlite.gate import Path
from engram.types import Reader, scope_values

_TICK = 5_000_000  # µs: a minute is the last twelve of these
_MINUTE = 60_000_000
_PATIENCE_S = 1.0  # a question does not wait for long because others write
_QUESTIONS_KEPT = 86_400_000_000


class Probing(Path):
    """Mixed into the store."""

    def probed(self, reader: Reader, session: str, at: datetime, rates: RateLimits) -> None:
        """Count one question of this reader's; `RateLimited` if it is one too many, which is not counted: who asks again too
        early is not kept out for longer."""
        who = self._audit.digest("\x1f".join((*scope_values(reader.scope), reader.role, reader.policy)))
        where, now = self._audit.digest(f"session\x1f{session}"), to_micros(at)

        def work(connection: apsw.Connection) -> None:
            connection.execute("DELETE FROM probes WHERE tick < ?", ((now - _QUESTIONS_KEPT) // _TICK,))
            recent = "SELECT tick, sum(times) FROM probes WHERE identity = ? AND tick > ? GROUP BY tick ORDER BY tick"
            here = "SELECT coalesce(sum(times), 0) FROM probes WHERE identity = ? AND session = ?"
            ticks: Iterable[Any] = connection.execute(recent, (who, (now - _MINUTE) // _TICK))
            minute = [((tick * _TICK + _MINUTE - now) / 1e6, times) for tick, times in ticks]
            check_rate(rates, minute, int(connection.execute(here, (who, where)).get))
            connection.execute(
                """
                INSERT INTO probes (identity, session, tick, times) VALUES (?, ?, ?, 1)
                    ON CONFLICT (identity, session, tick) DO UPDATE SET times = times + 1
                """,
                (who, where, now // _TICK),
            )

        with self._watched(reader, "probe"):
            self._write(reader, "probe", work, timeout=_PATIENCE_S)
