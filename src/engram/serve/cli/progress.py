"""How far something is: one line that is written over, for a person who waits, and gone in the end; nothing for a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from engram.serve.cli import show
from engram.serve.cli.caller import Caller
from engram.serve.operations.telling import ProgressCallback

_WIPED = "\r\x1b[K"
_WIDTH = 24


@contextmanager
def progress(asked: Caller) -> Iterator[ProgressCallback]:
    """Call what it gives with a stage and the share that is done, or None where nobody knows of how much."""
    room: int | None = None

    def tell(stage: str, share: float | None) -> None:
        nonlocal room
        if room is None:
            room = 0 if asked.quiet else _room()
        if room:
            print(f"{_WIPED}{show.cut(_bar(share) + show.one_line(stage), room)}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if room:
            print(_WIPED, end="", file=sys.stderr, flush=True)


def _room() -> int:
    """Columns of a line that can be written over, none where it cannot be; a longer line would leave its beginning behind."""
    if not sys.stderr.isatty():
        return 0
    from rich.console import Console  # takes 0.1 s to load: only for those who see it

    screen = Console(stderr=True)
    return 0 if screen.is_dumb_terminal else screen.width - 1


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    full = round(min(max(share, 0.0), 1.0) * _WIDTH)
    return f"{'━' * full}{'╌' * (_WIDTH - full)} {share:4.0%} "
