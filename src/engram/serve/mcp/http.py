"""The server over streamable HTTP, for hosts on other machines and for several at once.

Every request stands alone and carries a token, and the token says who asks: there is no session that could be taken over. Names
and pages that may call, tokens, their rates and the size of a request are the HTTP API's, by the same code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio.to_thread
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers

from engram.errors import EngramError
from engram.guard.tokens import Granted
from engram.serve.http import problems
from engram.serve.http.doors import Doors, Entry, Rates, doors
from engram.serve.http.listening import address_of, granted
from engram.serve.mcp.server import build
from engram.types import Reader

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

    from engram.engine import Engram

PATH = "/mcp"
_HOLDER = "engram.holder"


class Gate:
    """Whoever `Guarded` let in, as their token says."""

    def __init__(self, mem: Engram) -> None:
        self._mem = mem

    def reader(self, request: Any) -> Reader:
        reader: Reader = request.scope[_HOLDER].reader
        return reader

    def enter(self, request: Any) -> Engram:
        return self._mem.as_reader(self.reader(request))


class Guarded:
    """Lets a request pass if it names this server, comes from no strange page, and has a token that holds."""

    def __init__(self, app: ASGIApp, allowed: Doors, entry: Entry) -> None:
        self._app = app
        self._doors = allowed
        self._entry = entry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        address = (scope.get("client") or ("",))[0]
        try:
            self._doors.check(headers.get("host"), headers.get("origin"))
            token = await anyio.to_thread.run_sync(self._entry.holder, headers.get("authorization"), address)
        except EngramError as error:
            await problems.response(error)(scope, receive, send)
            return
        await self._app({**scope, _HOLDER: token}, receive, send)


def make_app(mem: Engram, profile: str, host: str) -> tuple[ASGIApp, Granted | None]:
    """The application for this address, and the token that it made for itself where there is none."""
    settings, own = mem.settings.now, granted(mem, host)
    inner = build(Gate(mem), profile).streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        json_response=True,
        max_request_body_size=settings.serve_body_kib * 1024,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # `Guarded` looks at every request
    )
    entry = Entry(mem, Rates(mem.env.monotonic), own)
    return Guarded(inner, doors(host, settings.serve_names, settings.serve_origins), entry), own


def server_of(app: ASGIApp, drain_s: float) -> uvicorn.Server:
    return uvicorn.Server(
        uvicorn.Config(
            app,
            lifespan="on",
            log_level="warning",
            access_log=False,  # an address may hold somebody's words
            server_header=False,
            proxy_headers=False,  # as in the HTTP API
            timeout_graceful_shutdown=max(round(drain_s), 1),
        )
    )


def serve(mem: Engram, profile: str, host: str, listening: socket.socket, begun: Callable[[str, Granted | None], None]) -> None:
    """Serve until a signal ends it. `begun` is told the address once it is taken."""
    app, own = make_app(mem, profile, host)
    begun(address_of(listening) + PATH, own)
    server_of(app, mem.settings.now.serve_drain_s).run(sockets=[listening])
