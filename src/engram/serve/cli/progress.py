"""A progress line on the terminal, overwritten in place and wiped at the end. Without a terminal nothing is printed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from engram.serve.cli import terminal
from engram.serve.cli.caller import Caller
from engram.serve.operations.operation import ProgressCallback

_WIPE_LINE = "\r\x1b[K"
_BAR_WIDTH = 24


@contextmanager
def progress(caller: Caller) -> Iterator[ProgressCallback]:
    """Provide a callback that shows a stage and the share done, or None if the total is unknown."""
    width: int | None = None

    def report(stage: str, share: float | None) -> None:
        nonlocal width
        if width is None:
            width = 0 if caller.quiet else _line_width()
        if width:
            print(
                f"{_WIPE_LINE}{terminal.cut(_bar(share) + terminal.one_line(stage), width)}", end="", file=sys.stderr, flush=True
            )

    try:
        yield report
    finally:
        if width:
            print(_WIPE_LINE, end="", file=sys.stderr, flush=True)


def _line_width() -> int:
    """Return the width of a line that can be overwritten, or 0. A line that wraps could not be wiped whole."""
    if not sys.stderr.isatty():
        return 0
    from rich.console import Console  # late: takes 0.1 s to load

    console = Console(stderr=True)
    return 0 if console.is_dumb_terminal else console.width - 1


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    full = round(min(max(share, 0.0), 1.0) * _BAR_WIDTH)
    return f"{'━' * full}{'╌' * (_BAR_WIDTH - full)} {share:4.0%} "
