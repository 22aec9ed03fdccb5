"""What an interrupt does to a command that works on a vault."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from engram.deadline import cancellable


@contextmanager
def called_off_by_interrupt() -> Iterator[None]:
    """An interrupt calls off what is under way before it unwinds: else a batch that is being encoded is waited for, a minute
    for half a megabyte of text."""
    with cancellable() as until:

        def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
            until.cancel()
            raise KeyboardInterrupt

        ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is _USUAL
        if ours:
            signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            if ours:
                signal.signal(signal.SIGINT, _USUAL)


_USUAL = signal.default_int_handler
