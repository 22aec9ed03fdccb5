"""`engram mcp` runs the MCP server; `engram mcp install` writes it into the settings of a host that starts it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram import settings as settings_room
from engram.errors import ConfigInvalid
from engram.serve.cli import show
from engram.serve.cli.caller import BadCall, Caller, Json, Yes, caller_of, complete_from, vault_exists
from engram.serve.cli.edits import apply, print_entry
from engram.serve.mcp import clients, greeting
from engram.serve.mcp.clients import CLIENTS
from engram.serve.mcp.greeting import PROFILES
from engram.serve.mcp.start import start

if TYPE_CHECKING:
    from engram.guard.tokens import GrantedToken

app = typer.Typer(no_args_is_help=False, invoke_without_command=True)

Profile = Annotated[
    str, typer.Option(metavar="|".join(PROFILES), autocompletion=complete_from(PROFILES), help="Which tools it offers.")
]


@app.callback()
def mcp(
    ctx: typer.Context,
    profile: Profile = "core",
    over_http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP instead of standard input.")] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="With --http: the port; 0 takes a free one.")] = 8421,
) -> None:
    """Serve this vault to a model over MCP. Hosts start it themselves: see `engram mcp install`."""
    if ctx.invoked_subcommand is not None:
        return
    _require_profile(profile)
    caller = caller_of(ctx)
    _require_sdk()
    if over_http:
        _serve_http(caller, profile, host, port)
    else:
        _serve_stdio(caller, profile)


def _require_profile(profile: str) -> None:
    if profile not in PROFILES:
        raise BadCall(f"There is no such profile; there are {', '.join(PROFILES)}.")


def _require_sdk() -> None:
    if way := greeting.way_to_sdk():
        raise ConfigInvalid("the MCP server needs the MCP SDK 2.", way_out=way)


def _serve_stdio(caller: Caller, profile: str) -> None:
    if os.isatty(0):
        show.remark("This server speaks MCP on standard input. A host starts it: see `engram mcp install --client NAME`.")
    if start(profile, caller.path, caller.identity):
        raise typer.Exit(1)


def _serve_http(caller: Caller, profile: str, host: str, port: int) -> None:
    from engram.serve.http.listening import bound, require_local
    from engram.serve.mcp.http import serve  # late: the SDK takes a second to load

    def begun(address: str, own: GrantedToken | None) -> None:
        caller.remark(f"MCP at {address}. Every request needs a token (`engram token create NAME`).")
        if own is not None:
            caller.remark("The vault has none yet. This temporary token reads and writes as an agent until the server ends:")
            show.line(own.secret, flush=True)

    if not vault_exists(caller.path):  # checked first, so that a refused address leaves no new vault behind
        require_local(host)
    with closing(bound(host, port)) as listening, caller.open(make=True) as vault:
        serve(vault, profile, host, listening, begun)


@app.command("install")
def install(
    ctx: typer.Context,
    client: Annotated[
        str,
        typer.Option(
            metavar="|".join(CLIENTS), autocompletion=complete_from(CLIENTS), help="The host to tell.", show_default=False
        ),
    ],
    project: Annotated[bool, typer.Option("--project", help="For the project in this folder only.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Take it out again.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Only show what would stand there.")] = False,
    profile: Profile = "core",
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Write this server into the settings of a host: shows the difference, asks, keeps a backup.

    Who it reads and writes as, and which vault, are the options before the command (`engram --agent rex mcp install …`).
    """
    if client not in CLIENTS:
        raise BadCall(f"There is no such client; there are {', '.join(CLIENTS)}.")
    caller, host = caller_of(ctx, as_json), CLIENTS[client]
    _require_profile(profile)
    wanted = clients.entry(host, () if profile == "core" else ("--profile", profile), _environment(caller))
    if only_print:
        print_entry(caller, host.file(), clients.shown(host, wanted))
        return
    here = Path.cwd() if project else None
    edit = clients.uninstalled(host, here) if uninstall else clients.installed(host, here, wanted)
    done = f"{host.title} {'no longer starts' if uninstall else 'will start'} Engram ({edit.path}). {host.after}"
    written = apply(caller, edit, unchanged=f"{'does not have' if uninstall else 'already has'} it", done=done, yes=yes)
    if written and not uninstall and (way := greeting.way_to_sdk()):
        caller.remark(f"warning: the server cannot start yet. {way}")


def _environment(caller: Caller) -> dict[str, str]:
    """Return the environment variables that give the server the caller's vault and identity."""
    named = {f"ENGRAM_{name.upper()}": str(value) for name, value in caller.identity.items()}
    return named if caller.path == settings_room.home({}) else {"ENGRAM_HOME": str(caller.path), **named}
