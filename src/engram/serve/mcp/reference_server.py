"""The tools of the reference memory server (`@modelcontextprotocol/server-memory`) over a vault.

An entity is a memory ("Ada (person)"), each of its observations is one ("Ada: plays the cello"), a relation is an edge between
two entities. Attributes mark these memories as parts of the graph; every other tool finds them too. Deleting archives. Visibility
is the reader's, as everywhere: the graph holds no entity that the reader may not see.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidContent, InvalidQuery, NotFound
from engram.serve.mcp.tools import DATA, Tool, ToolAnswer
from engram.serve.operations import Effect, limits
from engram.serve.operations.operation import require_writes
from engram.serve.operations.schema import Schema
from engram.text.fence import fence
from engram.types import Memory
from engram.values.frozen import field, mutable, replace

if TYPE_CHECKING:
    from engram.engine import Engram

_PART, _ENTITY, _TYPE, _OBSERVATION = "graph", "entity", "entity_type", "observation"
_MAX_ENTRIES = 1000
_PAGE = 200

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


def _graph_answer(mem: Engram, nodes: Mapping[str, _Node]) -> ToolAnswer:
    """Return the graph of these nodes without flagged memories, which can still be changed and deleted by name."""
    shown = {name: _without_flagged(mem, node) for name, node in nodes.items() if mem.sound([node.memory])}
    return _fenced_answer(
        {
            "entities": [_entity(name, node.type, list(node.observations)) for name, node in shown.items()],
            "relations": [_relation(*triple) for triple in _relations(mem, shown)],
        }
    )


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


def _entity(name: str, kind: str, observations: list[str]) -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": observations}


def _relation(source: str, target: str, kind: str) -> dict[str, Any]:
    return {"from": source, "to": target, "relationType": kind}


def _triples(arguments: Mapping[str, Any]) -> list[Triple]:
    relations = arguments["relations"]
    return list(dict.fromkeys((relation["from"], relation["to"], relation["relationType"]) for relation in relations))


def _fenced_answer(data: Any) -> ToolAnswer:
    return ToolAnswer(data, fence(json.dumps(data, ensure_ascii=False)))


def read_graph(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Return the whole graph."""
    return _graph_answer(mem, _nodes(mem))


def open_nodes(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Return the named entities and the relations between them."""
    return _graph_answer(mem, _nodes(mem, arguments["names"]))


def search_nodes(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Return the entities that recall finds, by meaning and by words, in their names or observations."""
    with limits.limited(mem):
        hits = mem.recall(arguments["query"])  # without `limit`, which would bring hits below the threshold
        names = [hit.memory.attributes[_ENTITY] for hit in hits if {_PART, _ENTITY} <= hit.memory.attributes.keys()]
        return _graph_answer(mem, _nodes(mem, names) if names else {})


# ── changing it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def create_entities(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Create the entities whose names are new, and return those."""
    if not all(entity["name"].strip() for entity in arguments["entities"]):
        raise InvalidContent("the name of an entity is empty.", way_out="Give every entity a name.")
    nodes = _nodes(mem, [entity["name"] for entity in arguments["entities"]])
    created = []
    for entity in arguments["entities"]:
        name, kind = entity["name"], entity["entityType"]
        if name not in nodes:
            attributes = {_PART: _ENTITY, _ENTITY: name, _TYPE: kind}
            node = nodes[name] = _Node(mem.remember(f"{name} ({kind})", category="entity", attributes=attributes), kind)
            created.append(_entity(name, kind, _add(mem, name, node, entity["observations"])))
    return _fenced_answer({"entities": created})


def _add(mem: Engram, name: str, node: _Node, observations: Iterable[str]) -> list[str]:
    """Store the observations that the node does not have, and return them."""
    new = [text for text in dict.fromkeys(observations) if text not in node.observations]
    for text in new:
        node.observations[text] = mem.remember(f"{name}: {text}", attributes={_PART: _OBSERVATION, _ENTITY: name})
    return new


def add_observations(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Add observations to existing entities, and return those that were new."""
    nodes = _nodes(mem, [addition["entityName"] for addition in arguments["observations"]])
    results = []
    for addition in arguments["observations"]:
        name = addition["entityName"]
        added = _add(mem, name, _node(nodes, name), addition["contents"])
        results.append({"entityName": name, "addedObservations": added})
    return _fenced_answer({"results": results})


def create_relations(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Create the relations that do not exist yet, and return those."""
    wanted = _triples(arguments)
    nodes = _nodes(mem, [name for triple in wanted for name in triple[:2]])
    ids = [(_node(nodes, source).memory.id, _node(nodes, target).memory.id) for source, target, _ in wanted]
    existing = set(_relations(mem, nodes))
    for (source, target), triple in zip(ids, wanted, strict=True):
        if triple not in existing:
            mem.relate(source, target, triple[2])
    return _fenced_answer({"relations": [_relation(*triple) for triple in wanted if triple not in existing]})


def _node(nodes: Mapping[str, _Node], name: str) -> _Node:
    if name not in nodes:
        raise NotFound("there is no entity of that name.", way_out="Create it with create_entities first.")
    return nodes[name]


def delete_entities(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Archive entities and their observations."""
    nodes = _nodes(mem, arguments["entityNames"])
    return _archive(mem, [memory.id for node in nodes.values() for memory in (node.memory, *node.observations.values())])


def delete_observations(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Archive observations; names and observations that do not exist are ignored."""
    nodes = _nodes(mem, [deletion["entityName"] for deletion in arguments["deletions"]])
    ids = [
        nodes[deletion["entityName"]].observations[text].id
        for deletion in arguments["deletions"]
        for text in dict.fromkeys(deletion["observations"])
        if deletion["entityName"] in nodes and text in nodes[deletion["entityName"]].observations
    ]
    return _archive(mem, ids)


def _archive(mem: Engram, ids: Sequence[str]) -> ToolAnswer:
    if ids:
        mem.forget(*ids)
    return _success(f"{len(ids)} memories were archived.")


def _success(message: str) -> ToolAnswer:
    return ToolAnswer({"success": True, "message": message}, message)


def delete_relations(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Set the weight of relations to 0: an edge lives as long as its two memories, and weight 0 takes it out of every walk."""
    wanted = _triples(arguments)
    nodes = _nodes(mem, [name for triple in wanted for name in triple[:2]])
    deleted = set(wanted) & set(_relations(mem, nodes))
    for source, target, kind in deleted:
        mem.relate(nodes[source].memory.id, nodes[target].memory.id, kind, weight=0.0)
    return _success(f"{len(deleted)} relations were deleted.")


# ── as tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_TEXT: Schema = {"type": "string"}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items, "maxItems": _MAX_ENTRIES}


_ENTITIES = _list(_object(name=_TEXT, entityType=_TEXT, observations=_list(_TEXT)))
_RELATIONS = _list(_object(**{"from": _TEXT, "to": _TEXT, "relationType": _TEXT}))
_GRAPH = _object(entities=_ENTITIES, relations=_RELATIONS)
_DONE = _object(success={"type": "boolean"}, message=_TEXT)

Run = Callable[["Engram", Mapping[str, Any]], ToolAnswer]


def _tool(name: str, description: str, takes: Schema, gives: Schema, run: Run, effect: Effect = Effect.READ) -> Tool:
    def checked(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
        if effect is not Effect.READ:
            require_writes(mem.reader, name)
        _require(takes, arguments, name)
        return run(mem, arguments)

    title = name.replace("_", " ").capitalize()
    return Tool(name=name, title=title, description=description, input=takes, output=gives, run=checked, effect=effect)


def _require(schema: Schema, value: Any, name: str) -> None:
    """Raise `InvalidQuery` if a value does not fit its schema. The message names the argument and never quotes its value."""
    types = {"object": dict, "array": list, "string": str}
    if not isinstance(value, types[schema["type"]]):
        expected = "text" if schema["type"] == "string" else "a list or an object as its schema says"
        raise InvalidQuery(f"`{name}` must be {expected}.")
    if isinstance(value, list):
        if len(value) > _MAX_ENTRIES:
            raise InvalidQuery(f"`{name}` may have {_MAX_ENTRIES:,} entries at most.")
        for entry in value:
            _require(schema["items"], entry, name)
    elif isinstance(value, dict):
        for field_name, field_schema in schema["properties"].items():
            if field_name not in value:
                raise InvalidQuery(f"`{name}` needs `{field_name}`.")
            _require(field_schema, value[field_name], field_name)


def tools() -> tuple[Tool, ...]:
    """Return the tools of the profile."""
    write, destroy = Effect.WRITE, Effect.DESTRUCTIVE
    return (
        _tool(
            "create_entities",
            "Add entities to the knowledge graph, each with a type and observations; names that are known are left alone.",
            _object(entities=_ENTITIES),
            _object(entities=_ENTITIES),
            create_entities,
            write,
        ),
        _tool(
            "create_relations",
            "Link entities that exist. Write relations in active voice.",
            _object(relations=_RELATIONS),
            _object(relations=_RELATIONS),
            create_relations,
            write,
        ),
        _tool(
            "add_observations",
            "Add observations to entities that exist.",
            _object(observations=_list(_object(entityName=_TEXT, contents=_list(_TEXT)))),
            _object(results=_list(_object(entityName=_TEXT, addedObservations=_list(_TEXT)))),
            add_observations,
            write,
        ),
        _tool(
            "delete_entities",
            "Forget entities and what was observed of them.",
            _object(entityNames=_list(_TEXT)),
            _DONE,
            delete_entities,
            destroy,
        ),
        _tool(
            "delete_observations",
            "Forget observations of entities.",
            _object(deletions=_list(_object(entityName=_TEXT, observations=_list(_TEXT)))),
            _DONE,
            delete_observations,
            destroy,
        ),
        _tool("delete_relations", "Unlink entities.", _object(relations=_RELATIONS), _DONE, delete_relations, destroy),
        _tool("read_graph", f"Read the whole knowledge graph. {DATA}", _object(), _GRAPH, read_graph),
        _tool(
            "search_nodes",
            f"Find entities by what is known of them, in plain words. {DATA}",
            _object(query=_TEXT),
            _GRAPH,
            search_nodes,
        ),
        _tool("open_nodes", f"Read entities by their names. {DATA}", _object(names=_list(_TEXT)), _GRAPH, open_nodes),
    )
