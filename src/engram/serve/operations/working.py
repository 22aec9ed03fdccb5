"""Operations on working memory: working, attend, clear_working, checkpoint, resume, morning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.errors import InvalidQuery
from engram.rules.resume import Morning
from engram.rules.working import Checkpoint, Evicted, Resumed, SlotSource
from engram.serve.operations.operation import Arg, Budget, Effect, NoInput, Operation
from engram.values.frozen import frozen
from engram.working.export import Exported, Form

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class WorkingInput:
    form: Annotated[Form | None, Arg("As it would stand in a prompt; plain, if nothing is said.")] = None
    budget: Budget = None


def working(mem: Engram, given: WorkingInput) -> Exported:
    return mem.working.export(given.form or Form.PLAIN, given.budget)


@frozen(kw_only=True)
class AttendInput:
    text: Annotated[str, Arg("What to bring to mind.", positional=True, free_text=True)]
    source: Annotated[SlotSource, Arg("How it came to mind.")] = SlotSource.SAID
    activation: Annotated[float, Arg("How lively it is, from 0 to 1.", low=0.0, high=1.0)] = 0.8


@frozen
class EvictedSlots:
    """Slots that were evicted to make room."""

    gone: tuple[Evicted, ...]


def attend(mem: Engram, given: AttendInput) -> EvictedSlots:
    """Put a statement into working memory and save it at once, so that the answer reports a durable change."""
    evicted = mem.working.attend(given.text, source=given.source, activation=given.activation)
    mem.working.suspend()
    return EvictedSlots(evicted)


@frozen
class ClearedSlots:
    """The number of slots that were cleared."""

    slots: int


def clear(mem: Engram, given: NoInput) -> ClearedSlots:
    return ClearedSlots(mem.working.clear())


@frozen(kw_only=True)
class CheckpointInput:
    goal: Annotated[str, Arg("What is being done.", positional=True, free_text=True)] = ""
    decided: Annotated[tuple[str, ...], Arg("What was decided.", high=100)] = ()
    open: Annotated[tuple[str, ...], Arg("What is left open.", high=100)] = ()

    def __post_init__(self) -> None:
        if not any(text.strip() for text in (self.goal, *self.decided, *self.open)):
            raise InvalidQuery(
                "a checkpoint needs a goal, a decision or an open point.", way_out="Give `goal`, `decided` or `open`."
            )


def checkpoint(mem: Engram, given: CheckpointInput) -> Checkpoint:
    return mem.working.checkpoint(given.goal, decided=given.decided, open=given.open)


def resume(mem: Engram, given: NoInput) -> Resumed:
    return mem.resume()


def morning(mem: Engram, given: NoInput) -> Morning:
    return mem.morning()


OPERATIONS = (
    Operation(
        name="working",
        help="Show what is in mind where this identity stands, the liveliest first.",
        input=WorkingInput,
        output=Exported,
        run=working,
    ),
    Operation(
        name="attend",
        help="Bring a statement to mind; says what had to give way.",
        input=AttendInput,
        output=EvictedSlots,
        run=attend,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="clear_working",
        help="Forget all that is in mind here, and the checkpoint.",
        input=NoInput,
        output=ClearedSlots,
        run=clear,
        effect=Effect.DESTRUCTIVE,
    ),
    Operation(
        name="checkpoint",
        help="Note what is being done, decided and left open, for whoever goes on here.",
        input=CheckpointInput,
        output=Checkpoint,
        run=checkpoint,
        effect=Effect.WRITE,
    ),
    Operation(
        name="resume",
        help="Tell what was being done where this identity stands, what was decided and what is left open.",
        input=NoInput,
        output=Resumed,
        run=resume,
    ),
    Operation(
        name="morning",
        help="Tell whoever comes back what was being done here, decided and left open, and what was learned since.",
        input=NoInput,
        output=Morning,
        run=morning,
    ),
)
