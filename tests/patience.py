"""Waiting in tests: on a condition, with a patience that a loaded machine never uses up."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 120.0
"""A safety net against a hang; no promise is measured by it."""


def wait_until(condition: Callable[[], object], what: str = "the condition never came true") -> None:
    """Return as soon as the condition holds; fail after `PATIENCE_S`."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)
