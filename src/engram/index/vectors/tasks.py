"""Requests to one worker thread: callers count them up, the worker marks them done, waiters are notified of every step."""

from __future__ import annotations

import threading
from collections.abc import Callable

from engram.frozen import field, mutable


@mutable
class WorkRequests:
    """The number of requests made to the worker and the number it has finished."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    requested: int = 0
    done: int = 0
    closing: bool = False

    def request(self) -> None:
        with self.changed:
            self.requested += 1
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closing = True
            self.changed.notify_all()

    def next(self) -> int:
        """Wait for a request; return the number requested so far, or 0 when closing."""
        with self.changed:
            self.changed.wait_for(lambda: self.closing or self.requested > self.done)
            return 0 if self.closing else self.requested

    def finish(self, upto: int) -> None:
        with self.changed:
            self.done = upto
            self.changed.notify_all()

    def notify(self) -> None:
        """Wake the threads in `wait_until`, after a change of state that they may wait for."""
        with self.changed:
            self.changed.notify_all()

    def wait_until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.closing or condition(), timeout)

    def wait_idle(self, timeout: float | None) -> bool:
        return self.wait_until(lambda: self.done >= self.requested, timeout)
