"""Deadlines: the time by which a call must be answered, one mechanism for every verb.

The caller sets a deadline (`mem.deadline(seconds)`, or `timeout=` where a verb or an operation has one), and every slow step
checks it: SQLite statements, waits for a connection or for the writer, the encoder, an endpoint. It travels in a context
variable, so that no function has to pass it on; a thread that works for a call runs in a copy of its context. Without a deadline
the cost is one lookup of that variable.

A deadline that passes during a read raises E2001, during the wait for a write E1005; in both cases nothing was changed. A write
that is durable already is answered, a moment late (`without_deadline`). Cancelling has the same effect as the deadline passing.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from engram.errors import InvalidQuery, SearchTimeout, WriteFailed

if TYPE_CHECKING:
    from concurrent.futures import Future

T = TypeVar("T")

POLL_S = 0.05
"""Seconds between two checks for cancellation, or for a test's clock that was moved, during a wait."""


class Deadline:
    """A time on a monotonic clock, never later than the deadline around it (`outer`)."""

    __slots__ = ("_cancelled", "_moment", "_monotonic", "_outer")

    def __init__(self, seconds: float | None, monotonic: Callable[[], float], outer: Deadline | None = None) -> None:
        self._monotonic = monotonic
        self._moment = None if seconds is None else monotonic() + seconds
        self._outer = outer
        self._cancelled = False

    def cancel(self) -> None:
        """Make the work under this deadline stop at its next check. May be called from any thread, and repeatedly."""
        self._cancelled = True

    @property
    def left(self) -> float:
        """The seconds left: 0.0 if the deadline passed or was cancelled, infinite if it can only be cancelled."""
        if self._cancelled:
            return 0.0
        own = float("inf") if self._moment is None else max(self._moment - self._monotonic(), 0.0)
        return own if self._outer is None else min(own, self._outer.left)

    @property
    def passed(self) -> bool:
        return self.left <= 0.0


_CURRENT: contextvars.ContextVar[Deadline | None] = contextvars.ContextVar("engram-deadline", default=None)


def current_deadline() -> Deadline | None:
    """Return the deadline of the current call, or None."""
    return _CURRENT.get()


def deadline_within(seconds: float | None, monotonic: Callable[[], float]) -> Deadline | None:
    """Return a deadline in `seconds`, not later than the current one; with None, the current one."""
    outer = _CURRENT.get()
    return outer if seconds is None else Deadline(max(seconds, 0.0), monotonic, outer)


@contextmanager
def deadline(seconds: float | None, monotonic: Callable[[], float]) -> Iterator[Deadline]:
    """Set a deadline for the work in this block. With None the block can only be cancelled."""
    made = Deadline(None if seconds is None else _checked(seconds), monotonic, _CURRENT.get())
    token = _CURRENT.set(made)
    try:
        yield made
    finally:
        _CURRENT.reset(token)


def cancellable() -> AbstractContextManager[Deadline]:
    """Make the work in this block cancellable. The current deadline stays in force."""
    return deadline(None, lambda: 0.0)


@contextmanager
def without_deadline() -> Iterator[None]:
    """Lift the deadline for work that must be completed: what follows a durable write, or saving working memory."""
    token = _CURRENT.set(None)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def if_time_allows() -> Iterator[None]:
    """Suppress the timeout of optional work when the deadline passes."""
    try:
        yield
    except (SearchTimeout, WriteFailed):
        if not deadline_passed():
            raise


def check_deadline(doing: str) -> None:
    """Raise SearchTimeout if the deadline has passed. `doing` completes the message "time ran out while …"."""
    if deadline_passed():
        raise deadline_error(doing)


def deadline_passed() -> bool:
    """Return True if there is a deadline and it has passed or was cancelled."""
    until = _CURRENT.get()
    return until is not None and until.passed


def deadline_error(doing: str) -> SearchTimeout:
    """Return the error of a deadline that passed. `doing` completes the message "time ran out while …"."""
    return SearchTimeout(f"time ran out while {doing}; nothing was changed.")


def wait_limit(seconds: float) -> float:
    """Return the longest time to wait: `seconds`, or less if the deadline comes first."""
    until = _CURRENT.get()
    return seconds if until is None else min(seconds, until.left)


def pause(seconds: float, sleep: Callable[[float], None]) -> None:
    """Sleep for `seconds`, or until the deadline passes."""
    while seconds > 0.0 and not deadline_passed():
        sleep(min(seconds, POLL_S))
        seconds -= POLL_S


def acquire_in_time(semaphore: threading.Semaphore, seconds: float | None, until: Deadline | None = None) -> bool:
    """Acquire the semaphore within `seconds` and the deadline. Return False if it was not free in time."""
    until = until or _CURRENT.get()
    if until is None:
        return semaphore.acquire(timeout=seconds)
    waited = 0.0
    while (seconds is None or waited <= seconds) and not until.passed:
        if semaphore.acquire(timeout=POLL_S):
            return True
        waited += POLL_S
    return semaphore.acquire(blocking=False)


def wait_for(wait: Callable[[float], bool], until: Deadline | None = None) -> bool:
    """Wait until `wait(seconds)`, which waits that long for a result, returns True. Return False if the deadline passes first.

    Without a deadline return True at once: the caller then blocks on the result itself.
    """
    until = until or _CURRENT.get()
    while until is not None and not wait(0.0):
        left = until.left
        if left <= 0.0:
            return False
        wait(min(left, POLL_S))
    return True


def future_result(future: Future[T], doing: str) -> T:
    """Return the result of a future. If the deadline passes first, cancel the future and raise SearchTimeout."""

    def wait(seconds: float) -> bool:
        with suppress(TimeoutError):
            future.exception(seconds)
        return future.done()

    if not wait_for(wait):
        future.cancel()
        raise deadline_error(doing)
    return future.result()


def run_bounded(work: Callable[[], T], doing: str) -> T:
    """Run a function that does not know deadlines. Under a deadline it runs in a thread, which is abandoned when that passes."""
    if _CURRENT.get() is None:
        return work()
    check_deadline(doing)
    finished = threading.Event()
    results: list[T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  raised again in the waiting thread
            problems.append(error)
        finished.set()

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name="engram-bounded", daemon=True).start()
    if not wait_for(finished.wait):
        raise deadline_error(doing)
    if problems:
        raise problems[0]
    return results[0]


def _checked(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise InvalidQuery("a deadline must be a number of seconds above 0.")
    return float(seconds)
