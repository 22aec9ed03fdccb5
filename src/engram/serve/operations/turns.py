"""Operations on turns: observe and ingest them, list and keep what capture dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.errors import InvalidQuery
from engram.serve.operations.operation import Arg, Effect, Operation, Turns, progress_callback
from engram.store.validation import check_name
from engram.types import DroppedPiece, Memory, Report, Turn
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class ObserveInput:
    text: Annotated[str | None, Arg("One thing that was said.", positional=True, free_text=True)] = None
    speaker: Annotated[str, Arg("Who said it.")] = "user"
    user: Annotated[str | None, Arg("What the user said, in an exchange.")] = None
    assistant: Annotated[str | None, Arg("What the assistant said to it.")] = None
    session: Annotated[str | None, Arg("The conversation that it belongs to; corrections are looked for there.")] = None
    turns: Turns = ()

    def __post_init__(self) -> None:
        exchange = self.user is not None or self.assistant is not None
        if (self.text is not None) + exchange + bool(self.turns) != 1:
            raise InvalidQuery(
                "the turns must be given in exactly one way.",
                way_out="Give `text`, or `user` and `assistant`, or `turns` where they are taken.",
            )


def observe(mem: Engram, given: ObserveInput) -> Report:
    if given.session is not None:
        check_name("session", given.session, mem.settings.now)
    said = ((given.speaker, given.text), ("user", given.user), ("assistant", given.assistant))
    turns = given.turns or tuple(Turn(text, speaker, session=given.session) for speaker, text in said if text is not None)
    return mem.observe(*turns)


@frozen(kw_only=True)
class IngestInput:
    text: Annotated[str | None, Arg("A long text; it is split.", positional=True, free_text=True, long=True)] = None
    turns: Turns = ()

    def __post_init__(self) -> None:
        if (self.text is None) == (not self.turns):
            raise InvalidQuery("the content must be given in exactly one way.", way_out="Give `text` or `turns`.")


def ingest(mem: Engram, given: IngestInput) -> Report:
    report, done = progress_callback(), 0

    def count(size: int) -> None:
        nonlocal done
        done += size
        report(f"{done:,} taken in", done / len(given.turns) if given.turns else None)

    return mem.ingest(given.turns if given.text is None else given.text, progress=count)


@frozen(kw_only=True)
class DroppedInput:
    session: Annotated[str | None, Arg("Only turns of this session.")] = None
    limit: Annotated[int, Arg("How many turns at most.", low=1, high=10_000, flags=("--limit", "-n"))] = 50


@frozen
class DroppedPieces:
    """Pieces of turns of which nothing is kept."""

    pieces: tuple[DroppedPiece, ...]


def dropped(mem: Engram, given: DroppedInput) -> DroppedPieces:
    """Return the dropped pieces of the last turns."""
    return DroppedPieces(tuple(mem.dropped(session=given.session, limit=given.limit)))


@frozen(kw_only=True)
class KeepInput:
    piece: Annotated[str, Arg("The piece, as `dropped` names it.", positional=True)]


def keep(mem: Engram, given: KeepInput) -> Memory:
    return mem.keep(given.piece)


OPERATIONS = (
    Operation(
        name="observe",
        help="Hear what was said and keep what matters of it; says what became of each piece.",
        input=ObserveInput,
        output=Report,
        run=observe,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="ingest",
        help="Take in a long text, or many turns; turns whose ref is known are passed over, so it can be run again.",
        input=IngestInput,
        output=Report,
        run=ingest,
        effect=Effect.WRITE,
        idempotent=False,
        reports_progress=True,
    ),
    Operation(
        name="dropped",
        help="List the pieces of the last turns of which nothing is kept, each with the reason.",
        input=DroppedInput,
        output=DroppedPieces,
        run=dropped,
        effect=Effect.READ,
    ),
    Operation(
        name="keep",
        help="Keep a piece of a stored turn that capture dropped.",
        input=KeepInput,
        output=Memory,
        run=keep,
        effect=Effect.WRITE,
    ),
)
