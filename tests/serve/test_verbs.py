"""The interface is whole: what the design promises at the door is there, on every face."""

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
    remember observe ingest  recall context reason  get list update forget restore pin relate feedback
    learn beliefs traverse  episode episodes  skills  entity entities timeline  working
    consolidate dream gaps knows  export import_ purge backup  explain audit health doctor  as_reader close
"""
COMMANDS = """
    init remember observe recall context list show update forget restore pin relate feedback entity timeline
    skills consolidate dream gaps import export purge backup restore-backup key token model serve mcp hook ui status doctor
    audit config bench demo
"""
CORE = """
    memory_store memory_search memory_context memory_update memory_delete memory_list
    memory_feedback memory_relate memory_reason memory_observe
"""
UNDER_ANOTHER_NAME = {"health": "status"}
AT_THE_CONSOLE = {"export", "import_"}  # files of this machine are nobody's business on a wire
OF_A_PROGRAM = {"as_reader", "close"}


def test_every_verb_exists_in_the_sync_and_async_library() -> None:
    for verb in VERBS.split():
        assert hasattr(engram.Engram, verb), verb
        assert hasattr(AsyncEngram, verb), verb


def test_every_verb_is_an_operation_on_every_face() -> None:
    shown = {tool.operation for tool in tools.full()}
    found = {route.operation.name for route in routes()}
    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    for verb in set(VERBS.split()) - AT_THE_CONSOLE - OF_A_PROGRAM:
        name = UNDER_ANOTHER_NAME.get(verb, verb)
        assert name in OPERATIONS, verb
        assert name in shown, verb
        assert name in found, verb
        assert name.replace("_", "-") in commands, verb


def test_every_promised_command_and_core_tool_exists() -> None:
    root = get_command(app)
    assert set(COMMANDS.split()) <= set(root.list_commands(typer.Context(root)))  # type: ignore[attr-defined]
    assert {tool.name for tool in tools.core()} == set(CORE.split())
