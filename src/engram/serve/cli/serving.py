"""`engram serve` and `engram ui`: serve a vault over HTTP to programs and to a browser."""

from __future__ import annotations

import html
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import ConfigInvalid
from engram.serve.cli import show
from engram.serve.cli.caller import All, Json, caller_of, vault_exists

if TYPE_CHECKING:
    from engram.guard.tokens import GrantedToken


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
    from engram.serve.http import listening, running  # late: starlette and uvicorn are an extra and take a quarter of a second

    def begun(address: str, own: GrantedToken | None) -> None:
        if caller.json:
            show.data({"address": address, "token": None if own is None else own.secret})
            return
        show.line(f"Serving {caller.path} at {address} (docs: {address}/docs). Interrupt to end.", flush=True)
        if own is not None:
            show.line(f"The vault has no token yet. This temporary one is valid until the server ends:\n{own.secret}", flush=True)

    settings = caller.live().now
    where = settings.serve_host if host is None else host
    if not vault_exists(caller.path):  # checked first, so that a refused address leaves no new vault behind
        listening.require_local(where)
    with closing(listening.bound(where, settings.serve_port if port is None else port)) as place, caller.open(make=True) as vault:
        running.serve(vault, where, place, begun)


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
    from engram.serve.http import listening, running  # late: as in `serve`

    folder = tempfile.TemporaryDirectory()
    with (
        folder,
        closing(listening.bound("127.0.0.1", port)) as place,
        caller.open(everything=everything or not caller.identity, make=True) as vault,
    ):

        def begun(link: str) -> None:
            if not no_open:
                threading.Thread(target=_open, args=(link, Path(folder.name)), daemon=True).start()
            if caller.json:
                show.data({"address": link})
            else:
                show.line(
                    f"The Memory Palace of {caller.path}. Interrupt to end. This address signs in once:\n{link}", flush=True
                )

        running.show(vault, "127.0.0.1", place, begun, folder.cleanup)


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
