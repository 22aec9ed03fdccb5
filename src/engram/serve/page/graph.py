"""What is linked to what, drawn: around a memory, around an entity, or the names that are told of most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram.errors import NotFound
from engram.frozen import frozen
from engram.known import Entity, Profile
from engram.memory.layers import layer_of
from engram.serve.page.asking import PageRequest, PageView, place
from engram.serve.page.layout import NARROW, WIDE, Link, Node, drawn, short
from engram.serve.page.world import named
from engram.types import Edge, Memory

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
