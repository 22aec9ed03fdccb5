"""Rate limits of requests: a token bucket per caller."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from engram.errors import RateLimited

_BUCKETS = 4096


class RateLimiter:
    """A token bucket per caller: bursts are allowed up to the rate of a minute."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str, per_minute: int) -> None:
        """Count one request. Raise `RateLimited` if the caller's bucket is empty."""
        now = self._monotonic()
        with self._lock:
            left, seen = self._buckets.pop(caller, (float(per_minute), now))
            left = min(left + (now - seen) * per_minute / 60.0, float(per_minute))
            self._buckets[caller] = (max(left - 1.0, 0.0), now)
            if len(self._buckets) > _BUCKETS:
                self._buckets.popitem(last=False)
        if left < 1.0:
            raise RateLimited(f"more than {per_minute} requests a minute.", after_s=(1.0 - left) * 60.0 / per_minute)
