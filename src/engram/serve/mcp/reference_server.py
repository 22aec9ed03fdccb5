"""The tools of the reference memory server, in the names and shapes of its protocol, over `adapters.reference_server`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from engram.adapters import reference_server as graph
from engram.errors import InvalidQuery
from engram.serve.mcp.tools import DATA, Tool, ToolAnswer
from engram.serve.operations import Effect, limits
from engram.serve.operations.operation import require_writes
from engram.serve.operations.schema import Schema
from engram.text.marks import fence

if TYPE_CHECKING:
    from engram.engine import Engram

_MAX_ENTRIES = 1000
_TEXT: Schema = {"type": "string"}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items, "maxItems": _MAX_ENTRIES}


_ENTITIES = _list(_object(name=_TEXT, entityType=_TEXT, observations=_list(_TEXT)))
_RELATIONS = _list(_object(**{"from": _TEXT, "to": _TEXT, "relationType": _TEXT}))
_GRAPH = _object(entities=_ENTITIES, relations=_RELATIONS)
_DONE = _object(success={"type": "boolean"}, message=_TEXT)

Run = Callable[..., Any]
"""Takes the vault and the one argument of the tool, if it has one."""


def _tool(
    name: str, description: str, takes: Schema, gives: Schema, run: Run, effect: Effect = Effect.READ, *, limited: bool = False
) -> Tool:
    """Return a tool that checks its arguments against the schema. limited: calls count against the rate limit of questions."""

    def checked(mem: Engram, arguments: Mapping[str, Any]) -> ToolAnswer:
        if effect is not Effect.READ:
            require_writes(mem.reader, name)
        _require(takes, arguments, name)
        with limits.limited(mem) if limited else nullcontext():
            return _answer(run(mem, *(arguments[argument] for argument in takes["properties"])), gives)

    title = name.replace("_", " ").capitalize()
    return Tool(name=name, title=title, description=description, input=takes, output=gives, run=checked, effect=effect)


def _answer(result: Any, gives: Schema) -> ToolAnswer:
    """Return a result in the form of the reference server: a message, a graph, or a list under its name."""
    if isinstance(result, str):
        return ToolAnswer({"success": True, "message": result}, result)
    data = result if isinstance(result, dict) else {next(iter(gives["properties"])): result}
    return ToolAnswer(data, fence(json.dumps(data, ensure_ascii=False)))


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


def _archived(number: int) -> str:
    return f"{number} memories were archived."


def _delete_relations(mem: Engram, relations: Sequence[Mapping[str, Any]]) -> str:
    return f"{graph.delete_relations(mem, relations)} relations were deleted."


def tools() -> tuple[Tool, ...]:
    """Return the tools of the profile."""
    write, destroy = Effect.WRITE, Effect.DESTRUCTIVE
    return (
        _tool(
            "create_entities",
            "Add entities to the knowledge graph, each with a type and observations; names that are known are left alone.",
            _object(entities=_ENTITIES),
            _object(entities=_ENTITIES),
            graph.create_entities,
            write,
        ),
        _tool(
            "create_relations",
            "Link entities that exist. Write relations in active voice.",
            _object(relations=_RELATIONS),
            _object(relations=_RELATIONS),
            graph.create_relations,
            write,
        ),
        _tool(
            "add_observations",
            "Add observations to entities that exist.",
            _object(observations=_list(_object(entityName=_TEXT, contents=_list(_TEXT)))),
            _object(results=_list(_object(entityName=_TEXT, addedObservations=_list(_TEXT)))),
            graph.add_observations,
            write,
        ),
        _tool(
            "delete_entities",
            "Forget entities and what was observed of them.",
            _object(entityNames=_list(_TEXT)),
            _DONE,
            lambda mem, names: _archived(graph.delete_entities(mem, names)),
            destroy,
        ),
        _tool(
            "delete_observations",
            "Forget observations of entities.",
            _object(deletions=_list(_object(entityName=_TEXT, observations=_list(_TEXT)))),
            _DONE,
            lambda mem, deletions: _archived(graph.delete_observations(mem, deletions)),
            destroy,
        ),
        _tool("delete_relations", "Unlink entities.", _object(relations=_RELATIONS), _DONE, _delete_relations, destroy),
        _tool("read_graph", f"Read the whole knowledge graph. {DATA}", _object(), _GRAPH, graph.read_graph),
        _tool(
            "search_nodes",
            f"Find entities by what is known of them, in plain words. {DATA}",
            _object(query=_TEXT),
            _GRAPH,
            graph.search_nodes,
            limited=True,
        ),
        _tool("open_nodes", f"Read entities by their names. {DATA}", _object(names=_list(_TEXT)), _GRAPH, graph.open_nodes),
    )
