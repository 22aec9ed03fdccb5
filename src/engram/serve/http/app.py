"""The application: one route for each operation, and the routes about the server itself (docs, health, metrics, events)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from urllib.parse import quote, urlencode

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engram.aio import Threads
from engram.crypto.access_tokens import GrantedToken
from engram.engine import Engram
from engram.errors import Conflict, EngramError, InvalidQuery
from engram.log import Log
from engram.serve.http import entity_tags, event_stream
from engram.serve.http.metrics import Metrics
from engram.serve.http.openapi import MIN_TIMEOUT_S, docs_page, openapi_document
from engram.serve.http.routes import Route, arguments, routes
from engram.serve.network import problems
from engram.serve.network.access_tokens import Authenticator
from engram.serve.network.origins import HostPolicy
from engram.serve.network.problems import RequestRefused
from engram.serve.network.rate_limits import RateLimiter
from engram.serve.network.requests import ServerState, answer_in_thread, client_address, read_body
from engram.serve.operations import OPERATIONS, limits, read, wire
from engram.types import Memory, Policy, Reader, Role
from engram.values.frozen import frozen

log = Log("engram.http")

_KEY_CHARACTERS = 255
_CLIENT_GONE = 499  # nginx's status for a client that left before the answer
_LONG_BODY = 65536
_SAFE_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_SAFE_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _SAFE_HEADERS.items()]
_DOCS_HEADERS = {**_SAFE_HEADERS, "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_STATUS = OPERATIONS["status"]  # metrics need its role and show what the caller may see
_CORS_HEADERS = ["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID"]


@frozen
class ApiState:
    """The parts that requests of the API share."""

    server: ServerState
    hosts: HostPolicy
    metrics: Metrics
    watcher: event_stream.ChangeWatcher
    monotonic: Callable[[], float]


@frozen
class ApiCall:
    """A request, read completely, so that a thread can answer it without awaiting anything."""

    route: Route
    authorization: str | None
    address: str
    path: dict[str, str]
    query: list[tuple[str, str]]
    body: bytes
    key: str | None
    if_match: str | None
    if_none_match: str | None
    timeout: float


def make_app(mem: Engram, hosts: HostPolicy, own: GrantedToken | None = None) -> Starlette:
    """Return the application over an open vault. `own`: a temporary token, if the vault has none."""
    owner = mem.as_reader(Reader(mem.reader.scope, Policy.ALL, Role.OWNER))
    monotonic = mem.env.monotonic
    threads = Threads(mem.settings.now.serve_threads)
    server = ServerState(owner, Authenticator(owner, RateLimiter(monotonic), own), threads)
    api = ApiState(server, hosts, Metrics(), event_stream.ChangeWatcher(owner, threads), monotonic)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        await api.watcher.end()
        await asyncio.to_thread(threads.end)

    app = Starlette(lifespan=lifespan)
    app.state.api = api
    _add_routes(app, api)
    app.add_exception_handler(HTTPException, _not_found)  # type: ignore[arg-type]
    app.add_middleware(Guard, api=api)
    if hosts.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=sorted(hosts.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=_CORS_HEADERS,
            expose_headers=["ETag", "Link"],
        )
    return app


def _add_routes(app: Starlette, api: ApiState) -> None:
    table = routes()
    for route in table:
        app.add_route(route.path, _endpoint(route, api), [route.method], route.operation.name)
    document, page = json.dumps(openapi_document(table)), docs_page(table)

    async def openapi(_: Request) -> Response:
        return Response(document, media_type="application/json")

    async def docs(_: Request) -> Response:
        return Response(page, media_type="text/html", headers=_DOCS_HEADERS)

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> Response:
        ready = not api.watcher.ending and await api.server.threads.run(lambda: _is_readable(api.server.mem))
        return JSONResponse({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    async def metrics(request: Request) -> Response:
        authorization, address = request.headers.get("authorization"), client_address(request)

        def exposition() -> bytes:
            token = api.server.authenticator.authenticate(authorization, address)
            return api.metrics.exposition(_STATUS.call(api.server.mem.as_reader(token.reader), read(_STATUS, {})))

        return Response(await api.server.threads.run(exposition), media_type=Metrics.media_type)

    async def stream(request: Request) -> Response:
        return await _stream(api, request)

    about_the_server: dict[str, Callable[..., Awaitable[Response]]] = {
        "/openapi.json": openapi,
        "/docs": docs,
        "/healthz": healthz,
        "/readyz": readyz,
        "/metrics": metrics,
    }
    for path, endpoint in about_the_server.items():
        app.add_route(path, endpoint, ["GET"], endpoint.__name__)
    events = StarletteRoute("/v1/events", stream, name=stream.__name__)
    events.methods = {"GET"}  # no HEAD: a stream has no end to wait for
    app.routes.append(events)


def _is_readable(mem: Engram) -> bool:
    """Return whether the vault answers. Only one row is read, because callers need no token for this."""
    try:
        mem.events()
    except EngramError:
        return False
    return True


# ── around every request ───────────────────────────────────────────────────────────────────────────────────────────────


class Guard:
    """Middleware: checks host and origin, turns errors into problem responses, adds safe headers and counts requests. Of a defect
    only the type is reported, because its message may hold private text."""

    def __init__(self, app: ASGIApp, api: ApiState) -> None:
        self._app = app
        self._api = api

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = self._api.monotonic(), 0

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_missing_headers(message["headers"])]
            await send(message)

        with self._api.metrics.in_flight.track_inprogress():
            try:
                headers = Headers(scope=scope)
                self._api.hosts.check(headers.get("host"), headers.get("origin"))
                await self._app(scope, receive, send_noting_status)
            except ClientDisconnect:
                status = status or _CLIENT_GONE
            except EngramError as problem:
                if not status:  # a stream that has begun just ends
                    await problems.response(problem)(scope, receive, send_noting_status)
            except Exception as defect:  # noqa: BLE001  broad on purpose: a traceback may hold private text
                log.error("a request failed by a defect: %s", type(defect).__name__)
                if not status:
                    error = EngramError(f"Unexpected {type(defect).__name__}: a defect in Engram.")
                    await problems.response(error, status=500)(scope, receive, send_noting_status)
        operation = getattr(scope.get("route"), "name", "none")
        self._api.metrics.count_request(operation, status, self._api.monotonic() - began)


def _missing_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    present = {name.lower() for name, _ in headers}
    return [(name, value) for name, value in _SAFE_RAW_HEADERS if name not in present]


async def _not_found(request: Request, error: HTTPException) -> Response:
    """Answer a request that matches no route (404), or a route with another method (405)."""
    message, headers = "there is nothing at this path.", dict(error.headers or {})
    if error.status_code == 405 and request.method == "OPTIONS":
        return Response(status_code=204, headers={"Allow": ", ".join((*_methods(request), "OPTIONS"))})
    if error.status_code == 405:
        message, headers["Allow"] = "this path does not take that method.", ", ".join(_methods(request))
    return problems.response(RequestRefused(error.status_code, message, way_out="See /docs."), headers=headers)


def _methods(request: Request) -> list[str]:
    """Return all methods of a path: Starlette's router reports only those of the first route that has it."""
    matching = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for route in matching for method in route.methods or ()})


# ── one operation ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _endpoint(route: Route, api: ApiState) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        call = await _read_call(route, request, api.server)
        return await answer_in_thread(request, api.server.threads, lambda: _answer(call, api.server), call.timeout)

    return endpoint


async def _read_call(route: Route, request: Request, server: ServerState) -> ApiCall:
    headers, settings = request.headers, server.mem.settings.now
    query = [(name, value) for name, value in request.query_params.multi_items() if name != "timeout"]
    if "transfer-encoding" in headers or int(headers.get("content-length", 0)) > _LONG_BODY:
        # Without a valid token a long body is not even read.
        verify = server.authenticator.verify
        await server.threads.run(lambda: verify(headers.get("authorization"), client_address(request)))
    body = await read_body(request, settings.serve_body_kib * 1024, settings.serve_timeout_s)
    if body and route.has_body and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused(415, "the body must be JSON.", way_out="Send `Content-Type: application/json`.")
    if body and not route.has_body:
        raise RequestRefused(400, "this path takes no body.", way_out="Put the arguments into the query.")
    return ApiCall(
        route=route,
        authorization=headers.get("authorization"),
        address=client_address(request),
        path=dict(request.path_params),
        query=query,
        body=body,
        key=_idempotency_key(headers.get("idempotency-key")),
        if_match=_joined(headers, "if-match"),
        if_none_match=_joined(headers, "if-none-match"),
        timeout=_timeout(request.query_params.getlist("timeout"), settings.serve_timeout_s),
    )


def _joined(headers: Headers, name: str) -> str | None:
    """Return a header as one line: a list may be sent in several."""
    return ", ".join(headers.getlist(name)) or None


def _answer(call: ApiCall, server: ServerState) -> Response:
    """Authenticate the caller, run the operation and return its response; runs in a thread."""
    token = server.authenticator.authenticate(call.authorization, call.address)
    operation = call.route.operation
    mem, given = server.mem.as_reader(token.reader), arguments(call.route, call.path, call.query, _parsed(call.body))
    try:
        if not operation.reads:
            given |= _precondition(call, mem)
        value = limits.answer(operation, mem, read(operation, given), timeout=call.timeout, key=call.key)
    except Conflict as problem:
        return problems.response(problem, status=412 if call.if_match or call.if_none_match else None)
    return _response(call, value)


def _precondition(call: ApiCall, mem: Engram) -> dict[str, object]:
    """Return the argument `unchanged_since` that stands for a write's `If-Match`; raise `Conflict` if it cannot hold. Of several
    tags the current one is taken, if it is named: the write itself checks that it still holds."""
    wanted, unwanted = call.if_match, call.if_none_match
    if unwanted is None and (wanted is None or entity_tags.is_any(wanted)):
        return {}
    if not any(field.name == "unchanged_since" for field in call.route.operation.fields):
        name = "If-Match" if unwanted is None else "If-None-Match"
        raise RequestRefused(400, f"this path does not support `{name}`, so nothing was done.", way_out="Leave it out.")
    memory = mem.get(*call.path.values())
    updated_at = None if memory is None else memory.updated_at
    if unwanted is not None and updated_at is not None:
        if entity_tags.matches_weakly(unwanted, entity_tags.tag_of(updated_at)):
            raise Conflict("the memory has a tag that `If-None-Match` names.")
    if wanted is None or entity_tags.is_any(wanted):
        return {}
    times = entity_tags.times_of(wanted)
    if not times:
        raise Conflict("`If-Match` names no tag of a memory.")
    return {"unchanged_since": wire.moment(updated_at if updated_at in times else times[0])}


def _response(call: ApiCall, value: wire.Plain) -> Response:
    headers = _response_headers(call, value)
    if "ETag" in headers and call.route.method == "GET":
        tag, wanted = headers["ETag"], call.if_match
        if wanted is not None and not entity_tags.is_any(wanted):
            if tag not in map(entity_tags.tag_of, entity_tags.times_of(wanted)):
                return problems.response(Conflict("this memory was changed since it was read."), status=412)
        if call.if_none_match is not None and entity_tags.matches_weakly(call.if_none_match, tag):
            return Response(status_code=304, headers=headers)
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(body, 201 if call.route.creates else 200, headers, media_type="application/json")


def _response_headers(call: ApiCall, value: wire.Plain) -> dict[str, str]:
    """Return the `ETag` and `Location` of a memory, and the `Link` from a page to the next one."""
    headers: dict[str, str] = {}
    if not isinstance(value, dict):
        return headers
    if call.route.operation.output is Memory:
        headers["ETag"] = entity_tags.tag_of(datetime.fromisoformat(str(value["updated_at"])))
        if call.route.creates:
            headers["Location"] = f"/v1/memories/{value['id']}"
    if isinstance(cursor := value.get("cursor"), str) and call.route.method == "GET":
        query = [(name, text) for name, text in call.query if name != "cursor"]
        path = call.route.path.format_map({name: quote(text, safe="") for name, text in call.path.items()})
        headers["Link"] = f'<{path}?{urlencode([*query, ("cursor", cursor)])}>; rel="next"'
    return headers


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body) if body else {}
    except (ValueError, RecursionError):
        raise InvalidQuery("the body is not JSON.") from None  # the parser's error holds the text


def _idempotency_key(header: str | None) -> str | None:
    if header is None:
        return None
    if not 1 <= len(header) <= _KEY_CHARACTERS or not header.isascii() or not header.isprintable():
        raise InvalidQuery(f"an `Idempotency-Key` has 1 to {_KEY_CHARACTERS} printable characters.")
    return header


def _timeout(given: list[str], most: float) -> float:
    if not given:
        return most
    try:
        (seconds,) = (float(text) for text in given)
    except ValueError:
        seconds = 0.0
    if not MIN_TIMEOUT_S <= seconds < float("inf"):
        raise InvalidQuery(f"`timeout` must be a number of seconds from {MIN_TIMEOUT_S:g}.")
    return min(seconds, most)


# ── events ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _stream(api: ApiState, request: Request) -> Response:
    authenticator, threads = api.server.authenticator, api.server.threads
    authorization, address = request.headers.get("authorization"), client_address(request)
    token = await threads.run(lambda: authenticator.authenticate(authorization, address))
    api.watcher.require_room(token.id)
    unknown = set(request.query_params) - {"after"}
    text = request.query_params.get("after") or request.headers.get("last-event-id")
    if unknown or (text is not None and not (text.isascii() and text.isdigit() and len(text) < 16)):
        raise InvalidQuery("`after` must be the number of an earlier event.")
    mem = api.server.mem.as_reader(token.reader)
    after = None if text is None else int(text)
    lines = event_stream.stream(api.watcher, mem, token.id, after, lambda: authenticator.is_valid(authorization))
    return StreamingResponse(lines, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
