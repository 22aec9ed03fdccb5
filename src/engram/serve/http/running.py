"""A server that runs: bound to an address, told to end by a signal, and gone in order."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from engram.engine import Engram
from engram.guard.tokens import Granted
from engram.serve.http.app import make_app
from engram.serve.http.doors import doors
from engram.serve.http.listening import address_of, granted
from engram.serve.http.listening import bound as bound

_BACKLOG = 512


class Server(uvicorn.Server):
    """Streams have no end of their own, so they are told when the server is asked to end."""

    def __init__(self, app: FastAPI, drain_s: float) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                lifespan="on",
                log_level="warning",
                access_log=False,  # an address may hold somebody's words
                server_header=False,
                proxy_headers=False,  # who calls is who is connected: rates go by it, and a header can say anything
                timeout_graceful_shutdown=max(round(drain_s), 1),
                backlog=_BACKLOG,
            )
        )
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.served.watch.ending = True
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._app.state.served.watch.end()
        await super().shutdown(sockets)

    def stop(self) -> None:
        """From another thread."""
        self.handle_exit(signal.SIGTERM, None)


def prepare(mem: Engram, host: str) -> tuple[FastAPI, Granted | None]:
    """The application for this address, and the token that it made for itself where there is none."""
    settings, own = mem.settings.now, granted(mem, host)
    return make_app(mem, doors(host, settings.serve_names, settings.serve_origins), own), own


def serve(mem: Engram, host: str, port: int, begun: Callable[[str, Granted | None], None]) -> None:
    """Serve until a signal ends it. `begun` is told the address once requests are accepted."""
    app, own = prepare(mem, host)
    listening = bound(host, port)
    server = Server(app, mem.settings.now.serve_drain_s)
    begun(address_of(listening), own)
    server.run(sockets=[listening])
