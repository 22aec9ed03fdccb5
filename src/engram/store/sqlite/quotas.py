"""Counters that limit use: calls and tokens of language models by minute, and questions by caller and session."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import apsw

from engram.env import to_micros
from engram.guard.limits import RateLimits, check_rate
from engram.models.spending import Check
from engram.types import Reader, scope_values

if TYPE_CHECKING:
    from engram.store.sqlite.gate import Gate


_MINUTE = 60_000_000

_SPENDING_KEPT = timedelta(days=2)


_TICK = 5_000_000  # µs: questions of the last minute are counted in twelve of these

_PATIENCE_S = 1.0  # longest wait of a question for other writes

_QUESTIONS_KEPT = 86_400_000_000


class Quotas:
    """Spending on language models, and the rate of questions."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def spend(self, reader: Reader, at: datetime, calls: int, tokens: int, check: Check) -> None:
        """Add calls and tokens to the spending of a minute, unless `check` of the spending so far raises.

        Check and addition are one transaction.
        """

        def work(connection: apsw.Connection) -> None:
            check(partial(_spent, connection))
            connection.execute("DELETE FROM spendings WHERE minute < ?", (to_micros(at - _SPENDING_KEPT) // _MINUTE,))
            connection.execute(
                """
                INSERT INTO spendings (minute, calls, tokens) VALUES (?, ?, ?)
                    ON CONFLICT (minute) DO UPDATE SET calls = calls + excluded.calls, tokens = tokens + excluded.tokens
                """,
                (to_micros(at) // _MINUTE, calls, tokens),
            )

        with self._gate.watched(reader, "spend"):
            self._gate.write(reader, "spend", work)

    def spent(self, reader: Reader, since: datetime) -> tuple[int, int]:
        """Return the calls and tokens spent since that minute."""
        with self._gate.read(reader, "spend") as connection:
            return _spent(connection, since)

    def count_question(self, reader: Reader, session: str, at: datetime, rates: RateLimits) -> None:
        """Count a question of this reader. Raises RateLimited if it exceeds the limit; such a question is not counted, so that
        retrying too early does not extend the wait.
        """
        who = self._gate.audit.digest("\x1f".join((*scope_values(reader.scope), reader.role, reader.policy)))
        where, now = self._gate.audit.digest(f"session\x1f{session}"), to_micros(at)

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

        with self._gate.watched(reader, "probe"):
            self._gate.write(reader, "probe", work, timeout=_PATIENCE_S)


def _spent(connection: apsw.Connection, since: datetime) -> tuple[int, int]:
    rows: list[Any] = connection.execute(
        "SELECT coalesce(sum(calls), 0), coalesce(sum(tokens), 0) FROM spendings WHERE minute > ?", (to_micros(since) // _MINUTE,)
    ).fetchall()
    return int(rows[0][0]), int(rows[0][1])
