"""What the program may not decide by itself: the time, new identities and randomness.

One `Env` is made at the door and handed down, so that tests turn time by hand and repeat dice. Nothing else in the
package asks the operating system for the time or for random numbers.
"""

from __future__ import annotations

import os
import time
from _thread import allocate_lock  # not from `threading`, for which a hook would wait 0.6 ms
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
    """ULIDs that only rise: within one millisecond the random part is counted up, so sorting by id sorts by birth."""

    def __init__(self, now: Callable[[], datetime], random: Callable[[int], bytes]) -> None:
        self._now = now
        self._random = random
        self._last = 0
        self._lock = allocate_lock()

    def __call__(self) -> str:
        stamp = max(0, to_micros(self._now()) // 1000)  # 48 bits reach past year 9999; a clock before 1970 counts as 1970
        fresh = (stamp << 80) | int.from_bytes(self._random(10))
        with self._lock:
            # A clock that stands still or steps back must not give an id below one already given.
            if fresh >> 80 <= self._last >> 80:
                fresh = self._last + 1
            self._last = fresh
        two = _pairs()
        return "".join([two[(fresh >> shift) & 1023] for shift in range(120, -1, -10)])


@cache
def _pairs() -> list[str]:
    return [one + other for one in _CROCKFORD for other in _CROCKFORD]


@frozen
class Env:
    """Clock, ids and dice. `monotonic` measures durations; `now` dates things."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[int], bytes] = os.urandom
    new_id: Callable[[], str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "new_id", Ulids(self.now, self.random))

    def below(self, limit: int) -> int:
        """A random whole number in 0 … limit-1 (the bias of the modulo is under 2⁻⁴⁰ for the limits used here)."""
        return int.from_bytes(self.random(8)) % limit


def in_utc(moment: datetime) -> datetime:
    """A naive time is taken as UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970, UTC; a naive time is taken as UTC. Exact: no float on the way.

    The first and last hours of the calendar that lie outside it in UTC are held at its ends, so that whatever was
    written can be read back.
    """
    since = in_utc(moment) - _EPOCH
    micros = (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    return min(max(micros, _FIRST), _LAST)


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)
