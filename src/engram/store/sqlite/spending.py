"""What language models cost: calls and tokens by the minute, kept for two days, so that a budget holds for all processes."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any

import apsw

from engram.env import to_micros
from engram.models.spending import Check
from engram.store.sqlite.gate import Path
from engram.types import Reader

_MINUTE = 60_000_000
_SPENDING_KEPT = timedelta(days=2)


class Spending(Path):
    """Mixed into the store."""

    def spend(self, reader: Reader, at: datetime, calls: int, tokens: int, check: Check) -> None:
        """Write it down, unless the check of what was spent raises: between the two nobody else writes."""

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

        with self._watched(reader, "spend"):
            self._write(reader, "spend", work)

    def spent(self, reader: Reader, since: datetime) -> tuple[int, int]:
        """Calls and tokens since that minute."""
        with self._read(reader, "spend") as connection:
            return _spent(connection, since)


def _spent(connection: apsw.Connection, since: datetime) -> tuple[int, int]:
    found: list[Any] = connection.execute(
        "SELECT coalesce(sum(calls), 0), coalesce(sum(tokens), 0) FROM spendings WHERE minute > ?", (to_micros(since) // _MINUTE,)
    ).fetchall()
    return int(found[0][0]), int(found[0][1])
