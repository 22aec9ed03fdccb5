"""The tools of the reference memory server (`@modelcontextprotocol/server-memory`) over a vault.

An entity is a memory ("Ada (person)"), each observation of it is one ("Ada: plays the cello"), a relation is a link between two
entities; all are found by their attributes, and by every other tool as the memories they are. Deleting archives. What may be
seen is decided by the reader, as everywhere: another reader's graph is not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engram.errors import InvalidContent, InvalidQuery, NotFound
from engram.frozen import field, mutable, replace
from engram.serve.mcp.tools import DATA, Said, Tool
from engram.serve.operations import Effect, rationing
from engram.serve.operations.operation import require_writes
from engram.serve.operations.schema import Schema
from engram.text.fence import fence
from engram.types import Memory

if TYPE_CHECKING:
    from engram.engine import Engram

_PART, _ENTITY, _TYPE, _OBSERVATION = "graph", "entity", "entity_type", "observation"
_MOST = 1000
_PAGE = 200


@mutable
class _Node:
    memory: Memory
    type: str
    observations: dict[str, Memory] = field(default_factory=dict)


# ── reading the graph ──────────────────────────────────────────────────────────────────────────────────────────────────


def _pages(mem: Engram, attributes: Mapping[str, str]) -> Iterator[Memory]:
    """Oldest first, as they were added."""
    found: list[Memory] = []
    cursor = None
    while True:
        page = mem.list(limit=_PAGE, attributes=attributes, cursor=cursor)
        found += [memory for memory in page if _ENTITY in memory.attributes]  # else it is somebody's own word
        cursor = page.cursor
        if cursor is None:
            return iter(reversed(found))


def _nodes(mem: Engram, names: Iterable[str] | None = None) -> dict[str, _Node]:
    """Entities by name, with their observations: all, or those named."""
    made: dict[str, _Node] = {}
    for each in [{}] if names is None else [{_ENTITY: name} for name in dict.fromkeys(names)]:
        for memory in _pages(mem, {_PART: _ENTITY, **each}):
            name = memory.attributes[_ENTITY]
            made.setdefault(name, _Node(memory, memory.attributes.get(_TYPE, "")))
        for memory in _pages(mem, {_PART: _OBSERVATION, **each}):
            name = memory.attributes[_ENTITY]
            if name in made:
                made[name].observations.setdefault(memory.text.removeprefix(f"{name}: "), memory)
    return made


def _graph(mem: Engram, all_of: Mapping[str, _Node]) -> Said:
    """What reads as an attack is there to be changed and deleted, and is not told."""
    nodes = {name: _told(mem, node) for name, node in all_of.items() if mem.sound([node.memory])}
    return _said(
        {
            "entities": [_entity(name, node.type, list(node.observations)) for name, node in nodes.items()],
            "relations": [_relation(*one) for one in _relations(mem, nodes)],
        }
    )


def _told(mem: Engram, node: _Node) -> _Node:
    clean = {memory.id for memory in mem.sound(node.observations.values())}
    return replace(node, observations={text: one for text, one in node.observations.items() if one.id in clean})


def _relations(mem: Engram, nodes: Mapping[str, _Node]) -> list[tuple[str, str, str]]:
    """From, to and type of the links between these nodes. A link of no weight is one that was taken away."""
    by_id = {node.memory.id: name for name, node in nodes.items()}
    edges = [edge for some in _some(list(by_id)) for edge in mem.edges(*some) if edge.weight > 0]
    ends = [(by_id.get(edge.source, ""), by_id.get(edge.target, ""), edge.kind) for edge in edges]
    return sorted({one for one in ends if one[0] and one[1]})


def _some(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), _PAGE):
        yield ids[start : start + _PAGE]


def _entity(name: str, kind: str, observations: list[str]) -> dict[str, Any]:
    return {"name": name, "entityType": kind, "observations": observations}


def _relation(source: str, target: str, kind: str) -> dict[str, Any]:
    return {"from": source, "to": target, "relationType": kind}


def _ends(given: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    return list(dict.fromkeys((one["from"], one["to"], one["relationType"]) for one in given["relations"]))


def _said(data: Any) -> Said:
    return Said(data, fence(json.dumps(data, ensure_ascii=False)))


def read_graph(mem: Engram, given: Mapping[str, Any]) -> Said:
    return _graph(mem, _nodes(mem))


def open_nodes(mem: Engram, given: Mapping[str, Any]) -> Said:
    return _graph(mem, _nodes(mem, given["names"]))


def search_nodes(mem: Engram, given: Mapping[str, Any]) -> Said:
    """By meaning, as every search here; what the words stand in is found too."""
    with rationing.limited(mem):
        hits = mem.recall(given["query"])  # a limit would bring the nearest so many, however far they are
        named = [hit.memory.attributes[_ENTITY] for hit in hits if {_PART, _ENTITY} <= hit.memory.attributes.keys()]
        return _graph(mem, _nodes(mem, named) if named else {})


# ── changing it ────────────────────────────────────────────────────────────────────────────────────────────────────────


def create_entities(mem: Engram, given: Mapping[str, Any]) -> Said:
    """Those whose name is new; the others are left as they are."""
    if not all(one["name"].strip() for one in given["entities"]):
        raise InvalidContent("an entity has a name with a character at least.")
    there = _nodes(mem, [one["name"] for one in given["entities"]])
    made = []
    for one in given["entities"]:
        name, kind = one["name"], one["entityType"]
        if name not in there:
            attributes = {_PART: _ENTITY, _ENTITY: name, _TYPE: kind}
            node = there[name] = _Node(mem.remember(f"{name} ({kind})", category="entity", attributes=attributes), kind)
            made.append(_entity(name, kind, _observe(mem, name, node, one["observations"])))
    return _said({"entities": made})


def _observe(mem: Engram, name: str, node: _Node, observations: Iterable[str]) -> list[str]:
    new = [text for text in dict.fromkeys(observations) if text not in node.observations]
    for text in new:
        node.observations[text] = mem.remember(f"{name}: {text}", attributes={_PART: _OBSERVATION, _ENTITY: name})
    return new


def add_observations(mem: Engram, given: Mapping[str, Any]) -> Said:
    there = _nodes(mem, [one["entityName"] for one in given["observations"]])
    results = []
    for one in given["observations"]:
        node = _known(there, one["entityName"])
        added = _observe(mem, one["entityName"], node, one["contents"])
        results.append({"entityName": one["entityName"], "addedObservations": added})
    return _said({"results": results})


def create_relations(mem: Engram, given: Mapping[str, Any]) -> Said:
    """Those that are new."""
    wanted = _ends(given)
    there = _nodes(mem, [end for one in wanted for end in one[:2]])
    ids = [(_known(there, source).memory.id, _known(there, target).memory.id) for source, target, _ in wanted]
    known = set(_relations(mem, there))
    for (source, target), one in zip(ids, wanted, strict=True):
        if one not in known:
            mem.relate(source, target, one[2])
    return _said({"relations": [_relation(*one) for one in wanted if one not in known]})


def _known(nodes: Mapping[str, _Node], name: str) -> _Node:
    if name not in nodes:
        raise NotFound("there is no entity of that name.", way_out="Make it with create_entities first.")
    return nodes[name]


def delete_entities(mem: Engram, given: Mapping[str, Any]) -> Said:
    gone = _nodes(mem, given["entityNames"])
    return _forgotten(mem, [one.id for node in gone.values() for one in (node.memory, *node.observations.values())])


def delete_observations(mem: Engram, given: Mapping[str, Any]) -> Said:
    there = _nodes(mem, [one["entityName"] for one in given["deletions"]])
    ids = [
        there[one["entityName"]].observations[text].id
        for one in given["deletions"]
        for text in dict.fromkeys(one["observations"])
        if one["entityName"] in there and text in there[one["entityName"]].observations
    ]
    return _forgotten(mem, ids)


def _forgotten(mem: Engram, ids: Sequence[str]) -> Said:
    if ids:
        mem.forget(*ids)
    return _done(f"{len(ids)} memories were archived.")


def _done(message: str) -> Said:
    return Said({"success": True, "message": message}, message)


def delete_relations(mem: Engram, given: Mapping[str, Any]) -> Said:
    """A link stays as long as the two that it links; one of no weight leads nowhere."""
    wanted = _ends(given)
    there = _nodes(mem, [end for one in wanted for end in one[:2]])
    gone = set(wanted) & set(_relations(mem, there))
    for source, target, kind in gone:
        mem.relate(there[source].memory.id, there[target].memory.id, kind, weight=0.0)
    return _done(f"{len(gone)} relations were taken away.")


# ── as tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_TEXT: Schema = {"type": "string"}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items, "maxItems": _MOST}


_ENTITIES = _list(_object(name=_TEXT, entityType=_TEXT, observations=_list(_TEXT)))
_RELATIONS = _list(_object(**{"from": _TEXT, "to": _TEXT, "relationType": _TEXT}))
_GRAPH = _object(entities=_ENTITIES, relations=_RELATIONS)
_DONE = _object(success={"type": "boolean"}, message=_TEXT)

Run = Callable[["Engram", Mapping[str, Any]], Said]


def _tool(name: str, description: str, takes: Schema, gives: Schema, run: Run, effect: Effect = Effect.READ) -> Tool:
    def checked(mem: Engram, given: Mapping[str, Any]) -> Said:
        if effect is not Effect.READ:
            require_writes(mem.reader, name)
        _require(takes, given, name)
        return run(mem, given)

    title = name.replace("_", " ").capitalize()
    return Tool(name=name, title=title, description=description, input=takes, output=gives, run=checked, effect=effect)


def _require(schema: Schema, value: Any, name: str) -> None:
    """What does not fit is named and never quoted."""
    kinds = {"object": dict, "array": list, "string": str}
    if not isinstance(value, kinds[schema["type"]]):
        raise InvalidQuery(
            f"`{name}` must be {'text' if schema['type'] == 'string' else 'a list or an object as its schema says'}."
        )
    if isinstance(value, list):
        if len(value) > _MOST:
            raise InvalidQuery(f"`{name}` may have {_MOST:,} entries at most.")
        for each in value:
            _require(schema["items"], each, name)
    elif isinstance(value, dict):
        for each, part in schema["properties"].items():
            if each not in value:
                raise InvalidQuery(f"`{name}` needs `{each}`.")
            _require(part, value[each], each)


def tools() -> tuple[Tool, ...]:
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
