"""Operations on memories: remember, update, forget, restore, pin; and reading them by id, filter or history."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from engram.errors import InvalidQuery, NotFound
from engram.guard.visibility import require_owner
from engram.serve.operations.operation import (
    AnyStatus,
    Arg,
    Effect,
    Files,
    Id,
    IdInput,
    Ids,
    Languages,
    Operation,
    People,
    Speakers,
    Technologies,
    Topics,
    UnchangedSince,
)
from engram.text.metadata import Metadata, metadata
from engram.types import Edge, Kind, Memory, Page, Report, Role, Sensitivity, Source, Status, StatusChange, Turn, Version
from engram.values.frozen import field, frozen
from engram.values.identity import strictest
from engram.values.memories import VALID
from engram.values.query import READ_FIELDS, Filter

if TYPE_CHECKING:
    from engram.engine import Engram


_IMPORTANCE = "How much it matters, from 0 to 1."


@frozen(kw_only=True)
class RememberInput:
    text: Annotated[str, Arg("What to keep.", positional=True, free_text=True)]
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
    whole: Annotated[bool, Arg("Keep the text as one memory, however many statements it holds.")] = False


def remember(mem: Engram, given: RememberInput) -> Memory:
    return mem.remember(
        given.text,
        kind=given.kind,
        category=given.category,
        importance=given.importance,
        source=given.source,
        happened_at=given.happened_at,
        attributes=given.attributes,
        tier=_allowed_tier(mem, given),
        whole=given.whole,
    )


def _allowed_tier(mem: Engram, given: RememberInput) -> Sensitivity | None:
    """Return the tier asked for, raised to the one that the text needs: only the owner may store text at a lower tier."""
    if given.tier is None or mem.reader.role is Role.OWNER:
        return given.tier
    from engram.capture.screen import tier_of  # late: compiling its patterns takes longer than loading the whole table

    tier = strictest(given.tier, tier_of(given.text, mem.settings.now))
    return None if tier is Sensitivity.CLEARTEXT else tier


@frozen(kw_only=True)
class UpdateInput:
    id: Id
    text: Annotated[str | None, Arg("Its new wording.", positional=True, free_text=True)] = None
    importance: Annotated[float | None, Arg(_IMPORTANCE, low=0.0, high=1.0)] = None
    tier: Annotated[Sensitivity | None, Arg("How closely it is kept.")] = None
    flagged: Annotated[
        bool | None,
        Arg("Whether it is held to be an attack on the model, and left out of answers.", flags=("--flagged/--no-flagged",)),
    ] = None
    unchanged_since: UnchangedSince = None

    def __post_init__(self) -> None:
        if all(given is None for given in (self.text, self.importance, self.tier, self.flagged)):
            raise InvalidQuery("there is nothing to change.", way_out="Give a new value, such as `text` or `importance`.")


def update(mem: Engram, given: UpdateInput) -> Memory:
    """Change a memory. Every writer may flag it or raise its tier; only the owner may clear the flag or lower the tier, because
    otherwise an attacker could clear the flag of a memory that they planted."""
    if given.flagged is False:
        require_owner(mem.reader, "clearing the injection flag of a memory")
    if given.tier is not None and mem.reader.role is not Role.OWNER:
        old = mem.get(given.id)
        if old is not None and strictest(old.tier, given.tier) is not given.tier:
            require_owner(mem.reader, "lowering the tier of a memory")
    changes = {"text": given.text, "importance": given.importance, "tier": given.tier, "flagged": given.flagged}
    return mem.update(given.id, **changes, unchanged_since=given.unchanged_since)  # type: ignore[arg-type]


@frozen(kw_only=True)
class ForgetInput:
    ids: Ids
    erase: Annotated[bool, Arg("Remove every trace, for good, instead of archiving.")] = False
    dry_run: Annotated[bool, Arg("With `erase`: only count what would go.")] = False
    reason: Annotated[str, Arg("Why; it stands in the memory's history.")] = "forgotten on request"
    unchanged_since: UnchangedSince = None


def forget(mem: Engram, given: ForgetInput) -> Report:
    options = {"erase": given.erase, "dry_run": given.dry_run, "reason": given.reason, "unchanged_since": given.unchanged_since}
    return mem.forget(*dict.fromkeys(given.ids), **options)  # type: ignore[arg-type]


def restore(mem: Engram, given: IdInput) -> Memory:
    return mem.restore(given.id)


@frozen(kw_only=True)
class PinInput:
    id: Id
    pinned: Annotated[bool, Arg("False lets it be forgotten with time again.", flags=("--on/--off",))] = True


def pin(mem: Engram, given: PinInput) -> Memory:
    return mem.pin(given.id, given.pinned)


def get(mem: Engram, given: IdInput) -> Memory:
    memory = mem.get(given.id)
    if memory is None:
        raise NotFound("there is no memory with this id that this identity may see.")
    return memory


@frozen
class MemoryDetails:
    """A memory with its earlier versions, status changes, edges, source turns and metadata."""

    memory: Memory
    versions: tuple[Version, ...]
    status_history: tuple[StatusChange, ...]
    edges: tuple[Edge, ...]
    turns: tuple[Turn, ...]
    metadata: Metadata


def show(mem: Engram, given: IdInput) -> MemoryDetails:
    memory = get(mem, given)
    return MemoryDetails(
        memory,
        tuple(mem.versions(given.id)),
        tuple(mem.status_history(given.id)),
        tuple(mem.edges(given.id)),
        tuple(mem.words(given.id)),
        metadata(memory.text, memory.happened_at or memory.learned_at, memory.speaker),
    )


@frozen(kw_only=True)
class ListInput:
    limit: Annotated[int, Arg("How many at most.", low=1, high=10_000, flags=("--limit", "-n"))] = 50
    category: Annotated[str | None, Arg("Of this category only.")] = None
    kind: Annotated[Kind | None, Arg("Of this kind only.")] = None
    status: Annotated[AnyStatus, Arg("In this state only; `live` is active and challenged.")] = "live"
    since: Annotated[datetime | None, Arg("What happened at this time or later only.")] = None
    until: Annotated[datetime | None, Arg("What happened at this time or earlier only.")] = None
    attributes: Annotated[Mapping[str, str], Arg("Only what has these names and values.", high=64, flags=("--attribute",))] = (
        field(default_factory=dict)
    )
    people: People = ()
    technologies: Technologies = ()
    files: Files = ()
    languages: Languages = ()
    topics: Topics = ()
    speakers: Speakers = ()
    cursor: Annotated[str | None, Arg("Go on where the last page ended.")] = None


_STATUSES = {"live": VALID, "any": (), **{status.value: (status,) for status in Status}}


def list_(mem: Engram, given: ListInput) -> Page:
    filters = Filter(
        kinds=(given.kind,) if given.kind else (),
        categories=(given.category,) if given.category else (),
        since=given.since,
        until=given.until,
        statuses=_STATUSES[given.status],
        attributes=given.attributes or None,
        **{name: getattr(given, name) for name in READ_FIELDS},
    )
    return mem.list(limit=given.limit, cursor=given.cursor, filters=filters)


@frozen
class VersionList:
    """Earlier versions of a memory, oldest first."""

    versions: tuple[Version, ...]


def versions(mem: Engram, given: IdInput) -> VersionList:
    get(mem, given)
    return VersionList(tuple(mem.versions(given.id)))


@frozen
class SourceTurns:
    """The turns that a memory was taken from, verbatim."""

    turns: tuple[Turn, ...]


def words(mem: Engram, given: IdInput) -> SourceTurns:
    get(mem, given)
    return SourceTurns(tuple(mem.words(given.id)))


OPERATIONS = (
    Operation(
        name="remember",
        help="Keep a statement, or each statement of a text; it is durable when this returns.",
        input=RememberInput,
        output=Memory,
        run=remember,
        effect=Effect.WRITE,
        idempotent=False,
    ),
    Operation(
        name="update",
        help="Change a memory. Its earlier wording stays reachable.",
        input=UpdateInput,
        output=Memory,
        run=update,
        effect=Effect.WRITE,
    ),
    Operation(
        name="forget",
        help="Archive memories, which `restore` brings back, or erase them for good.",
        input=ForgetInput,
        output=Report,
        run=forget,
        effect=Effect.DESTRUCTIVE,
    ),
    Operation(
        name="restore",
        help="Bring a forgotten memory back.",
        input=IdInput,
        output=Memory,
        run=restore,
        effect=Effect.WRITE,
    ),
    Operation(
        name="pin",
        help="Protect a memory from being forgotten with time.",
        input=PinInput,
        output=Memory,
        run=pin,
        effect=Effect.WRITE,
    ),
    Operation(name="list", help="List memories, newest first.", input=ListInput, output=Page, run=list_),
    Operation(name="get", help="Fetch one memory.", input=IdInput, output=Memory, run=get),
    Operation(
        name="show",
        help="Show one memory with the words it came from, its earlier wordings, its states and its links.",
        input=IdInput,
        output=MemoryDetails,
        run=show,
    ),
    Operation(name="versions", help="Show the earlier wordings of a memory.", input=IdInput, output=VersionList, run=versions),
    Operation(
        name="words", help="Show the words that a memory came from, verbatim.", input=IdInput, output=SourceTurns, run=words
    ),
)
