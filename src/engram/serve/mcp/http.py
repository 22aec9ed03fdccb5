"""The server over streamable HTTP, for hosts on other machines and for several at once.

Every request is complete in itself and its token identifies the caller: there is no session that could be hijacked. Host and
origin checks, tokens, rate limits and the maximum request size are the HTTP API's, by the same code. An answer is one JSON
document, or, if the client asked for the progress of a long call, a stream of events that ends with it.
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

from engram.crypto.access_tokens import GrantedToken
from engram.errors import EngramError
from engram.serve.mcp.handshake import refusal_of, without_surrogates
from engram.serve.mcp.profiles import tools_of
from engram.serve.mcp.server import build
from engram.serve.network import problems
from engram.serve.network.access_tokens import Authenticator
from engram.serve.network.origins import HostPolicy, host_policy
from engram.serve.network.rate_limits import RateLimiter
from engram.serve.network.requests import read_body
from engram.serve.network.server import NetworkServer, ServeLimits, server_token, url_of
from engram.types import Reader

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from engram.engine import Engram

PATH = "/mcp"
_HOLDER = "engram.holder"
_STREAM = "text/event-stream"


class TokenAccess:
    """The shared vault, as the reader of the token that `TokenGuard` accepted."""

    def __init__(self, mem: Engram) -> None:
        self._mem = mem

    def reader(self, request: Any) -> Reader:
        reader: Reader = request.scope[_HOLDER].reader
        return reader

    def vault(self, request: Any) -> Engram:
        return self._mem.as_reader(self.reader(request))


class TokenGuard:
    """Middleware that passes on a request with an allowed host name, an allowed origin and a valid token."""

    def __init__(self, app: ASGIApp, allowed: HostPolicy, authenticator: Authenticator) -> None:
        self._app = app
        self._hosts = allowed
        self._authenticator = authenticator

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        address = (scope.get("client") or ("",))[0]
        try:
            self._hosts.check(headers.get("host"), headers.get("origin"))
            token = await anyio.to_thread.run_sync(self._authenticator.authenticate, headers.get("authorization"), address)
        except EngramError as error:
            await problems.response(error)(scope, receive, send)
            return
        await self._app({**scope, _HOLDER: token}, receive, send)


class McpEndpoint:
    """Answers MCP requests with a JSON document or a stream, and cancels a call when its client disconnects."""

    def __init__(self, mem: Engram, profile: str) -> None:
        self._mem = mem
        self._reporting = frozenset(tool.name for tool in tools_of(profile) if tool.reports_progress)
        make_manager = partial(
            StreamableHTTPSessionManager,
            build(TokenAccess(mem), profile),
            stateless=True,
            # `TokenGuard` checks host and origin, `read_body` the size.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=sys.maxsize,
        )
        self._document, self._stream = make_manager(json_response=True), make_manager(json_response=False)

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for manager in (self._document, self._stream):
                await stack.enter_async_context(manager.run())
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings = self._mem.settings.now
        try:
            body = await read_body(Request(scope, receive), settings.serve_body_kib * 1024, settings.serve_timeout_s)
        except ClientDisconnect:
            return
        except EngramError as error:
            await problems.response(error)(scope, receive, send)
            return
        text = body.decode(errors="replace")
        if (refusal := refusal_of(text)) is not None:
            await Response(refusal, 400, media_type="application/json")(scope, receive, send)
            return
        body = without_surrogates(text).encode()
        streams = _STREAM in Headers(scope=scope).get("accept", "").lower() and wants_progress(body, self._reporting)
        manager = self._stream if streams else self._document
        await _until_disconnect(manager.handle_request, body, scope, receive, send)


async def _until_disconnect(app: ASGIApp, body: bytes, scope: Scope, receive: Receive, send: Send) -> None:
    """Run `app` with a body that was already read; cancel it when the client disconnects."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    async with anyio.create_task_group() as tasks:

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

        tasks.start_soon(watch)
        await app(scope, receive_again, send)
        tasks.cancel_scope.cancel()


def wants_progress(body: bytes, reporting: frozenset[str]) -> bool:
    """Return whether the request calls one of the tools that report progress, with a progress token.

    Every other call is answered within a moment, and a stream would only make it dearer.
    """
    if b"progressToken" not in body:
        return False
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    match message:
        case {"method": "tools/call", "params": {"name": str(name), "_meta": {"progressToken": str() | int()}}}:
            return name in reporting
    return False


def make_app(mem: Engram, profile: str, host: str) -> tuple[ASGIApp, GrantedToken | None]:
    """Return the application for this address, and the token that was made for it if the vault has none."""
    settings, own = mem.settings.now, server_token(mem, host)
    endpoint, allowed = McpEndpoint(mem, profile), host_policy(host, settings.serve_names, settings.serve_origins)
    # POST only: this server sends nothing unasked, so a client that listens with GET would hold a connection for nothing.
    inner = Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], lifespan=endpoint.lifespan)
    app: ASGIApp = TokenGuard(inner, allowed, Authenticator(mem, RateLimiter(mem.env.monotonic), own))
    if allowed.origins:  # a browser's preflight request carries no token, so CORS stands outside the guard
        app = CORSMiddleware(app, allow_origins=sorted(allowed.origins), allow_methods=["POST"], allow_headers=["*"])
    return app, own


def serve(
    mem: Engram, profile: str, host: str, listening: socket.socket, begun: Callable[[str, GrantedToken | None], None]
) -> None:
    """Serve until a signal arrives. `begun` is called with the address once it is bound, and with the token that was made."""
    app, own = make_app(mem, profile, host)
    begun(url_of(listening) + PATH, own)
    drain_s = mem.settings.tuned(ServeLimits).serve_drain_s
    NetworkServer(app, drain_s, mem.settings.now.serve_timeout_s).run(sockets=[listening])
