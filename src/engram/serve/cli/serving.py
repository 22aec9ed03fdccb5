"""The command that serves a vault over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from engram.errors import ConfigInvalid
from engram.serve.cli import caller, show
from engram.serve.cli.caller import Json

if TYPE_CHECKING:
    from engram.guard.tokens import Granted


def add_to(app: typer.Typer) -> None:
    app.command("serve", rich_help_panel="Vault")(serve)


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
    from engram.serve.http import listening, running  # fastapi and uvicorn: half a second, and an extra

    def begun(address: str, own: Granted | None) -> None:
        if asked.json:
            show.data({"address": address, "token": None if own is None else own.secret})
            return
        show.line(f"Serving {asked.path} at {address} (docs: {address}/docs). Interrupt to end.", flush=True)
        if own is not None:
            show.line(f"There is no token in the vault yet. Until this server ends, this one holds:\n{own.secret}", flush=True)

    if not caller.exists(asked.path):  # what is refused makes nothing
        listening.require_local(host or asked.live().now.serve_host)
    with asked.open(make=True) as vault:
        settings = vault.settings.now
        running.serve(vault, host or settings.serve_host, settings.serve_port if port is None else port, begun)


def require_extra() -> None:
    """Say how to get what serving needs, if it is not there."""
    try:
        import fastapi
        import prometheus_client
        import uvicorn
    except ModuleNotFoundError as missing:
        raise ConfigInvalid(
            f"serving needs the extra `server` ({missing.name} is not installed).",
            way_out='Run `pip install "engram-local[server]"`.',
        ) from None
    del fastapi, prometheus_client, uvicorn
