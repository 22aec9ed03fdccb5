"""Latencies of the last calls of each operation, and their percentiles. Cheap enough to be always on."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from engram.values.health import Latency


class Meter:
    """Records the latency of calls by operation; safe to use from several threads."""

    def __init__(self, monotonic: Callable[[], float], window: int) -> None:
        self._monotonic = monotonic
        self._window = window
        self._seen: dict[str, deque[float]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def time(self, operation: str) -> Iterator[None]:
        """Record the time of a call that succeeds; the time of a failing one says nothing about speed."""
        start = self._monotonic()
        yield
        spent = self._monotonic() - start
        with self._lock:
            self._seen.setdefault(operation, deque(maxlen=self._window)).append(spent)

    def latencies(self) -> Mapping[str, Latency]:
        with self._lock:
            seen = {operation: sorted(times) for operation, times in self._seen.items()}
        return {
            operation: Latency(len(times), _percentile(times, 0.50), _percentile(times, 0.99))
            for operation, times in sorted(seen.items())
        }


def _percentile(ordered: list[float], share: float) -> float:
    """Return the nearest-rank percentile in milliseconds."""
    return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1000, 3)
