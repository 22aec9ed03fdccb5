"""The commands that serve a vault over HTTP: to programs, and to a browser."""

from __future__ import annotations

import html
import tempfile
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import ConfigInvalid
from engram.serve.cli import caller, show
from engram.serve.cli.caller import All, Json

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
    asked = caller.of(ctx, as_json)
    require_extra()
    from engram.serve.http import listening, running  # starlette and uvicorn: an extra, and a quarter of a second

    def begun(address: str, own: GrantedToken | None) -> None:
        if asked.json:
            show.data({"address": address, "token": None if own is None else own.secret})
            return
        show.line(f"Serving {asked.path} at {address} (docs: {address}/docs). Interrupt to end.", flush=True)
        if own is not None:
            show.line(f"There is no token in the vault yet. Until this server ends, this one holds:\n{own.secret}", flush=True)

    settings = asked.live().now
    where = settings.serve_host if host is None else host
    if not caller.exists(asked.path):  # what is refused makes nothing
        listening.require_local(where)
    with closing(listening.bound(where, settings.serve_port if port is None else port)) as place, asked.open(make=True) as vault:
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
    asked = caller.of(ctx, as_json)
    require_extra()
    from engram.serve.http import listening, running  # as above

    folder = tempfile.TemporaryDirectory()
    with (
        folder,
        closing(listening.bound("127.0.0.1", port)) as place,
        asked.open(everything=everything or not asked.identity, make=True) as vault,
    ):

        def begun(link: str) -> None:
            if not no_open:
                threading.Thread(target=_open, args=(link, Path(folder.name)), daemon=True).start()
            if asked.json:
                show.data({"address": link})
            else:
                show.line(
                    f"The Memory Palace of {asked.path}. Interrupt to end. This address signs in, once:\n{link}", flush=True
                )

        running.show(vault, "127.0.0.1", place, begun, folder.cleanup)


def _open(link: str, folder: Path) -> None:
    """By a file that only its owner reads: other users of the machine see the arguments of a browser that is started."""
    import webbrowser  # here for start-up time

    page = folder / "palace.html"
    page.touch(mode=0o600)
    page.write_text(f'<!doctype html><title>Engram</title><meta http-equiv="refresh" content="0;url={html.escape(link)}">')
    webbrowser.open(page.as_uri())


def require_extra() -> None:
    """Say how to get what serving needs, if it is not there."""
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
