"""Interrupts (Ctrl-C) during a command that works on a vault."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from engram.deadline import cancellable

_DEFAULT_HANDLER = signal.default_int_handler


@contextmanager
def cancel_on_interrupt() -> Iterator[None]:
    """Let an interrupt cancel the work in this block before it unwinds. Without this, an interrupt would wait for the batch being
    encoded: a minute for half a megabyte of text."""
    with cancellable() as until:

        def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
            until.cancel()
            raise KeyboardInterrupt

        in_main_thread = threading.current_thread() is threading.main_thread()
        replaces_handler = in_main_thread and signal.getsignal(signal.SIGINT) is _DEFAULT_HANDLER
        if replaces_handler:
            signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        finally:
            if replaces_handler:
                signal.signal(signal.SIGINT, _DEFAULT_HANDLER)
