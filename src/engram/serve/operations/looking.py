"""Operations that read memories by id, filter, link or time. They write nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

from engram.errors import NotFound
from engram.frozen import field, frozen
from engram.kinds import Box, ReachedMemory
from engram.memory.lifecycle import Standing
from engram.serve.operations.arguments import AnyStatus, Id, IdInput, IdsInput
from engram.serve.operations.operation import Arg, Operation
from engram.text.metadata import Metadata, metadata
from engram.types import ChangeEvents, Edge, Kind, Memory, Page, Status, StatusChange, Turn, Version

if TYPE_CHECKING:
    from engram.engine import Engram


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
    status: Annotated[AnyStatus, Arg("In this state only.")] = "active"
    since: Annotated[datetime | None, Arg("What happened at this time or later only.")] = None
    until: Annotated[datetime | None, Arg("What happened at this time or earlier only.")] = None
    attributes: Annotated[Mapping[str, str], Arg("Only what has these names and values.", high=64, flags=("--attribute",))] = (
        field(default_factory=dict)
    )
    cursor: Annotated[str | None, Arg("Go on where the last page ended.")] = None


def list_(mem: Engram, given: ListInput) -> Page:
    return mem.list(
        limit=given.limit,
        kind=given.kind,
        category=given.category,
        since=given.since,
        until=given.until,
        status=None if given.status == "any" else Status(given.status),
        attributes=given.attributes,
        cursor=given.cursor,
    )


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


@frozen
class EdgeList:
    """Edges that begin or end at the given memories."""

    edges: tuple[Edge, ...]


def edges(mem: Engram, given: IdsInput) -> EdgeList:
    return EdgeList(tuple(mem.edges(*given.ids)))


def standing(mem: Engram, given: IdInput) -> Standing:
    return mem.standing(given.id)


@frozen(kw_only=True)
class BoxesInput:
    trace: Annotated[int | None, Arg("Of this trace only.", low=1)] = None
    limit: Annotated[int, Arg("How many at most.", low=1, high=10_000, flags=("--limit", "-n"))] = 50


@frozen
class BoxList:
    boxes: tuple[Box, ...]


def boxes(mem: Engram, given: BoxesInput) -> BoxList:
    return BoxList(tuple(mem.boxes(trace=given.trace, limit=given.limit)))


@frozen(kw_only=True)
class BoxInput:
    key: Annotated[int, Arg("The box's number.", low=1, positional=True)]


@frozen
class BoxContents:
    """The memories of a box, in the order in which they were stored."""

    memories: tuple[Memory, ...]


def box(mem: Engram, given: BoxInput) -> BoxContents:
    return BoxContents(tuple(mem.box(given.key)))


@frozen(kw_only=True)
class TraverseInput:
    id: Id
    depth: Annotated[int, Arg("How many links away.", low=1, high=6)] = 2
    kinds: Annotated[tuple[str, ...], Arg("By links of these kinds only.", high=64, flags=("--kind",))] = ()


@frozen
class LinkedMemories:
    """Memories reached over edges, the strongest connection first."""

    reached: tuple[ReachedMemory, ...]


def traverse(mem: Engram, given: TraverseInput) -> LinkedMemories:
    return LinkedMemories(tuple(mem.traverse(given.id, depth=given.depth, kinds=given.kinds)))


@frozen(kw_only=True)
class EventsInput:
    after: Annotated[int | None, Arg("What came after this point only; else only where to ask on from.", low=0)] = None
    limit: Annotated[int, Arg("How many at most.", low=1, high=10_000, flags=("--limit", "-n"))] = 100


def events(mem: Engram, given: EventsInput) -> ChangeEvents:
    return mem.events(after=given.after, limit=given.limit)


OPERATIONS = (
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
    Operation(name="edges", help="Show the links of memories.", input=IdsInput, output=EdgeList, run=edges),
    Operation(
        name="standing",
        help="Show where a memory stands: its layer, how far to rely on it, how long it is kept, how far it has faded.",
        input=IdInput,
        output=Standing,
        run=standing,
    ),
    Operation(
        name="boxes",
        help="Show stretches of what was kept, each about one thing; those of one trace are about the same.",
        input=BoxesInput,
        output=BoxList,
        run=boxes,
    ),
    Operation(
        name="box", help="Show the memories in a box, in the order they were kept.", input=BoxInput, output=BoxContents, run=box
    ),
    Operation(
        name="traverse",
        help="Follow links from a memory outwards; those that are hardly sure any more are not followed.",
        input=TraverseInput,
        output=LinkedMemories,
        run=traverse,
    ),
    Operation(
        name="events",
        help="Tell which memories changed, by their ids, after a point that an earlier answer named (`upto`); "
        "`missed` says that the log does not reach back so far, so that what is held must be read anew.",
        input=EventsInput,
        output=ChangeEvents,
        run=events,
    ),
)
