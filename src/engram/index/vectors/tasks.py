"""What one worker thread is called for: calls are counted, and whoever waits hears of every step."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engram.frozen import field, mutable


@mutable
class Tasks:
    """How often the worker was called, and how many of these calls it has answered."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    called: int = 0
    done: int = 0
    closing: bool = False

    def call(self) -> None:
        with self.changed:
            self.called += 1
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closing = True
            self.changed.notify_all()

    def next(self) -> int:
        """Wait for a call; how many there were by then, 0 when closing."""
        with self.changed:
            self.changed.wait_for(lambda: self.closing or self.called > self.done)
            return 0 if self.closing else self.called

    def answer(self, upto: int) -> None:
        with self.changed:
            self.done = upto
            self.changed.notify_all()

    def step(self) -> None:
        """Something that others may wait for has happened."""
        with self.changed:
            self.changed.notify_all()

    def until(self, happened: Callable[[], bool], timeout: float | None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.closing or happened(), timeout)

    def settle(self, timeout: float | None) -> bool:
        return self.until(lambda: self.done >= self.called, timeout)
