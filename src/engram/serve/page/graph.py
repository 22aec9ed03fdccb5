"""What is linked to what, drawn: around a memory, around an entity, or the names that are told of most.

Where the parts of a drawn graph lie: pure, and the same for the same graph. Forces draw what is linked together and keep all
apart; then each label takes the first free place beside its node, or waits until somebody
points at it; that of the middle is always there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from engram.errors import NotFound
from engram.rules.lifecycle import layer_of
from engram.serve.page.entities import named
from engram.serve.page.request import PageRequest, PageView, place
from engram.types import Edge, Memory
from engram.values.entities import Entity, Profile
from engram.values.frozen import frozen

_MARGIN = 46.0
_ROUNDS = 240
_GOLDEN = 2.399963
_CHARACTER, _LINE = 6.7, 17.0


@frozen
class Frame:
    """The room of a drawing; `aside` is kept free on the left and on the right, for labels of so many `letters` at most."""

    name: str
    width: float
    height: float
    aside: float
    letters: int


WIDE, NARROW = Frame("wide", 960.0, 620.0, 106.0, 30), Frame("narrow", 400.0, 560.0, 50.0, 20)


@frozen
class Node:
    """`kind`: a layer of memory, or what an entity is; `size`: its radius, `rank`: who gets a label first (0 is the centre)."""

    key: str
    label: str
    title: str
    place: str
    kind: str
    size: float = 7.0
    rank: int = 1


@frozen
class Link:
    source: str
    target: str
    kind: str
    weight: float = 1.0


@frozen
class Placed:
    """A node at its place, and its label at its own; `named` is false where there was no room for it."""

    node: Node
    label: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str
    named: bool


@frozen
class Line:
    link: Link
    x1: float
    y1: float
    x2: float
    y2: float


@frozen
class Drawing:
    frame: Frame
    nodes: tuple[Placed, ...]
    lines: tuple[Line, ...]


def drawn(nodes: Sequence[Node], links: Sequence[Link], frame: Frame = WIDE) -> Drawing:
    """The first node is the middle."""
    at = {node.key: number for number, node in enumerate(nodes)}
    known = [one for one in links if one.source in at and one.target in at and one.source != one.target]
    settled = _settled(len(nodes), [(at[one.source], at[one.target], one.weight) for one in known])
    places = _fitted(settled if frame.width > frame.height else settled[:, ::-1], frame)
    spots = [(float(x), float(y)) for x, y in places]
    lines = tuple(Line(one, *spots[at[one.source]], *spots[at[one.target]]) for one in known)
    return Drawing(frame, _labelled(nodes, spots, frame), lines)


def _settled(count: int, pulls: Sequence[tuple[int, int, float]]) -> np.ndarray:
    """Fruchterman and Reingold's forces, from a spiral: no dice, so that a page looks the same when it is loaded again."""
    turn = np.arange(count) * _GOLDEN
    out = np.sqrt(np.arange(count)) * 60.0
    places = np.stack([np.cos(turn) * out * 1.4, np.sin(turn) * out], axis=1)
    if count < 2:
        return places
    ideal = 150.0 * np.sqrt(12.0 / max(count, 12))
    ends = np.array([(a, b) for a, b, _ in pulls], dtype=int).reshape(-1, 2)
    strengths = np.array([0.4 + 0.6 * weight for _, _, weight in pulls])[:, None]
    for round in range(_ROUNDS):
        apart = places[:, None, :] - places[None, :, :]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1.0)
        force = (apart * (ideal**2 / distance**2)[:, :, None]).sum(axis=1) - places * 0.2
        if len(ends):
            along = places[ends[:, 1]] - places[ends[:, 0]]
            pull = along * (np.linalg.norm(along, axis=1, keepdims=True) / ideal) * strengths
            np.add.at(force, ends[:, 0], pull)
            np.add.at(force, ends[:, 1], -pull)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        places = places + force / length * np.minimum(length, 40.0 * (1.0 - round / _ROUNDS))
        places = places - places[0]
    return places


def _fitted(places: np.ndarray, frame: Frame) -> np.ndarray:
    """Into the frame, each axis by itself; a few nodes are not torn to its edges."""
    low, high = places.min(axis=0), places.max(axis=0)
    room = np.array([frame.width - 2 * frame.aside, frame.height - 2 * _MARGIN])
    scale = np.minimum(room / np.maximum(high - low, 1.0), 1.6)
    fitted: np.ndarray = (places - (low + high) / 2) * scale + np.array([frame.width / 2, frame.height / 2])
    return fitted


def _labelled(nodes: Sequence[Node], spots: Sequence[tuple[float, float]], frame: Frame) -> tuple[Placed, ...]:
    taken = [(x - node.size, y - node.size, x + node.size, y + node.size) for node, (x, y) in zip(nodes, spots, strict=True)]
    placed: dict[int, Placed] = {}
    for number in sorted(range(len(nodes)), key=lambda one: (nodes[one].rank, one)):
        node, (x, y) = nodes[number], spots[number]
        label = short(node.label, frame.letters)
        offers = [_box(label, node.size, x, y, side) for side in ("right", "left", "below", "above")]
        inside = [one for one in offers if _is_inside(one[0], frame)]
        free = next((one for one in inside if _is_free(one[0], taken, number)), None)
        (box, label_x, label_y, anchor) = free or (inside or offers)[0]
        named = free is not None or not node.rank
        if named:
            taken.append(box)
        placed[number] = Placed(node, label, round(x, 1), round(y, 1), round(label_x, 1), round(label_y, 1), anchor, named)
    return tuple(placed[number] for number in range(len(nodes)))


Box = tuple[float, float, float, float]


def _box(label: str, size: float, x: float, y: float, side: str) -> tuple[Box, float, float, str]:
    """The room a label takes on that side, where its text begins, and how it is anchored there."""
    wide, gap = len(label) * _CHARACTER, size + 5.0
    if side == "right":
        return (x + gap, y - _LINE / 2, x + gap + wide, y + _LINE / 2), x + gap, y + 4.5, "start"
    if side == "left":
        return (x - gap - wide, y - _LINE / 2, x - gap, y + _LINE / 2), x - gap, y + 4.5, "end"
    down = y + gap + _LINE / 2 if side == "below" else y - gap - _LINE / 2
    return (x - wide / 2, down - _LINE / 2, x + wide / 2, down + _LINE / 2), x, down + 4.5, "middle"


def _is_inside(box: Box, frame: Frame) -> bool:
    left, top, right, bottom = box
    return left >= 2 and right <= frame.width - 2 and top >= 2 and bottom <= frame.height - 2


def _is_free(box: Box, taken: Sequence[Box], own: int) -> bool:
    left, top, right, bottom = box
    return all(
        right <= one[0] or left >= one[2] or bottom <= one[1] or top >= one[3]
        for number, one in enumerate(taken)
        if number != own
    )


def short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"


_MEMORIES = 28
_NAMES = 14


@frozen
class Gathered:
    """What is drawn, the middle first, and what it is called."""

    title: str
    nodes: list[Node]
    links: list[Link]


def graph(request: PageRequest) -> PageView:
    memory, entity = request.text("memory"), request.text("entity")
    if memory:
        found = _around_memory(request, memory)
    elif entity:
        found = _around_entity(request, entity)
    else:
        found = _overview(request)
    names = {node.key: node for node in found.nodes}
    values = {
        "title": found.title,
        "drawings": [drawn(found.nodes, found.links, frame) for frame in (WIDE, NARROW) if found.nodes],
        "links": [(names[one.source], one, names[one.target]) for one in found.links],
        "kinds": sorted({node.kind for node in found.nodes}),
        "middle": {"memory": memory, "entity": entity},
    }
    return PageView("graph.html", values)


def _around_memory(request: PageRequest, id: str) -> Gathered:
    whole = request.call("show", id=id)
    reached = request.call("traverse", id=id, depth=2).reached[:_MEMORIES]
    nodes = [_memory_node(whole.memory, 0), *(_memory_node(one.memory, one.distance) for one in reached)]
    links = _links(request, [node.key for node in nodes])
    for name, _ in named(request, whole.memory, whole.metadata)[:_NAMES]:
        try:
            profile: Profile = request.call("entity", name=name, limit=_NAMES)
        except NotFound:
            continue
        other = _entity_node(profile.entity, 1)
        nodes.append(other)
        links.append(Link(id, other.key, "names", 0.6))
        links += [Link(one.id, other.key, "names", 0.4) for one in profile.timeline if one.id != id]
        nodes += [_memory_node(one, 2) for one in profile.timeline[:4]]
    return _bounded(short(whole.memory.text, 70), nodes, links)


def _around_entity(request: PageRequest, name: str) -> Gathered:
    profile: Profile = request.call("entity", name=name, limit=_MEMORIES)
    middle = _entity_node(profile.entity, 0)
    told = [_memory_node(one, 1) for one in profile.timeline]
    links = [Link(middle.key, node.key, "names", 0.5) for node in told]
    others = [_name_node(other, times) for other, times in profile.relations[:_NAMES]]
    links += [Link(middle.key, node.key, "named with", 0.9) for node in others]
    links += _links(request, [node.key for node in told])
    return _bounded(profile.entity.name, [middle, *others, *told], links)


def _overview(request: PageRequest) -> Gathered:
    """The names that are told of most, as far as some of them are told of together."""
    found: Sequence[Entity] = request.call("entities", limit=2 * _NAMES).entities
    nodes = [_entity_node(one, 1) for one in found]
    known = {node.key for node in nodes}
    links: dict[tuple[str, ...], Link] = {}
    for one in found[:_NAMES]:
        profile: Profile = request.call("entity", name=one.name, limit=1)
        for other, times in profile.relations:
            pair = tuple(sorted((_key(one.name), _key(other))))
            if pair[0] != pair[1] and known.issuperset(pair):
                links[pair] = Link(pair[0], pair[1], "named with", min(times / 5.0, 1.0))
    linked = {end for link in links.values() for end in (link.source, link.target)}
    return _bounded("Names told of together", [node for node in nodes if node.key in linked], list(links.values()))


def _links(request: PageRequest, ids: Sequence[str]) -> list[Link]:
    """The links between these memories."""
    if not ids:
        return []
    edges: Sequence[Edge] = request.call("edges", ids=list(ids)).edges
    known = set(ids)
    return [
        Link(one.source, one.target, one.kind, one.weight)
        for one in edges
        if {one.source, one.target} <= known and one.weight > 0
    ]


def _bounded(title: str, nodes: Iterable[Node], links: Iterable[Link]) -> Gathered:
    """Each once; of several links between two the first is drawn."""
    once: dict[str, Node] = {}
    for node in nodes:
        once.setdefault(node.key, node)
    kept = list(once.values())[: _MEMORIES + _NAMES]
    known = {node.key for node in kept}
    pairs: dict[frozenset[str], Link] = {}
    for link in links:
        if {link.source, link.target} <= known and link.source != link.target:
            pairs.setdefault(frozenset((link.source, link.target)), link)
    return Gathered(title, kept, list(pairs.values()))


def _memory_node(memory: Memory, distance: int) -> Node:
    size = 12.0 if not distance else 5.0 + 4.0 * memory.importance
    label = memory.key_fact or memory.summary or memory.text
    at = place("/graph", memory=memory.id) if distance else place(f"/memory/{memory.id}")
    return Node(memory.id, label, memory.text, at, layer_of(memory).value, size, 1 + distance if distance else 0)


def _entity_node(entity: Entity, distance: int) -> Node:
    at = place("/graph", entity=entity.name) if distance else place("/entity", name=entity.name)
    size = 13.0 if not distance else 8.0 + min(entity.mentions, 12) / 3.0
    return Node(_key(entity.name), entity.name, f"{entity.name}, {entity.kind}", at, "entity", size, distance)


def _name_node(name: str, times: int) -> Node:
    at = place("/graph", entity=name)
    return Node(_key(name), name, name, at, "entity", 8.0 + min(times, 12) / 3.0, 1)


def _key(name: str) -> str:
    return f"entity {name.casefold()}"
