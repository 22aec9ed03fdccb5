"""How far something is: one line that is written over, for a person who waits, and gone in the end; nothing for a pipe."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from engram.serve.cli import show
from engram.serve.cli.caller import Caller
from engram.serve.operations.telling import Tell

_WIPED = "\r\x1b[K"
_WIDTH = 24


@contextmanager
def progress(asked: Caller) -> Iterator[Tell]:
    """Call what it gives with a stage and the share that is done, or None where nobody knows of how much."""
    seen, told = sys.stderr.isatty() and not asked.quiet, False

    def tell(stage: str, share: float | None) -> None:
        nonlocal told
        if seen:
            told = True
            print(f"{_WIPED}{_bar(share)}{show.one_line(stage)}", end="", file=sys.stderr, flush=True)

    try:
        yield tell
    finally:
        if told:
            print(_WIPED, end="", file=sys.stderr, flush=True)


def _bar(share: float | None) -> str:
    if share is None:
        return ""
    full = round(min(max(share, 0.0), 1.0) * _WIDTH)
    return f"{'━' * full}{'╌' * (_WIDTH - full)} {share:4.0%} "
