"""A clock that is turned by hand; most tests take it as the fixture `clock`, or `env` that runs on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class HandClock:
    """Time that stands still until it is turned: `Env(now=clock.now, monotonic=clock.monotonic, sleep=clock.sleep)`.

    `advance` moves both clocks as waiting does; `set` moves only the calendar, as somebody who corrects it does.
    """

    def __init__(self, start: datetime = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)) -> None:
        self._now = start
        self._monotonic = 1000.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        assert seconds >= 0, "time does not run backwards; use set() to step the calendar back"
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds

    def set(self, moment: datetime) -> None:
        self._now = moment
