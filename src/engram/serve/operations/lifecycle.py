"""Operations on a memory's lifecycle: its layer and state, promotion and demotion."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.rules.lifecycle import LifecycleState
from engram.serve.operations.operation import Effect, IdInput, Operation
from engram.types import Memory

if TYPE_CHECKING:
    from engram.engine import Engram


def promote(mem: Engram, given: IdInput) -> Memory:
    return mem.promote(given.id)


def demote(mem: Engram, given: IdInput) -> Memory:
    return mem.demote(given.id)


def standing(mem: Engram, given: IdInput) -> LifecycleState:
    return mem.standing(given.id)


OPERATIONS = (
    Operation(
        name="promote",
        help="Raise a memory by a layer: from working to episodic, from episodic to semantic.",
        input=IdInput,
        output=Memory,
        run=promote,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="demote",
        help="Lower a memory by a layer.",
        input=IdInput,
        output=Memory,
        run=demote,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="standing",
        help="Show where a memory stands: its layer, how far to rely on it, how long it is kept, how far it has faded.",
        input=IdInput,
        output=LifecycleState,
        run=standing,
    ),
)
