"""How often memories were recalled. Reads do not write: the counts wait here and go in with the next batch of the audit."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence

import apsw


class Accesses:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: Counter[int] = Counter()

    def note(self, keys: Sequence[int]) -> None:
        with self._lock:
            self._waiting.update(keys)

    def take_waiting(self) -> Mapping[int, int]:
        with self._lock:
            taken, self._waiting = self._waiting, Counter()
        return taken


def write(connection: apsw.Connection, counts: Mapping[int, int], now: int) -> None:
    """Add the counts, in the transaction that is open. No index depends on them, so the change log stays as it is."""
    connection.executemany(
        "UPDATE memories SET accesses = accesses + ?, accessed_at = max(coalesce(accessed_at, 0), ?) WHERE key = ?",
        ((count, now, key) for key, count in counts.items()),
    )
