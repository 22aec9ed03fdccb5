"""The interface is complete: every verb, command and tool that the design promises exists on every face."""

from __future__ import annotations

import typer
from typer.main import get_command

import engram
from engram.aio import AsyncEngram
from engram.serve.cli.app import app
from engram.serve.http.routes import routes
from engram.serve.mcp import tools
from engram.serve.operations import OPERATIONS

VERBS = """
    remember observe ingest dropped keep  recall context reason  get list update forget restore pin relate feedback
    learn unlearn beliefs path traverse  episode episodes  skills  entity entities timeline  working
    consolidate dream gaps knows  export import_ purge backup  explain audit health doctor  as_reader close
"""
COMMANDS = """
    init remember observe dropped keep recall context list show update forget restore pin relate feedback entity timeline
    skills consolidate dream gaps import export purge backup restore-backup key token model serve mcp hook ui status doctor
    audit config bench demo
"""
CORE = """
    memory_store memory_search memory_context memory_update memory_delete memory_list
    memory_feedback memory_relate memory_reason memory_observe
"""
UNDER_ANOTHER_NAME = {"health": "status"}
COMMAND_LINE_ONLY = {"export", "import_"}  # network callers must not reach files of this machine
LIBRARY_ONLY = {"as_reader", "close"}


def test_every_verb_exists_in_the_sync_and_async_library() -> None:
    for verb in VERBS.split():
        assert hasattr(engram.Engram, verb), verb
        assert hasattr(AsyncEngram, verb), verb


def test_every_verb_is_an_operation_on_every_face() -> None:
    of_tools = {tool.operation for tool in tools.full()}
    of_routes = {route.operation.name for route in routes()}
    of_commands = commands()
    for verb in set(VERBS.split()) - COMMAND_LINE_ONLY - LIBRARY_ONLY:
        name = UNDER_ANOTHER_NAME.get(verb, verb)
        assert name in OPERATIONS, verb
        assert name in of_tools, verb
        assert name in of_routes, verb
        assert name.replace("_", "-") in of_commands, verb


def test_every_promised_command_and_core_tool_exists() -> None:
    assert set(COMMANDS.split()) <= commands()
    assert {tool.name for tool in tools.core()} == set(CORE.split())


def commands() -> set[str]:
    """The names of all commands, those of entry points included."""
    command = get_command(app)
    return set(command.list_commands(typer.Context(command)))  # type: ignore[attr-defined]
