"""Operations as callers from outside may use them: so often, and with numbers that tell no more than they must. R15"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engram.serve.operations.operation import Operation

if TYPE_CHECKING:
    from engram.engine import Engram

PROBES = frozenset({"recall", "explain", "reason"})
"""What can be asked a thousand small questions: these are counted."""


def call(operation: Operation, mem: Engram, given: object, *, session: str | None = None, timeout: float | None = None) -> Any:
    """The value it answers with, for a tool or a client of the network."""
    if operation.name in PROBES:
        mem.ration(session)
    return (
        mem.coarse(operation.call(mem, given, timeout=timeout))
        if operation.reads
        else operation.call(mem, given, timeout=timeout)
    )
