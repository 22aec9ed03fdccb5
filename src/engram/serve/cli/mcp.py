"""`engram mcp`: the MCP server, and its place in the settings of the hosts that start it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import ConfigInvalid
from engram.serve.cli import caller, show
from engram.serve.cli.caller import BadCall, Caller
from engram.serve.mcp import greeting

if TYPE_CHECKING:
    from engram.engine import Engram

app = typer.Typer(no_args_is_help=False, invoke_without_command=True)
_PROFILES = ("core", "full", "memory-server", "chatgpt")

Profile = Annotated[str, typer.Option(metavar="|".join(_PROFILES), help="Which tools it offers.")]


@app.callback()
def mcp(
    ctx: typer.Context,
    profile: Profile = "core",
    over_http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of standard input.")] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --http: the port; 0 takes a free one.")] = 8321,
) -> None:
    """Serve this vault to a model over MCP. Hosts start it themselves: see `engram mcp install`."""
    if ctx.invoked_subcommand is not None:
        return
    if profile not in _PROFILES:
        raise BadCall(f"There is no such profile; there are {', '.join(_PROFILES)}.")
    asked = caller.of(ctx)
    _require_sdk()
    _serve_stdio(asked, profile)


def _require_sdk() -> None:
    if not greeting.installed():
        raise ConfigInvalid("the MCP server needs the MCP SDK 2.", way_out='Run `pip install "engram-local[mcp]"`.')


def _serve_stdio(asked: Caller, profile: str) -> None:
    if os.isatty(0):
        show.remark("This speaks MCP on standard input, to a host that starts it: `engram mcp install --client NAME` tells one.")
    wire = greeting.begin()
    from engram.serve.mcp.stdio import House, serve  # the SDK takes a second to load

    serve(wire, House(lambda: opened(asked)), profile)


def opened(asked: Caller) -> Engram:
    """The vault, made if it is missing, for the agent that the settings name. Nobody can be asked for a passphrase here."""
    from engram.engine import Engram  # help loads no engine

    vault = Engram.open(asked.path, settings=asked.identity, env=asked.env)
    if vault.notice:
        asked.remark(f"A new vault was made at {asked.path}.\n{vault.notice}")
    return vault
