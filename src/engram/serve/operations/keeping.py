"""Operations that change what is kept."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from engram.errors import InvalidQuery
from engram.frozen import field, frozen
from engram.guard.scopes import require_owner
from engram.guard.tiers import strictest
from engram.serve.operations.arguments import Id, Ids, Turns, Unchanged
from engram.serve.operations.operation import Arg, Effect, Operation
from engram.serve.operations.telling import teller
from engram.types import Kind, Memory, Report, Role, Sensitivity, Source, Turn

if TYPE_CHECKING:
    from engram.engine import Engram

_IMPORTANCE = "How much it matters, from 0 to 1."


@frozen(kw_only=True)
class Remember:
    text: Annotated[str, Arg("What to keep.", main=True, words=True)]
    importance: Annotated[
        float | None, Arg("How much it matters, from 0 to 1; left out, middling, and raised by what is new.", low=0.0, high=1.0)
    ] = None
    category: Annotated[str, Arg("What sort of statement it is.")] = "fact"
    kind: Annotated[Kind, Arg("What sort of memory it is.")] = Kind.PROPOSITION
    source: Annotated[Source, Arg("Whose word it is.")] = Source.USER
    happened_at: Annotated[datetime | None, Arg("When it happened; UTC if nothing else is said.")] = None
    tier: Annotated[Sensitivity | None, Arg("How closely it is kept; else its words decide.")] = None
    attributes: Annotated[
        Mapping[str, str], Arg("Names and values of your own to find it by.", high=64, flags=("--attribute",))
    ] = field(default_factory=dict)


def remember(mem: Engram, given: Remember) -> Memory:
    return mem.remember(
        given.text,
        kind=given.kind,
        category=given.category,
        importance=given.importance,
        source=given.source,
        happened_at=given.happened_at,
        attributes=given.attributes,
        tier=_at_least(mem, given),
    )


def _at_least(mem: Engram, given: Remember) -> Sensitivity | None:
    """Only the owner has words kept less closely than they ask for, or than they are kept already."""
    if given.tier is None or mem.reader.role is Role.OWNER:
        return given.tier
    from engram.capture.screen import tier_of  # its patterns take longer to make than the whole table

    wanted = strictest(given.tier, tier_of(given.text, mem.settings.now))
    return None if wanted is Sensitivity.CLEARTEXT else wanted


@frozen(kw_only=True)
class Observe:
    text: Annotated[str | None, Arg("One thing that was said.", main=True, words=True)] = None
    speaker: Annotated[str, Arg("Who said it.")] = "user"
    user: Annotated[str | None, Arg("What the user said, in an exchange.")] = None
    assistant: Annotated[str | None, Arg("What the assistant said to it.")] = None
    turns: Turns = ()

    def __post_init__(self) -> None:
        exchange = self.user is not None or self.assistant is not None
        if (self.text is not None) + exchange + bool(self.turns) != 1:
            raise InvalidQuery(
                "what was said must come in one way.",
                way_out="Give `text`, or `user` and `assistant`, or `turns` where they are taken.",
            )


def observe(mem: Engram, given: Observe) -> Report:
    said = given.turns if given.text is None else (Turn(given.text, given.speaker),)
    return mem.observe(*said, user=given.user, assistant=given.assistant)


@frozen(kw_only=True)
class Ingest:
    text: Annotated[str | None, Arg("A long text; it is split.", main=True, words=True, long=True)] = None
    turns: Turns = ()

    def __post_init__(self) -> None:
        if (self.text is None) == (not self.turns):
            raise InvalidQuery("what to take in must come in one way.", way_out="Give `text` or `turns`.")


def ingest(mem: Engram, given: Ingest) -> Report:
    tell, done = teller(), 0

    def heard(size: int) -> None:
        nonlocal done
        done += size
        tell(f"{done:,} taken in", done / len(given.turns) if given.turns else None)

    return mem.ingest(given.turns if given.text is None else given.text, progress=heard)


@frozen(kw_only=True)
class Update:
    id: Id
    text: Annotated[str | None, Arg("Its new wording.", main=True, words=True)] = None
    importance: Annotated[float | None, Arg(_IMPORTANCE, low=0.0, high=1.0)] = None
    tier: Annotated[Sensitivity | None, Arg("How closely it is kept.")] = None
    flagged: Annotated[
        bool | None,
        Arg("Whether it is held to be an attack on the model, and left out of answers.", flags=("--flagged/--no-flagged",)),
    ] = None
    unchanged_since: Unchanged = None

    def __post_init__(self) -> None:
        if all(given is None for given in (self.text, self.importance, self.tier, self.flagged)):
            raise InvalidQuery("there is nothing to change.", way_out="Give what shall be other, as in `text` or `importance`.")


def update(mem: Engram, given: Update) -> Memory:
    """Whoever may write may mark a memory, or have it kept more closely. To take either back is the owner's: else whoever plants
    an attack clears it too."""
    if given.flagged is False:
        require_owner(mem.reader, "clearing the mark of an attack")
    if given.tier is not None and mem.reader.role is not Role.OWNER:
        old = mem.get(given.id)
        if old is not None and strictest(old.tier, given.tier) is not given.tier:
            require_owner(mem.reader, "keeping a memory less closely")
    wanted = {"text": given.text, "importance": given.importance, "tier": given.tier, "flagged": given.flagged}
    return mem.update(given.id, **wanted, unchanged_since=given.unchanged_since)  # type: ignore[arg-type]


@frozen(kw_only=True)
class Forget:
    ids: Ids
    erase: Annotated[bool, Arg("Remove every trace, for good, instead of archiving.")] = False
    dry_run: Annotated[bool, Arg("With `erase`: only count what would go.")] = False
    reason: Annotated[str, Arg("Why; it stands in the memory's history.")] = "forgotten on request"
    unchanged_since: Unchanged = None


def forget(mem: Engram, given: Forget) -> Report:
    how = {"erase": given.erase, "dry_run": given.dry_run, "reason": given.reason, "unchanged_since": given.unchanged_since}
    return mem.forget(*dict.fromkeys(given.ids), **how)  # type: ignore[arg-type]


@frozen(kw_only=True)
class Restore:
    id: Id


def restore(mem: Engram, given: Restore) -> Memory:
    return mem.restore(given.id)


@frozen(kw_only=True)
class Pin:
    id: Id
    pinned: Annotated[bool, Arg("False lets it be forgotten with time again.", flags=("--on/--off",))] = True


def pin(mem: Engram, given: Pin) -> Memory:
    return mem.pin(given.id, given.pinned)


@frozen(kw_only=True)
class Layered:
    id: Id


def promote(mem: Engram, given: Layered) -> Memory:
    return mem.promote(given.id)


def demote(mem: Engram, given: Layered) -> Memory:
    return mem.demote(given.id)


@frozen(kw_only=True)
class Relate:
    source: Annotated[str, Arg("The id that the link goes out from.", main=True)]
    target: Annotated[str, Arg("The id that it leads to.", main=True)]
    kind: Annotated[str, Arg("What the link means.")] = "related_to"
    weight: Annotated[float, Arg("How strong it is, from 0 to 1.", low=0.0, high=1.0)] = 1.0


@frozen
class Linked:
    """A link that was made, or is surer because it was told again."""

    source: str
    target: str
    kind: str
    edges: int


def relate(mem: Engram, given: Relate) -> Linked:
    made = mem.relate(given.source, given.target, given.kind, weight=given.weight)
    return Linked(given.source, given.target, given.kind, made)


@frozen(kw_only=True)
class Feedback:
    id: Id
    helpful: Annotated[bool | None, Arg("Did it help? Yes, if nothing is said.", flags=("--helpful/--unhelpful",))] = None
    query: Annotated[
        str | None, Arg("The question it was recalled for: what did not help is left out of answers to such questions.")
    ] = None
    correction: Annotated[str | None, Arg("What is true instead; it takes its place.")] = None

    def __post_init__(self) -> None:
        if self.correction is not None and self.helpful:
            raise InvalidQuery("what has to be corrected was not helpful.", way_out="Give `correction` alone.")


def feedback(mem: Engram, given: Feedback) -> Memory:
    return mem.feedback(given.id, given.helpful is not False, query=given.query, correction=given.correction)


OPERATIONS = (
    Operation(
        name="remember",
        help="Keep one statement; it is durable when this returns.",
        input=Remember,
        output=Memory,
        run=remember,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="observe",
        help="Hear what was said and keep what matters of it; says what became of each piece.",
        input=Observe,
        output=Report,
        run=observe,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="ingest",
        help="Take in a long text, or many turns; turns whose ref is known are passed over, so it can be run again.",
        input=Ingest,
        output=Report,
        run=ingest,
        effect=Effect.WRITE,
        idempotent=False,
        tells=True,
    ),
    Operation(
        name="update",
        help="Change a memory. Its earlier wording stays reachable.",
        input=Update,
        output=Memory,
        run=update,
        effect=Effect.WRITE,
    ),
    Operation(
        name="forget",
        help="Archive memories, which `restore` brings back, or erase them for good.",
        input=Forget,
        output=Report,
        run=forget,
        effect=Effect.DESTRUCTIVE,
    ),
    Operation(
        name="restore",
        help="Bring a forgotten memory back.",
        input=Restore,
        output=Memory,
        run=restore,
        effect=Effect.WRITE,
    ),
    Operation(
        name="pin",
        help="Protect a memory from being forgotten with time.",
        input=Pin,
        output=Memory,
        run=pin,
        effect=Effect.WRITE,
    ),
    Operation(
        name="promote",
        help="Raise a memory by a layer: from working to episodic, from episodic to semantic.",
        input=Layered,
        output=Memory,
        run=promote,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="demote",
        help="Lower a memory by a layer.",
        input=Layered,
        output=Memory,
        run=demote,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(name="relate", help="Link one memory to another.", input=Relate, output=Linked, run=relate, effect=Effect.WRITE),
    Operation(
        name="feedback",
        help="Say whether a memory helped, or what is true instead.",
        input=Feedback,
        output=Memory,
        run=feedback,
        effect=Effect.WRITE,
        idempotent=False,
    ),
)
