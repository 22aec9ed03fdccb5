"""The application: one route for each operation, and the few that are about the server itself."""

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
from starlette.routing import Route as Place
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engram.aio import Threads
from engram.crypto.access_tokens import GrantedToken
from engram.engine import Engram
from engram.errors import Conflict, EngramError, InvalidQuery, SearchTimeout
from engram.log import Log
from engram.serve.http import event_stream
from engram.serve.http import routes as tags
from engram.serve.http.metrics import Metrics
from engram.serve.http.openapi import LEAST_S, document, page
from engram.serve.http.routes import Route, arguments, routes
from engram.serve.network import problems
from engram.serve.network.doors import Doors, Entry, Rates
from engram.serve.network.problems import Refused, body_of
from engram.serve.operations import OPERATIONS, limits, read, wire
from engram.types import Memory, Policy, Reader, Role
from engram.values.frozen import frozen

log = Log("engram.http")

_KEY_CHARACTERS = 255
_GRACE_S = 1.0
_LEFT = 499  # no answer was sent, because nobody was there; nginx counts it so too
_LONG = 65536
_SAFE = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
_SAFE_RAW = [(name.lower().encode(), value.encode()) for name, value in _SAFE.items()]
_PAGE_SAFE = {**_SAFE, "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
_STATUS = OPERATIONS["status"]  # figures are for whom it is for, and of what they may see
_HEADERS = ["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID"]


@frozen
class Served:
    """What requests share: the vault as its owner has it, who may come in, the threads that work, and the figures."""

    mem: Engram
    entry: Entry
    doors: Doors
    threads: Threads
    metrics: Metrics
    watch: event_stream.Watch
    monotonic: Callable[[], float]


@frozen
class Call:
    """A request as a thread needs it: nothing in it waits."""

    route: Route
    header: str | None
    address: str
    path: dict[str, str]
    query: list[tuple[str, str]]
    body: bytes
    key: str | None
    if_match: str | None
    if_none_match: str | None
    timeout: float


def make_app(mem: Engram, doors: Doors, own: GrantedToken | None = None) -> Starlette:
    """The application over an open vault. `own`: a token that holds while it runs, if there is none in the vault."""
    settings = mem.settings.now
    owner = mem.as_reader(Reader(mem.reader.scope, Policy.ALL, Role.OWNER))
    env = mem.env
    threads = Threads(settings.serve_threads)
    entry = Entry(owner, Rates(env.monotonic), own)
    served = Served(owner, entry, doors, threads, Metrics(), event_stream.Watch(owner, threads), env.monotonic)

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        yield
        await served.watch.end()
        await asyncio.to_thread(threads.end)

    app = Starlette(lifespan=life)
    app.state.served = served
    _add_routes(app, served)
    app.add_exception_handler(HTTPException, _no_such_place)  # type: ignore[arg-type]
    app.add_middleware(Guard, served=served)
    if doors.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=sorted(doors.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=_HEADERS,
            expose_headers=["ETag", "Link"],
        )
    return app


def _add_routes(app: Starlette, served: Served) -> None:
    table = routes()
    for route in table:
        app.add_route(route.path, _endpoint(route, served), [route.method], route.operation.name)
    described, shown = json.dumps(document(table)), page(table)

    async def openapi(_: Request) -> Response:
        return Response(described, media_type="application/json")

    async def docs(_: Request) -> Response:
        return Response(shown, media_type="text/html", headers=_PAGE_SAFE)

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def readyz(_: Request) -> Response:
        ready = not served.watch.ending and await served.threads.run(lambda: _readable(served.mem))
        return JSONResponse({"status": "ready" if ready else "not ready"}, 200 if ready else 503)

    async def metrics(request: Request) -> Response:
        header, address = request.headers.get("authorization"), caller_of(request)

        def told() -> bytes:
            token = served.entry.holder(header, address)
            return served.metrics.told(_STATUS.call(served.mem.as_reader(token.reader), read(_STATUS, {})))

        return Response(await served.threads.run(told), media_type=Metrics.media_type)

    async def stream(request: Request) -> Response:
        return await _stream(served, request)

    own: dict[str, Callable[..., Awaitable[Response]]] = {
        "/openapi.json": openapi,
        "/docs": docs,
        "/healthz": healthz,
        "/readyz": readyz,
        "/metrics": metrics,
    }
    for path, endpoint in own.items():
        app.add_route(path, endpoint, ["GET"], endpoint.__name__)
    events_of = Place("/v1/events", stream, name=stream.__name__)
    events_of.methods = {"GET"}  # a stream has no end that HEAD could wait for
    app.routes.append(events_of)


def _readable(mem: Engram) -> bool:
    """One row, because anybody may ask."""
    try:
        mem.events()
    except EngramError:
        return False
    return True


# ── around every request ───────────────────────────────────────────────────────────────────────────────────────────────


class Guard:
    """Doors first; then whatever is raised becomes a problem, and a defect says its type and nothing else."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self._app = app
        self._served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = self._served.monotonic(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_missing(message["headers"])]
            await send(message)

        with self._served.metrics.in_flight.track_inprogress():
            try:
                headers = Headers(scope=scope)
                self._served.doors.check(headers.get("host"), headers.get("origin"))
                await self._app(scope, receive, noted)
            except ClientDisconnect:
                status = status or _LEFT
            except EngramError as problem:
                if not status:  # of a stream that has begun the end is missing, which says as much
                    await problems.response(problem)(scope, receive, noted)
            except Exception as defect:  # noqa: BLE001  the face's net: its message may hold somebody's words
                log.error("a request failed by a defect: %s", type(defect).__name__)
                if not status:
                    told = EngramError(f"Unexpected {type(defect).__name__}: a defect in Engram.")
                    await problems.response(told, status=500)(scope, receive, noted)
        place = getattr(scope.get("route"), "name", "none")
        self._served.metrics.answered(place, status, self._served.monotonic() - began)


def _missing(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    there = {name.lower() for name, _ in headers}
    return [(name, value) for name, value in _SAFE_RAW if name not in there]


async def _no_such_place(request: Request, error: HTTPException) -> Response:
    what, headers = "there is nothing at this place.", dict(error.headers or {})
    if error.status_code == 405 and request.method == "OPTIONS":
        return Response(status_code=204, headers={"Allow": ", ".join((*_methods(request), "OPTIONS"))})
    if error.status_code == 405:
        what, headers["Allow"] = "this place does not take that method.", ", ".join(_methods(request))
    return problems.response(Refused(error.status_code, what, way_out="See /docs."), headers=headers)


def _methods(request: Request) -> list[str]:
    """All that this place takes: a router knows of the first route only that has its path."""
    there = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    return sorted({method for route in there for method in route.methods or ()})


# ── one operation ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _endpoint(route: Route, served: Served) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        call = await _call(route, request, served)
        return await answered(request, served.threads, lambda: _answer(call, served), call.timeout)

    return endpoint


async def answered(request: Request, threads: Threads, answer: Callable[[], Response], seconds: float) -> Response:
    """What a thread answers, in time and while the caller is there: who leaves has called it off."""
    answering, leaving = asyncio.ensure_future(threads.run(answer)), asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait((answering, leaving), timeout=seconds + _GRACE_S, return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        if leaving.done():
            raise ClientDisconnect
        raise SearchTimeout(f"there was no answer in {seconds:g} seconds.")
    finally:
        answering.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _call(route: Route, request: Request, served: Served) -> Call:
    headers, settings = request.headers, served.mem.settings.now
    query = [(name, value) for name, value in request.query_params.multi_items() if name != "timeout"]
    if "transfer-encoding" in headers or int(headers.get("content-length", 0)) > _LONG:  # who is nobody sends no long body
        await served.threads.run(lambda: served.entry.require(headers.get("authorization"), caller_of(request)))
    body = await body_of(request, settings.serve_body_kib * 1024, settings.serve_timeout_s)
    if body and route.has_body and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "the body must be JSON.", way_out="Send `Content-Type: application/json`.")
    if body and not route.has_body:
        raise Refused(400, "this place takes no body.", way_out="Put the arguments into the query.")
    return Call(
        route=route,
        header=headers.get("authorization"),
        address=caller_of(request),
        path=dict(request.path_params),
        query=query,
        body=body,
        key=_key(headers.get("idempotency-key")),
        if_match=_lines(headers, "if-match"),
        if_none_match=_lines(headers, "if-none-match"),
        timeout=_timeout(request.query_params.getlist("timeout"), settings.serve_timeout_s),
    )


def _lines(headers: Headers, name: str) -> str | None:
    """A list may stand in several lines."""
    return ", ".join(headers.getlist(name)) or None


def _answer(call: Call, served: Served) -> Response:
    """In a thread: who asks, what is asked, and the answer."""
    token = served.entry.holder(call.header, call.address)
    operation = call.route.operation
    mem, given = served.mem.as_reader(token.reader), arguments(call.route, call.path, call.query, _parsed(call.body))
    try:
        if not operation.reads:
            given |= _held(call, mem)
        value = limits.answer(operation, mem, read(operation, given), timeout=call.timeout, key=call.key)
    except Conflict as problem:
        return problems.response(problem, status=412 if call.if_match or call.if_none_match else None)
    return _response(call, value)


def _held(call: Call, mem: Engram) -> dict[str, object]:
    """What a change is held to by the tags of its request. Of several, the one that holds now, if one does: whether it still
    does is for the change itself to say."""
    wanted, unwanted = call.if_match, call.if_none_match
    if unwanted is None and (wanted is None or tags.is_any(wanted)):
        return {}
    if not any(one.name == "unchanged_since" for one in call.route.operation.fields):
        name = "If-Match" if unwanted is None else "If-None-Match"
        raise Refused(400, f"this place does not heed `{name}`, so nothing was done.", way_out="Leave it out.")
    found = mem.get(*call.path.values())
    now = None if found is None else found.updated_at
    if unwanted is not None and now is not None and tags.knows(unwanted, tags.tag_of(now)):
        raise Conflict("this memory is as `If-None-Match` says.")
    if wanted is None or tags.is_any(wanted):
        return {}
    moments = tags.moments(wanted)
    if not moments:
        raise Conflict("this `If-Match` is of no memory here.")
    return {"unchanged_since": wire.moment(now if now in moments else moments[0])}


def _response(call: Call, value: wire.Plain) -> Response:
    headers = _marks(call, value)
    if "ETag" in headers and call.route.method == "GET":
        tag, wanted = headers["ETag"], call.if_match
        if wanted is not None and not tags.is_any(wanted) and tag not in map(tags.tag_of, tags.moments(wanted)):
            return problems.response(Conflict("this memory was changed since it was read."), status=412)
        if call.if_none_match is not None and tags.knows(call.if_none_match, tag):
            return Response(status_code=304, headers=headers)
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Response(body, 201 if call.route.makes else 200, headers, media_type="application/json")


def _marks(call: Call, value: wire.Plain) -> dict[str, str]:
    """A memory has the moment of its last change for an ETag; a page names the next one."""
    marks: dict[str, str] = {}
    if not isinstance(value, dict):
        return marks
    if call.route.operation.output is Memory:
        marks["ETag"] = tags.tag_of(datetime.fromisoformat(str(value["updated_at"])))
        if call.route.makes:
            marks["Location"] = f"/v1/memories/{value['id']}"
    if isinstance(cursor := value.get("cursor"), str) and call.route.method == "GET":
        asked = [(name, one) for name, one in call.query if name != "cursor"]
        place = call.route.path.format_map({name: quote(one, safe="") for name, one in call.path.items()})
        marks["Link"] = f'<{place}?{urlencode([*asked, ("cursor", cursor)])}>; rel="next"'
    return marks


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body) if body else {}
    except (ValueError, RecursionError):
        raise InvalidQuery("the body is not JSON.") from None  # the parser's own error carries the words


def _key(header: str | None) -> str | None:
    if header is None:
        return None
    if not 1 <= len(header) <= _KEY_CHARACTERS or not header.isascii() or not header.isprintable():
        raise InvalidQuery(f"an `Idempotency-Key` has 1 to {_KEY_CHARACTERS} printable characters.")
    return header


def _timeout(given: list[str], most: float) -> float:
    if not given:
        return most
    try:
        (seconds,) = (float(one) for one in given)
    except ValueError:
        seconds = 0.0
    if not LEAST_S <= seconds < float("inf"):
        raise InvalidQuery(f"`timeout` is a number of seconds from {LEAST_S:g}.")
    return min(seconds, most)


def caller_of(request: Request) -> str:
    """The address that a request comes from."""
    return request.client.host if request.client else ""


# ── events ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _stream(served: Served, request: Request) -> Response:
    header, address = request.headers.get("authorization"), caller_of(request)
    token = await served.threads.run(lambda: served.entry.holder(header, address))
    served.watch.require_room(token.id)
    known = set(request.query_params) - {"after"}
    said = request.query_params.get("after") or request.headers.get("last-event-id")
    if known or (said is not None and not (said.isascii() and said.isdigit() and len(said) < 16)):
        raise InvalidQuery("`after` is a number that an earlier event had.")
    mem = served.mem.as_reader(token.reader)
    after = None if said is None else int(said)
    told = event_stream.stream(served.watch, mem, token.id, after, lambda: served.entry.still_holds(header))
    return StreamingResponse(told, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})
