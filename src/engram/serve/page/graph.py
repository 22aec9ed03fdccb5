"""The page with a graph: around a memory, around an entity, or of the entities that are mentioned most; and its layout.

The layout is a pure function: the same graph looks the same each time. Forces pull linked nodes together and push all nodes
apart; then each label takes the first free position beside its node, or shows only when the node is pointed at.
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
_GOLDEN_ANGLE = 2.399963  # radians
_CHARACTER_WIDTH, _LINE_HEIGHT = 6.7, 17.0


@frozen
class Canvas:
    """The size of a drawing. `aside`: space kept free for labels on the left and on the right. `letters`: longest label."""

    name: str
    width: float
    height: float
    aside: float
    letters: int


WIDE, NARROW = Canvas("wide", 960.0, 620.0, 106.0, 30), Canvas("narrow", 400.0, 560.0, 50.0, 20)


@frozen
class GraphNode:
    """A node to draw. `kind`: a layer of memory, or "entity". `size`: radius. `rank`: order of labelling, 0 for the centre."""

    key: str
    label: str
    title: str
    place: str
    kind: str
    size: float = 7.0
    rank: int = 1


@frozen
class GraphLink:
    """A link to draw, between the keys of two nodes."""

    source: str
    target: str
    kind: str
    weight: float = 1.0


@frozen
class PlacedNode:
    """A node and its label with their positions; `named` is false if the label had no room and shows only when pointed at."""

    node: GraphNode
    label: str
    x: float
    y: float
    label_x: float
    label_y: float
    anchor: str
    named: bool


@frozen
class PlacedLink:
    """A link with the positions of its ends."""

    link: GraphLink
    x1: float
    y1: float
    x2: float
    y2: float


@frozen
class Drawing:
    """A graph laid out on a canvas."""

    canvas: Canvas
    nodes: tuple[PlacedNode, ...]
    lines: tuple[PlacedLink, ...]


def draw(nodes: Sequence[GraphNode], links: Sequence[GraphLink], canvas: Canvas = WIDE) -> Drawing:
    """Lay out a graph, the same way each time; the first node is the centre. Links to unknown nodes are left out."""
    index = {node.key: number for number, node in enumerate(nodes)}
    known = [link for link in links if link.source in index and link.target in index and link.source != link.target]
    positions = _force_layout(len(nodes), [(index[link.source], index[link.target], link.weight) for link in known])
    positions = _scaled(positions if canvas.width > canvas.height else positions[:, ::-1], canvas)
    points = [(float(x), float(y)) for x, y in positions]
    lines = tuple(PlacedLink(link, *points[index[link.source]], *points[index[link.target]]) for link in known)
    return Drawing(canvas, _labelled(nodes, points, canvas), lines)


def _force_layout(count: int, springs: Sequence[tuple[int, int, float]]) -> np.ndarray:
    """Return positions by Fruchterman and Reingold's forces.

    They start on a spiral and not at random, so that a page looks the same when it is loaded again.
    """
    angle = np.arange(count) * _GOLDEN_ANGLE
    radius = np.sqrt(np.arange(count)) * 60.0
    positions = np.stack([np.cos(angle) * radius * 1.4, np.sin(angle) * radius], axis=1)
    if count < 2:
        return positions
    ideal = 150.0 * np.sqrt(12.0 / max(count, 12))
    ends = np.array([(a, b) for a, b, _ in springs], dtype=int).reshape(-1, 2)
    strengths = np.array([0.4 + 0.6 * weight for _, _, weight in springs])[:, None]
    for round in range(_ROUNDS):
        apart = positions[:, None, :] - positions[None, :, :]
        distance = np.maximum(np.linalg.norm(apart, axis=2), 1.0)
        force = (apart * (ideal**2 / distance**2)[:, :, None]).sum(axis=1) - positions * 0.2
        if len(ends):
            along = positions[ends[:, 1]] - positions[ends[:, 0]]
            pull = along * (np.linalg.norm(along, axis=1, keepdims=True) / ideal) * strengths
            np.add.at(force, ends[:, 0], pull)
            np.add.at(force, ends[:, 1], -pull)
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        positions = positions + force / length * np.minimum(length, 40.0 * (1.0 - round / _ROUNDS))
        positions = positions - positions[0]
    return positions


def _scaled(positions: np.ndarray, canvas: Canvas) -> np.ndarray:
    """Scale each axis to the canvas, by a factor of 1.6 at most: a few nodes are not pulled to its edges."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    room = np.array([canvas.width - 2 * canvas.aside, canvas.height - 2 * _MARGIN])
    scale = np.minimum(room / np.maximum(high - low, 1.0), 1.6)
    scaled: np.ndarray = (positions - (low + high) / 2) * scale + np.array([canvas.width / 2, canvas.height / 2])
    return scaled


def _labelled(nodes: Sequence[GraphNode], points: Sequence[tuple[float, float]], canvas: Canvas) -> tuple[PlacedNode, ...]:
    """Give each label, in the order of rank, the first free position beside its node; the centre's is always shown."""
    taken = [(x - node.size, y - node.size, x + node.size, y + node.size) for node, (x, y) in zip(nodes, points, strict=True)]
    placed: dict[int, PlacedNode] = {}
    for number in sorted(range(len(nodes)), key=lambda number: (nodes[number].rank, number)):
        node, (x, y) = nodes[number], points[number]
        label = short(node.label, canvas.letters)
        options = [_label_position(label, node.size, x, y, side) for side in ("right", "left", "below", "above")]
        inside = [option for option in options if _is_inside(option[0], canvas)]
        free = next((option for option in inside if _is_free(option[0], taken, number)), None)
        (box, label_x, label_y, anchor) = free or (inside or options)[0]
        named = free is not None or not node.rank
        if named:
            taken.append(box)
        placed[number] = PlacedNode(node, label, round(x, 1), round(y, 1), round(label_x, 1), round(label_y, 1), anchor, named)
    return tuple(placed[number] for number in range(len(nodes)))


Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def _label_position(label: str, size: float, x: float, y: float, side: str) -> tuple[Box, float, float, str]:
    """Return the box of a label on that side of its node, the position of its text, and SVG's `text-anchor`."""
    width, gap, half = len(label) * _CHARACTER_WIDTH, size + 5.0, _LINE_HEIGHT / 2
    if side == "right":
        return (x + gap, y - half, x + gap + width, y + half), x + gap, y + 4.5, "start"
    if side == "left":
        return (x - gap - width, y - half, x - gap, y + half), x - gap, y + 4.5, "end"
    middle = y + gap + half if side == "below" else y - gap - half
    return (x - width / 2, middle - half, x + width / 2, middle + half), x, middle + 4.5, "middle"


def _is_inside(box: Box, canvas: Canvas) -> bool:
    left, top, right, bottom = box
    return left >= 2 and right <= canvas.width - 2 and top >= 2 and bottom <= canvas.height - 2


def _is_free(box: Box, taken: Sequence[Box], own: int) -> bool:
    """Return whether a box overlaps no taken one but that of its own node."""
    left, top, right, bottom = box
    return all(
        right <= other[0] or left >= other[2] or bottom <= other[1] or top >= other[3]
        for number, other in enumerate(taken)
        if number != own
    )


def short(text: str, most: int) -> str:
    """Return the text on one line of at most so many characters, cut between words."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rsplit(" ", 1)[0].rstrip(" ,.;:") + "…"


_MEMORIES = 28
_NAMES = 14


@frozen
class GraphContent:
    """The nodes and links to draw, the centre first, and the title of the page."""

    title: str
    nodes: list[GraphNode]
    links: list[GraphLink]


def graph(request: PageRequest) -> PageView:
    """The graph around a memory, around an entity, or of the entities that are mentioned most."""
    memory, entity = request.text("memory"), request.text("entity")
    if memory:
        content = _around_memory(request, memory)
    elif entity:
        content = _around_entity(request, entity)
    else:
        content = _overview(request)
    by_key = {node.key: node for node in content.nodes}
    values = {
        "title": content.title,
        "drawings": [draw(content.nodes, content.links, canvas) for canvas in (WIDE, NARROW) if content.nodes],
        "links": [(by_key[link.source], link, by_key[link.target]) for link in content.links],
        "kinds": sorted({node.kind for node in content.nodes}),
        "middle": {"memory": memory, "entity": entity},
    }
    return PageView("graph.html", values)


def _around_memory(request: PageRequest, id: str) -> GraphContent:
    """Return a memory with the memories within two edges and the entities that it names."""
    details = request.call("show", id=id)
    reached = request.call("traverse", id=id, depth=2).reached[:_MEMORIES]
    nodes = [_memory_node(details.memory, 0), *(_memory_node(step.memory, step.distance) for step in reached)]
    links = _links(request, [node.key for node in nodes])
    for name, _ in named(request, details.memory, details.metadata)[:_NAMES]:
        try:
            profile: Profile = request.call("entity", name=name, limit=_NAMES)
        except NotFound:
            continue
        entity_node = _entity_node(profile.entity, 1)
        nodes.append(entity_node)
        links.append(GraphLink(id, entity_node.key, "names", 0.6))
        links += [GraphLink(memory.id, entity_node.key, "names", 0.4) for memory in profile.timeline if memory.id != id]
        nodes += [_memory_node(memory, 2) for memory in profile.timeline[:4]]
    return _bounded(short(details.memory.text, 70), nodes, links)


def _around_entity(request: PageRequest, name: str) -> GraphContent:
    """Return an entity with the memories that name it and the entities named together with it."""
    profile: Profile = request.call("entity", name=name, limit=_MEMORIES)
    centre = _entity_node(profile.entity, 0)
    memories = [_memory_node(memory, 1) for memory in profile.timeline]
    links = [GraphLink(centre.key, node.key, "names", 0.5) for node in memories]
    others = [_name_node(other, times) for other, times in profile.relations[:_NAMES]]
    links += [GraphLink(centre.key, node.key, "named with", 0.9) for node in others]
    links += _links(request, [node.key for node in memories])
    return _bounded(profile.entity.name, [centre, *others, *memories], links)


def _overview(request: PageRequest) -> GraphContent:
    """Return those of the entities mentioned most that are named together with another of them."""
    entities: Sequence[Entity] = request.call("entities", limit=2 * _NAMES).entities
    nodes = [_entity_node(entity, 1) for entity in entities]
    keys = {node.key for node in nodes}
    links: dict[tuple[str, ...], GraphLink] = {}
    for entity in entities[:_NAMES]:
        profile: Profile = request.call("entity", name=entity.name, limit=1)
        for other, times in profile.relations:
            pair = tuple(sorted((_key(entity.name), _key(other))))
            if pair[0] != pair[1] and keys.issuperset(pair):
                links[pair] = GraphLink(pair[0], pair[1], "named with", min(times / 5.0, 1.0))
    linked = {end for link in links.values() for end in (link.source, link.target)}
    return _bounded("Names told of together", [node for node in nodes if node.key in linked], list(links.values()))


def _links(request: PageRequest, ids: Sequence[str]) -> list[GraphLink]:
    """Return the edges between these memories."""
    if not ids:
        return []
    edges: Sequence[Edge] = request.call("edges", ids=list(ids)).edges
    between = [edge for edge in edges if {edge.source, edge.target} <= set(ids) and edge.weight > 0]
    return [GraphLink(edge.source, edge.target, edge.kind, edge.weight) for edge in between]


def _bounded(title: str, nodes: Iterable[GraphNode], links: Iterable[GraphLink]) -> GraphContent:
    """Return nodes and links without repetitions, cut to what can be drawn; of several links between two nodes the first."""
    distinct: dict[str, GraphNode] = {}
    for node in nodes:
        distinct.setdefault(node.key, node)
    kept = list(distinct.values())[: _MEMORIES + _NAMES]
    keys = {node.key for node in kept}
    pairs: dict[frozenset[str], GraphLink] = {}
    for link in links:
        if {link.source, link.target} <= keys and link.source != link.target:
            pairs.setdefault(frozenset((link.source, link.target)), link)
    return GraphContent(title, kept, list(pairs.values()))


def _memory_node(memory: Memory, distance: int) -> GraphNode:
    size = 12.0 if not distance else 5.0 + 4.0 * memory.importance
    label = memory.key_fact or memory.summary or memory.text
    at = place("/graph", memory=memory.id) if distance else place(f"/memory/{memory.id}")
    return GraphNode(memory.id, label, memory.text, at, layer_of(memory).value, size, 1 + distance if distance else 0)


def _entity_node(entity: Entity, distance: int) -> GraphNode:
    at = place("/graph", entity=entity.name) if distance else place("/entity", name=entity.name)
    size = 13.0 if not distance else 8.0 + min(entity.mentions, 12) / 3.0
    return GraphNode(_key(entity.name), entity.name, f"{entity.name}, {entity.kind}", at, "entity", size, distance)


def _name_node(name: str, times: int) -> GraphNode:
    at = place("/graph", entity=name)
    return GraphNode(_key(name), name, name, at, "entity", 8.0 + min(times, 12) / 3.0, 1)


def _key(name: str) -> str:
    return f"entity {name.casefold()}"
