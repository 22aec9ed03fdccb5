"""Progress reports of long operations. A face installs a callback; the operation calls it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

ProgressCallback = Callable[[str, float | None], None]
"""Takes the name of a stage, which holds no stored text, and the share done from 0 to 1, or None if the total is unknown."""

_CALLBACK: ContextVar[ProgressCallback] = ContextVar("progress", default=lambda stage, share: None)


@contextmanager
def progress_to(callback: ProgressCallback) -> Iterator[None]:
    """Report the progress of operations in this block to a callback."""
    token = _CALLBACK.set(callback)
    try:
        yield
    finally:
        _CALLBACK.reset(token)


def progress_callback() -> ProgressCallback:
    """Return the callback in force. Call this before starting a thread: the context variable is not set in new threads."""
    return _CALLBACK.get()
