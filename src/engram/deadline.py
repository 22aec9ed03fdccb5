"""The moment by which a call must be answered, carried to all that is done for it: one mechanism, for every verb.

Whoever asks sets it (`mem.deadline(seconds)`, or `timeout=` where a verb or an operation has one); whatever takes time on the
way looks at it: statements of SQLite, the wait for a connection or for the writer, the encoder, an endpoint. It goes along in a
context variable, so nothing in between has to hand it on; work that another thread does for a call is run in a copy of its
context. What has none costs one look at that variable.

A deadline that passes while something is looked up is E2001, while something waits to be written E1005: either way nothing was
changed. What is durable already is answered as such, a moment late (`overtime`). Calling it off is the same as its passing.
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
"""How long a wait goes on before it looks again whether it was called off, or a clock was turned."""


class Deadline:
    """A moment on a clock that only rises; within another deadline it is never later than that."""

    __slots__ = ("_called_off", "_moment", "_monotonic", "_outer")

    def __init__(self, seconds: float | None, monotonic: Callable[[], float], outer: Deadline | None = None) -> None:
        self._monotonic = monotonic
        self._moment = None if seconds is None else monotonic() + seconds
        self._outer = outer
        self._called_off = False

    def cancel(self) -> None:
        """Nobody waits for it any more: what is under way stops at its next step. From any thread, and more than once."""
        self._called_off = True

    @property
    def left(self) -> float:
        """Seconds, 0.0 if it has passed or was called off; infinite if it can only be called off."""
        if self._called_off:
            return 0.0
        own = float("inf") if self._moment is None else max(self._moment - self._monotonic(), 0.0)
        return own if self._outer is None else min(own, self._outer.left)

    @property
    def passed(self) -> bool:
        return self.left <= 0.0


_PRESENT: contextvars.ContextVar[Deadline | None] = contextvars.ContextVar("engram-deadline", default=None)


def current_deadline() -> Deadline | None:
    return _PRESENT.get()


def deadline_within(seconds: float | None, monotonic: Callable[[], float]) -> Deadline | None:
    """The deadline that is in force, or one that comes before it."""
    outer = _PRESENT.get()
    return outer if seconds is None else Deadline(max(seconds, 0.0), monotonic, outer)


@contextmanager
def deadline(seconds: float | None, monotonic: Callable[[], float]) -> Iterator[Deadline]:
    """What is done inside must be done in so many seconds; None: it can only be called off."""
    made = Deadline(None if seconds is None else _checked(seconds), monotonic, _PRESENT.get())
    token = _PRESENT.set(made)
    try:
        yield made
    finally:
        _PRESENT.reset(token)


def cancellable() -> AbstractContextManager[Deadline]:
    """What is done inside ends when it is called off, or when the deadline that is in force passes."""
    return deadline(None, lambda: 0.0)


@contextmanager
def without_deadline() -> Iterator[None]:
    """For what must still be done after the deadline: the rest of what is durable, and putting a mind away."""
    token = _PRESENT.set(None)
    try:
        yield
    finally:
        _PRESENT.reset(token)


@contextmanager
def if_time_allows() -> Iterator[None]:
    """For what may be left undone when the deadline passes."""
    try:
        yield
    except (SearchTimeout, WriteFailed):
        if not deadline_passed():
            raise


def check_deadline(doing: str) -> None:
    """Go on, or raise if the deadline has passed."""
    if deadline_passed():
        raise deadline_error(doing)


def deadline_passed() -> bool:
    until = _PRESENT.get()
    return until is not None and until.passed


def deadline_error(doing: str) -> SearchTimeout:
    return SearchTimeout(f"time ran out while {doing}; nothing was changed.")


def wait_limit(seconds: float) -> float:
    """How long may be waited for something that is worth so many seconds."""
    until = _PRESENT.get()
    return seconds if until is None else min(seconds, until.left)


def pause(seconds: float, sleep: Callable[[float], None]) -> None:
    """Wait so long, or until the deadline passes."""
    while seconds > 0.0 and not deadline_passed():
        sleep(min(seconds, POLL_S))
        seconds -= POLL_S


def acquire_in_time(places: threading.Semaphore, seconds: float | None, until: Deadline | None = None) -> bool:
    """Take a place, within so many seconds and the deadline."""
    until = until or _PRESENT.get()
    if until is None:
        return places.acquire(timeout=seconds)
    waited = 0.0
    while (seconds is None or waited <= seconds) and not until.passed:
        if places.acquire(timeout=POLL_S):
            return True
        waited += POLL_S
    return places.acquire(blocking=False)


def wait_for(waits: Callable[[float], bool], until: Deadline | None = None) -> bool:
    """Wait for what says after so many seconds whether it is there; False if the deadline passes before. Without one its outcome
    is as good to wait for."""
    until = until or _PRESENT.get()
    while until is not None and not waits(0.0):
        left = until.left
        if left <= 0.0:
            return False
        waits(min(left, POLL_S))
    return True


def future_result(future: Future[T], doing: str) -> T:
    def waits(seconds: float) -> bool:
        with suppress(TimeoutError):
            future.exception(seconds)
        return future.done()

    if not wait_for(waits):
        future.cancel()
        raise deadline_error(doing)
    return future.result()


def run_bounded(work: Callable[[], T], doing: str) -> T:
    """Work of somebody else's that knows no deadline: with one, in a thread that is left behind when it passes."""
    if _PRESENT.get() is None:
        return work()
    check_deadline(doing)
    over = threading.Event()
    results: list[T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  handed to whoever waits
            problems.append(error)
        over.set()

    threading.Thread(target=contextvars.copy_context().run, args=(run,), name="engram-bounded", daemon=True).start()
    if not wait_for(over.wait):
        raise deadline_error(doing)
    if problems:
        raise problems[0]
    return results[0]


def _checked(seconds: object) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise InvalidQuery("a deadline is a number of seconds above 0.")
    return float(seconds)
