"""`engram serve`, `engram ui` and `engram mcp`: serve a vault to programs, to a browser and to models. `engram mcp install`
writes the MCP server into the settings of a host that starts it."""

from __future__ import annotations

import html
import os
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram import settings as settings_room
from engram.errors import ConfigInvalid
from engram.hosts import clients
from engram.hosts.clients import CLIENTS
from engram.serve.cli import terminal
from engram.serve.cli.caller import All, BadCall, Caller, Json, Yes, caller_of, complete_from, vault_exists
from engram.serve.cli.hosts import apply, print_entry
from engram.serve.mcp import handshake
from engram.serve.mcp.handshake import PROFILES, start

if TYPE_CHECKING:
    from engram.crypto.access_tokens import GrantedToken
if TYPE_CHECKING:
    from engram.crypto.access_tokens import GrantedToken


def add_to(app: typer.Typer) -> None:
    app.command("serve", rich_help_panel="Vault")(serve)
    app.command("ui", rich_help_panel="Vault")(ui)


def serve(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Option(show_default=False, help="Address to listen at; else `serve_host`.")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, show_default=False, help="Port; else `serve_port`. 0 takes any free one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Serve the vault over HTTP until interrupted: /docs says how to call. Callers show a token, which says who they are."""
    caller = caller_of(ctx, as_json)
    require_extra()
    from engram.serve import web  # late: starlette and uvicorn are an extra and take a quarter of a second
    from engram.serve.network import server

    def started(address: str, own: GrantedToken | None) -> None:
        if caller.json:
            terminal.data({"address": address, "token": None if own is None else own.secret})
            return
        terminal.line(f"Serving {caller.path} at {address} (docs: {address}/docs). Interrupt to end.", flush=True)
        if own is not None:
            terminal.line(
                f"The vault has no token yet. This temporary one is valid until the server ends:\n{own.secret}", flush=True
            )

    settings = caller.live().now
    where = settings.serve_host if host is None else host
    if not vault_exists(caller.path):  # checked first, so that a refused address leaves no new vault behind
        server.require_local(where)
    with closing(server.bind(where, settings.serve_port if port is None else port)) as place, caller.open(make=True) as vault:
        web.serve(vault, where, place, started)


def ui(
    ctx: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of this machine; 0 takes any free one.")] = 0,
    no_open: Annotated[bool, typer.Option("--no-open", help="Only print the address; open no browser.")] = False,
    everything: All = False,
    as_json: Json = False,
) -> None:
    """Open the Memory Palace, the web page of the vault, in a browser, until interrupted.

    It shows all of the vault, or what an identity given as an option can see. A vault that is missing is made.
    """
    caller = caller_of(ctx, as_json)
    require_extra()
    from engram.serve import web  # late: as in `serve`
    from engram.serve.network import server

    folder = tempfile.TemporaryDirectory()
    with (
        folder,
        closing(server.bind("127.0.0.1", port)) as place,
        caller.open(everything=everything or not caller.identity, make=True) as vault,
    ):

        def started(link: str) -> None:
            if not no_open:
                threading.Thread(target=_open, args=(link, Path(folder.name)), daemon=True).start()
            if caller.json:
                terminal.data({"address": link})
            else:
                terminal.line(
                    f"The Memory Palace of {caller.path}. Interrupt to end. This address signs in once:\n{link}", flush=True
                )

        web.show(vault, "127.0.0.1", place, started, folder.cleanup)


def _open(link: str, folder: Path) -> None:
    """Open the link in a browser by way of a private file: other users of the machine can see a process's arguments."""
    import webbrowser  # late: start-up time

    page = folder / "palace.html"
    page.touch(mode=0o600)
    page.write_text(f'<!doctype html><title>Engram</title><meta http-equiv="refresh" content="0;url={html.escape(link)}">')
    webbrowser.open(page.as_uri())


def require_extra() -> None:
    """Raise `ConfigInvalid` if the packages of the extra `server` are missing."""
    try:
        import jinja2
        import prometheus_client
        import starlette
        import uvicorn
    except ModuleNotFoundError as missing:
        raise ConfigInvalid(
            f"serving needs the extra `server` ({missing.name} is not installed).",
            way_out='Run `pip install "engram-local[server]"`.',
        ) from None
    del jinja2, prometheus_client, starlette, uvicorn


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
    if way := handshake.way_to_sdk():
        raise ConfigInvalid("the MCP server needs the MCP SDK 2.", way_out=way)


def _serve_stdio(caller: Caller, profile: str) -> None:
    if os.isatty(0):
        terminal.remark("This server speaks MCP on standard input. A host starts it: see `engram mcp install --client NAME`.")
    if start(profile, caller.path, caller.identity):
        raise typer.Exit(1)


def _serve_http(caller: Caller, profile: str, host: str, port: int) -> None:
    from engram.serve.mcp.http import serve  # late: the SDK takes a second to load
    from engram.serve.network.server import bind, require_local

    def started(address: str, own: GrantedToken | None) -> None:
        caller.remark(f"MCP at {address}. Every request needs a token (`engram token create NAME`).")
        if own is not None:
            caller.remark("The vault has none yet. This temporary token reads and writes as an agent until the server ends:")
            terminal.line(own.secret, flush=True)

    if not vault_exists(caller.path):  # checked first, so that a refused address leaves no new vault behind
        require_local(host)
    with closing(bind(host, port)) as listening, caller.open(make=True) as vault:
        serve(vault, profile, host, listening, started)


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
    if written and not uninstall and (way := handshake.way_to_sdk()):
        caller.remark(f"warning: the server cannot start yet. {way}")


def _environment(caller: Caller) -> dict[str, str]:
    """Return the environment variables that give the server the caller's vault and identity."""
    named = {f"ENGRAM_{name.upper()}": str(value) for name, value in caller.identity.items()}
    return named if caller.path == settings_room.home({}) else {"ENGRAM_HOME": str(caller.path), **named}
