"""The clock, new ids and random numbers.

One `Env` is made when a vault is opened and passed down, so that tests control time and randomness. Nothing else in the package
asks the operating system for the time or for random numbers.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # not `threading`, which costs a hook 0.6 ms to load
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache

from engram.values.frozen import field, frozen

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND


class Ulids:
    """Generates increasing ULIDs: within one millisecond the random part is incremented, so that ids sort by creation."""

    def __init__(self, now: Callable[[], datetime], random: Callable[[int], bytes]) -> None:
        self._now = now
        self._random = random
        self._last = 0
        self._lock = allocate_lock()

    def __call__(self) -> str:
        stamp = max(0, to_micros(self._now()) // 1000)  # 48 bits reach past year 9999; a clock before 1970 counts as 1970
        number = (stamp << 80) | int.from_bytes(self._random(10))
        with self._lock:
            # A clock that stands still or steps back must not give an id below one already given.
            if number >> 80 <= self._last >> 80:
                number = self._last + 1
            self._last = number
        pairs = _pairs()
        return "".join([pairs[(number >> shift) & 1023] for shift in range(120, -1, -10)])


@cache
def _pairs() -> list[str]:
    return [first + second for first in _CROCKFORD for second in _CROCKFORD]


@frozen
class Env:
    """Clock, ids and randomness. `now` gives dates; `monotonic` measures durations."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[int], bytes] = os.urandom
    new_id: Callable[[], str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "new_id", Ulids(self.now, self.random))

    def below(self, limit: int) -> int:
        """Return a random integer in 0 … limit-1. The modulo's bias is under 2⁻⁴⁰ for the limits used here."""
        return int.from_bytes(self.random(8)) % limit


def in_utc(moment: datetime) -> datetime:
    """Return an aware datetime; a naive one is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def to_micros(moment: datetime) -> int:
    """Return the microseconds since 1970 in UTC, computed in integers; a naive time is taken as UTC.

    Times near the ends of the calendar that fall outside it in UTC are clamped, so that every stored value can be read back.
    """
    since = in_utc(moment) - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return min(max(micros, _FIRST), _LAST)


def from_micros(micros: int) -> datetime:
    """Return the UTC datetime of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)
