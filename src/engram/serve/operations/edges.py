"""Operations on edges: link memories, list their links, follow them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from engram.serve.operations.operation import Arg, Effect, Id, IdsInput, Operation
from engram.types import Edge
from engram.values.episodes import ReachedMemory
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.engine import Engram


@frozen(kw_only=True)
class RelateInput:
    source: Annotated[str, Arg("The id that the link goes out from.", positional=True, is_id=True)]
    target: Annotated[str, Arg("The id that it leads to.", positional=True, is_id=True)]
    kind: Annotated[str, Arg("What the link means.")] = "related_to"
    weight: Annotated[float, Arg("How strong it is, from 0 to 1.", low=0.0, high=1.0)] = 1.0


@frozen
class CreatedEdge:
    """An edge that was added, or strengthened because it was there already."""

    source: str
    target: str
    kind: str
    edges: int


def relate(mem: Engram, given: RelateInput) -> CreatedEdge:
    edges = mem.relate(given.source, given.target, given.kind, weight=given.weight)
    return CreatedEdge(given.source, given.target, given.kind, edges)


@frozen
class EdgeList:
    """Edges that begin or end at the given memories."""

    edges: tuple[Edge, ...]


def edges(mem: Engram, given: IdsInput) -> EdgeList:
    return EdgeList(tuple(mem.edges(*given.ids)))


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


OPERATIONS = (
    Operation(
        name="relate", help="Link one memory to another.", input=RelateInput, output=CreatedEdge, run=relate, effect=Effect.WRITE
    ),
    Operation(name="edges", help="Show the links of memories.", input=IdsInput, output=EdgeList, run=edges),
    Operation(
        name="traverse",
        help="Follow links from a memory outwards; those that are hardly sure any more are not followed.",
        input=TraverseInput,
        output=LinkedMemories,
        run=traverse,
    ),
)
