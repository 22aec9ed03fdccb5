"""The server over streamable HTTP, for hosts on other machines and for several at once.

Every request stands alone and carries a token, and the token says who asks: there is no session that could be taken over. Names
and pages that may call, tokens, their rates and the size of a request are the HTTP API's, by the same code. An answer is one JSON
document, or, where a client asks to be told how far a long call is, a stream that ends with it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from engram.errors import EngramError
from engram.guard.tokens import GrantedToken
from engram.serve.http import problems
from engram.serve.http.body import body_of
from engram.serve.http.doors import Doors, Entry, Rates, doors
from engram.serve.http.listening import address_of, granted
from engram.serve.http.server import Server
from engram.serve.mcp.greeting import mended, refused
from engram.serve.mcp.profiles import tools_of
from engram.serve.mcp.server import build
from engram.types import Reader

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from engram.engine import Engram

PATH = "/mcp"
_HOLDER = "engram.holder"
_STREAM = "text/event-stream"


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


class Answering:
    """Answers each request as its client wants it, and ends what it began when the client leaves."""

    def __init__(self, mem: Engram, profile: str) -> None:
        self._mem = mem
        self._tells = frozenset(tool.name for tool in tools_of(profile) if tool.tells)
        made = partial(
            StreamableHTTPSessionManager,
            build(Gate(mem), profile),
            stateless=True,
            security_settings=TransportSecuritySettings(
                enable_dns_rebinding_protection=False
            ),  # `Guarded` looks at every request
            max_request_body_size=sys.maxsize,  # `body_of` has looked at that
        )
        self._document, self._stream = made(json_response=True), made(json_response=False)

    @asynccontextmanager
    async def life(self, app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for one in (self._document, self._stream):
                await stack.enter_async_context(one.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings = self._mem.settings.now
        try:
            body = await body_of(Request(scope, receive), settings.serve_body_kib * 1024, settings.serve_timeout_s)
        except ClientDisconnect:
            return
        except EngramError as error:
            await problems.response(error)(scope, receive, send)
            return
        text = body.decode(errors="replace")
        if (refusal := refused(text)) is not None:
            await Response(refusal, 400, media_type="application/json")(scope, receive, send)
            return
        body = mended(text).encode()
        streams = _STREAM in Headers(scope=scope).get("accept", "").lower() and wants_telling(body, self._tells)
        manager = self._stream if streams else self._document
        await _while_there(manager.handle_request, body, scope, receive, send)


async def _while_there(app: ASGIApp, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
    """For as long as the client is: by leaving it calls off what it asked for."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        await app(scope, again, send)
        tasks.cancel_scope.cancel()


def wants_telling(body: bytes, tells: frozenset[str]) -> bool:
    """Does it call a tool that tells how far it is, with a token to be told by?

    All others are answered at once or in a moment; a stream would only cost them more.
    """
    if b"progressToken" not in body:
        return False
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return False
    match asked:
        case {"method": "tools/call", "params": {"name": str(name), "_meta": {"progressToken": str() | int()}}}:
            return name in tells
    return False


def make_app(mem: Engram, profile: str, host: str) -> tuple[ASGIApp, GrantedToken | None]:
    """The application for this address, and the token that it made for itself where there is none."""
    settings, own = mem.settings.now, granted(mem, host)
    answering, allowed = Answering(mem, profile), doors(host, settings.serve_names, settings.serve_origins)
    # Only POST: a client that listens for what a server has to say unasked would hold a connection for nothing.
    inner = Starlette(routes=[Route(PATH, answering, methods=["POST"])], lifespan=answering.life)
    app: ASGIApp = Guarded(inner, allowed, Entry(mem, Rates(mem.env.monotonic), own))
    if allowed.origins:  # a browser asks for leave first, without a token
        app = CORSMiddleware(app, allow_origins=sorted(allowed.origins), allow_methods=["POST"], allow_headers=["*"])
    return app, own


def serve(
    mem: Engram, profile: str, host: str, listening: socket.socket, begun: Callable[[str, GrantedToken | None], None]
) -> None:
    """Serve until a signal ends it. `begun` is told the address once it is taken."""
    app, own = make_app(mem, profile, host)
    begun(address_of(listening) + PATH, own)
    settings = mem.settings.now
    Server(app, settings.serve_drain_s, settings.serve_timeout_s).run(sockets=[listening])
