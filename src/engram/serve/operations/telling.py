"""How far an operation is, for whoever waits. A face says who that is; what takes long tells it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Tell = Callable[[str, float | None], None]
"""Takes a stage, in words of ours, and the share that is done, or None where nobody knows of how much."""

_TELL: ContextVar[Tell] = ContextVar("tell", default=lambda stage, share: None)


@contextmanager
def telling(tell: Tell) -> Iterator[None]:
    """Whatever is called meanwhile tells this one."""
    before = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(before)


def teller() -> Tell:
    """Whom to tell. Asked for once: what goes on in another thread would find nobody."""
    return _TELL.get()
