"""The knowledge graph of the reference memory server (`@modelcontextprotocol/server-memory`) over a vault.

An entity is a memory ("Ada (person)"), each of its observations is one ("Ada: plays the cello"), a relation is an edge between
two entities. Attributes mark these memories as parts of the graph; recall finds them like any other. Deleting archives.
Visibility is the reader's, as everywhere: the graph holds no entity that the reader may not see.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidContent, NotFound
from engram.types import Memory
from engram.values.frozen import field, mutable, replace

if TYPE_CHECKING:
    from engram.engine import Engram

_PART, _ENTITY, _TYPE, _OBSERVATION = "graph", "entity", "entity_type", "observation"
_PAGE = 200

Entry = Mapping[str, Any]
"""An entity, relation or change of one, with the field names of the reference server."""

Graph = dict[str, list[Entry]]
"""The `entities` and the `relations` between them."""

Triple = tuple[str, str, str]
"""A relation: the name of its source, the name of its target, and its type."""


@mutable
class _Node:
    """An entity of the graph: its memory, its type, and its observations by text."""

    memory: Memory
    type: str
    observations: dict[str, Memory] = field(default_factory=dict)


# ── reading the graph ──────────────────────────────────────────────────────────────────────────────────────────────────


def _memories(mem: Engram, attributes: Mapping[str, str]) -> Iterator[Memory]:
    """Iterate over the graph's memories with these attributes, oldest first."""
    memories: list[Memory] = []
    cursor = None
    while True:
        page = mem.list(limit=_PAGE, attributes=attributes, cursor=cursor)
        # A memory without the name of its entity is not of this graph: a user set an attribute of the same name.
        memories += [memory for memory in page if _ENTITY in memory.attributes]
        cursor = page.cursor
        if cursor is None:
            return iter(reversed(memories))


def _nodes(mem: Engram, names: Iterable[str] | None = None) -> dict[str, _Node]:
    """Return entities by name, with their observations: all of them, or those named."""
    nodes: dict[str, _Node] = {}
    for attributes in [{}] if names is None else [{_ENTITY: name} for name in dict.fromkeys(names)]:
        for memory in _memories(mem, {_PART: _ENTITY, **attributes}):
            name = memory.attributes[_ENTITY]
            nodes.setdefault(name, _Node(memory, memory.attributes.get(_TYPE, "")))
        for memory in _memories(mem, {_PART: _OBSERVATION, **attributes}):
            name = memory.attributes[_ENTITY]
            if name in nodes:
                nodes[name].observations.setdefault(memory.text.removeprefix(f"{name}: "), memory)
    return nodes


def _graph(mem: Engram, nodes: Mapping[str, _Node]) -> Graph:
    """Return these nodes without flagged memories, which can still be changed and deleted by name."""
    shown = {name: _without_flagged(mem, node) for name, node in nodes.items() if mem.sound([node.memory])}
    return {
        "entities": [_entity(name, node.type, list(node.observations)) for name, node in shown.items()],
        "relations": [_relation(*triple) for triple in _relations(mem, shown)],
    }


def _without_flagged(mem: Engram, node: _Node) -> _Node:
    clean = {memory.id for memory in mem.sound(node.observations.values())}
    return replace(node, observations={text: memory for text, memory in node.observations.items() if memory.id in clean})


def _relations(mem: Engram, nodes: Mapping[str, _Node]) -> list[Triple]:
    """Return the relations between these nodes. An edge of weight 0 is a deleted relation."""
    names = {node.memory.id: name for name, node in nodes.items()}
    edges = [edge for ids in _batches(list(names)) for edge in mem.edges(*ids) if edge.weight > 0]
    triples = [(names.get(edge.source, ""), names.get(edge.target, ""), edge.kind) for edge in edges]
    return sorted({triple for triple in triples if triple[0] and triple[1]})


def _batches(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _PAGE):
        yield ids[start : start + _PAGE]


def _entity(name: str, kind: str, observations: list[str]) -> Entry:
    return {"name": name, "entityType": kind, "observations": observations}


def _relation(source: str, target: str, kind: str) -> Entry:
    return {"from": source, "to": target, "relationType": kind}


def _triples(relations: Iterable[Mapping[str, str]]) -> list[Triple]:
    return list(dict.fromkeys((relation["from"], relation["to"], relation["relationType"]) for relation in relations))


def read_graph(mem: Engram) -> Graph:
    """Return the whole graph."""
    return _graph(mem, _nodes(mem))


def open_nodes(mem: Engram, names: Iterable[str]) -> Graph:
    """Return the named entities and the relations between them."""
    return _graph(mem, _nodes(mem, names))


def search_nodes(mem: Engram, query: str) -> Graph:
    """Return the entities that recall finds, by meaning and by words, in their names or observations."""
    hits = mem.recall(query)  # without `limit`, which would bring hits below the threshold
    names = [hit.memory.attributes[_ENTITY] for hit in hits if {_PART, _ENTITY} <= hit.memory.attributes.keys()]
    return _graph(mem, _nodes(mem, names) if names else {})


# ── changing it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def create_entities(mem: Engram, entities: Sequence[Entry]) -> list[Entry]:
    """Create the entities whose names are new, and return those."""
    if not all(entity["name"].strip() for entity in entities):
        raise InvalidContent("the name of an entity is empty.", way_out="Give every entity a name.")
    nodes = _nodes(mem, [entity["name"] for entity in entities])
    created = []
    for entity in entities:
        name, kind = entity["name"], entity["entityType"]
        if name not in nodes:
            attributes = {_PART: _ENTITY, _ENTITY: name, _TYPE: kind}
            memory = mem.remember(f"{name} ({kind})", category="entity", attributes=attributes, whole=True)
            node = nodes[name] = _Node(memory, kind)
            created.append(_entity(name, kind, _add(mem, name, node, entity["observations"])))
    return created


def _add(mem: Engram, name: str, node: _Node, observations: Iterable[str]) -> list[str]:
    """Store the observations that the node does not have, and return them."""
    new = [text for text in dict.fromkeys(observations) if text not in node.observations]
    for text in new:
        attributes = {_PART: _OBSERVATION, _ENTITY: name}
        node.observations[text] = mem.remember(f"{name}: {text}", attributes=attributes, whole=True)
    return new


def add_observations(mem: Engram, observations: Sequence[Entry]) -> list[Entry]:
    """Add observations to existing entities, and return those that were new."""
    nodes = _nodes(mem, [addition["entityName"] for addition in observations])
    results: list[Entry] = []
    for addition in observations:
        name = addition["entityName"]
        added = _add(mem, name, _node(nodes, name), addition["contents"])
        results.append({"entityName": name, "addedObservations": added})
    return results


def create_relations(mem: Engram, relations: Sequence[Entry]) -> list[Entry]:
    """Create the relations that do not exist yet, and return those."""
    wanted = _triples(relations)
    nodes = _nodes(mem, [name for triple in wanted for name in triple[:2]])
    ids = [(_node(nodes, source).memory.id, _node(nodes, target).memory.id) for source, target, _ in wanted]
    existing = set(_relations(mem, nodes))
    for (source, target), triple in zip(ids, wanted, strict=True):
        if triple not in existing:
            mem.relate(source, target, triple[2])
    return [_relation(*triple) for triple in wanted if triple not in existing]


def _node(nodes: Mapping[str, _Node], name: str) -> _Node:
    if name not in nodes:
        raise NotFound("there is no entity of that name.", way_out="Create it with create_entities first.")
    return nodes[name]


def delete_entities(mem: Engram, names: Iterable[str]) -> int:
    """Archive entities and their observations; return the number of memories archived."""
    nodes = _nodes(mem, names)
    return _archive(mem, [memory.id for node in nodes.values() for memory in (node.memory, *node.observations.values())])


def delete_observations(mem: Engram, deletions: Sequence[Entry]) -> int:
    """Archive observations, ignoring those that do not exist; return the number of memories archived."""
    nodes = _nodes(mem, [deletion["entityName"] for deletion in deletions])
    ids = [
        nodes[deletion["entityName"]].observations[text].id
        for deletion in deletions
        for text in dict.fromkeys(deletion["observations"])
        if deletion["entityName"] in nodes and text in nodes[deletion["entityName"]].observations
    ]
    return _archive(mem, ids)


def _archive(mem: Engram, ids: Sequence[str]) -> int:
    if ids:
        mem.forget(*ids)
    return len(ids)


def delete_relations(mem: Engram, relations: Sequence[Entry]) -> int:
    """Set the weight of relations to 0, and return how many there were.

    An edge lives as long as its two memories; weight 0 takes it out of every walk.
    """
    wanted = _triples(relations)
    nodes = _nodes(mem, [name for triple in wanted for name in triple[:2]])
    deleted = set(wanted) & set(_relations(mem, nodes))
    for source, target, kind in deleted:
        mem.relate(nodes[source].memory.id, nodes[target].memory.id, kind, weight=0.0)
    return len(deleted)
