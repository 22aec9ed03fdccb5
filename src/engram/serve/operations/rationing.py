"""Operations as callers from outside may use them: so often, with numbers and at moments that tell no more than they must. R15

Every face of the network and of tools goes through here. The owner is nobody from outside: a token of theirs is told all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from engram.serve import wire
from engram.serve.operations.operation import Operation
from engram.types import Role

if TYPE_CHECKING:
    from engram.engine import Engram

PROBES = frozenset({"recall", "explain", "reason", "context", "timeline", "begin_episode"})
"""What can be asked a thousand small questions: these are counted. What begins is told what went wrong and well before."""

WITH = {"episodes": "similar", "warnings": "about", "skills": "situation", "knows": "subject"}
"""And these, if they are asked by words."""

SESSION: ContextVar[str | None] = ContextVar("session", default=None)
"""The session that is served, where one is: a process on standard input is one, a request to a server stands alone."""


def call(operation: Operation, mem: Engram, given: object, *, timeout: float | None = None, key: str | None = None) -> Any:
    """The value it answers with, for a tool or a client of the network; a write is made once for its key."""
    with _asking(operation, mem, given, timeout):
        value = operation.call(mem, given, timeout=timeout, idempotency_key=key)
        return value if mem.reader.role is Role.OWNER or not (operation.reads or operation.name in PROBES) else mem.coarse(value)


def answer(
    operation: Operation, mem: Engram, given: object, *, timeout: float | None = None, key: str | None = None
) -> wire.Plain:
    """The same in its wire form."""
    return wire.plain(call(operation, mem, given, timeout=timeout, key=key))


def _asking(operation: Operation, mem: Engram, given: object, timeout: float | None) -> AbstractContextManager[None]:
    asks = operation.name in PROBES or getattr(given, WITH.get(operation.name, ""), None)
    return asked(mem, timeout) if asks else nullcontext()


@contextmanager
def asked(mem: Engram, timeout: float | None = None) -> Iterator[None]:
    """One question more: it is counted, and whatever comes of it, an answer, none, or a refusal, goes out on the grid of time."""
    if mem.reader.role is Role.OWNER:
        yield
        return
    began = mem.release()
    try:
        mem.ration(SESSION.get())
        yield
    finally:
        mem.release(began, timeout)
