"""Operations for callers from outside: tools and clients of the network. Their questions are rate limited, their scores are
rounded and their answers leave on a time grid, so that many small questions reveal no more than one large one (R15).

The owner is exempt, over a token too: an owner's answers are exact and immediate.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from engram.serve.operations import wire
from engram.serve.operations.operation import Operation
from engram.types import Role

if TYPE_CHECKING:
    from engram.engine import Engram

PROBES = frozenset({"recall", "explain", "reason", "context", "timeline", "begin_episode"})
"""Operations that search by free text and so are counted. `begin_episode` is one of them: it answers with warnings and skills."""

PROBES_WITH = {"episodes": "similar", "warnings": "about", "skills": "situation", "knows": "subject"}
"""Operations that are counted only if this argument is given."""

SESSION: ContextVar[str | None] = ContextVar("session", default=None)
"""The session being served. A process on standard input is one session; requests to a network server belong to none."""


def call(operation: Operation, mem: Engram, given: object, *, timeout: float | None = None, key: str | None = None) -> Any:
    """Run an operation for a caller from outside and return its value. key: the idempotency key of a write."""
    with _limited_if_probe(operation, mem, given, timeout):
        value = operation.call(mem, given, timeout=timeout, idempotency_key=key)
        return value if mem.reader.role is Role.OWNER or not (operation.reads or operation.name in PROBES) else mem.coarse(value)


def answer(
    operation: Operation, mem: Engram, given: object, *, timeout: float | None = None, key: str | None = None
) -> wire.Plain:
    """Run an operation for a caller from outside and return its value in the wire form."""
    return wire.plain(call(operation, mem, given, timeout=timeout, key=key))


def _limited_if_probe(operation: Operation, mem: Engram, given: object, timeout: float | None) -> AbstractContextManager[None]:
    is_probe = operation.name in PROBES or getattr(given, PROBES_WITH.get(operation.name, ""), None)
    return limited(mem, timeout) if is_probe else nullcontext()


@contextmanager
def limited(mem: Engram, timeout: float | None = None) -> Iterator[None]:
    """Count one question against the caller's rate limit, and end the block on the time grid, also if it raises."""
    if mem.reader.role is Role.OWNER:
        yield
        return
    began = mem.release()
    try:
        mem.ration(SESSION.get())
        yield
    finally:
        mem.release(began, timeout)
