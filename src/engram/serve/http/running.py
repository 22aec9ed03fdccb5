"""A server that runs: bound to an address, told to end by a signal, and gone in order."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from datetime import timedelta
from types import FrameType

import uvicorn
from fastapi import FastAPI

from engram.engine import Engram
from engram.errors import ConfigInvalid
from engram.guard.tokens import Granted, Token, new_secret
from engram.serve.http.app import make_app
from engram.serve.http.doors import doors, is_local
from engram.types import Policy, Role

_BACKLOG = 512
_AN_AGENTS = (Policy.OWN, Policy.AGENT, Policy.AGENT_GLOBAL)


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
                timeout_graceful_shutdown=max(round(drain_s), 1),
                backlog=_BACKLOG,
            )
        )
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.served.watch.ending = True
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        """From another thread."""
        self.handle_exit(signal.SIGTERM, None)


def prepare(mem: Engram, host: str) -> tuple[FastAPI, Granted | None]:
    """The application for this address, and the token that it made for itself where there is none."""
    settings, tokens = mem.settings.now, mem.tokens()
    known = any(token.holds(mem.env.now()) for token in tokens)
    if not known and not is_local(host):
        raise ConfigInvalid(
            f"{host} can be reached from other machines, and there is no token yet.",
            way_out="Make one with `engram token create NAME`, or serve at 127.0.0.1.",
        )
    own = None if known else _own(mem)
    return make_app(mem, doors(host, settings.serve_names, settings.serve_origins), own), own


def _own(mem: Engram) -> Granted:
    """A token for who started the server, as an agent that reads and writes; it is in memory only."""
    now, asked = mem.env.now(), mem.reader.policy
    token = Token(
        id=mem.env.new_id(),
        name="this server's own",
        scope=mem.reader.scope,
        policy=asked if asked in _AN_AGENTS else Policy.AGENT_GLOBAL,
        role=Role.AGENT,
        writes=True,
        created_at=now,
        expires_at=now + timedelta(days=36500),
    )
    return Granted(token, new_secret(mem.env.random))


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise ConfigInvalid(
            f"{host} port {port} cannot be listened at ({error.strerror}).", way_out="Name another with --host and --port."
        ) from None
    return listening


def serve(mem: Engram, host: str, port: int, begun: Callable[[str, Granted | None], None]) -> None:
    """Serve until a signal ends it. `begun` is told the address once requests are accepted."""
    app, own = prepare(mem, host)
    listening = bound(host, port)
    server = Server(app, mem.settings.now.serve_drain_s)
    begun(address_of(listening), own)
    server.run(sockets=[listening])


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
