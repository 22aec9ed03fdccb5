"""The routes of the pages: under `/ui`, on the application that serves the API, with its host checks and rate limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import parse_qsl, urlsplit

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from engram.errors import EngramError, InvalidContent, NotFound
from engram.log import Log
from engram.serve.network.origins import is_same_origin
from engram.serve.network.problems import OriginRefused, Unauthorized, status_of
from engram.serve.network.requests import ServerState, answer_in_thread, client_address, read_body
from engram.serve.page import audit, dreams, entities, graph, health, memories, recall, review, settings
from engram.serve.page.html import HEADERS, asset, rendered
from engram.serve.page.request import PageRequest, PageView, Redirect, place
from engram.serve.page.sign_in import Sessions
from engram.types import Role

log = Log("engram.page")

Handler = Callable[[PageRequest], PageView | Redirect]

PAGES: Mapping[str, Handler] = {
    "GET ": memories.home,
    "POST /remember": memories.remember,
    "GET /search": recall.search,
    "GET /reason": recall.reason,
    "GET /context": recall.context,
    "GET /memories": memories.browse,
    "GET /memory/{id}": memories.memory,
    "GET /memory/{id}/forget": memories.confirm_forget,
    "POST /memory/{id}/forget": memories.forget,
    "POST /memory/{id}/update": memories.update,
    "POST /memory/{id}/pin": memories.pin,
    "POST /memory/{id}/move": memories.move,
    "POST /memory/{id}/restore": memories.restore,
    "POST /memory/{id}/flag": memories.flag,
    "POST /memory/{id}/relate": memories.relate,
    "POST /memory/{id}/feedback": memories.feedback,
    "GET /entities": entities.entities,
    "GET /entity": entities.entity,
    "POST /entity/decide": entities.decide,
    "POST /entity/undo": entities.undo,
    "GET /timeline": entities.timeline,
    "GET /graph": graph.graph,
    "GET /review": review.review,
    "GET /rest": dreams.rest,
    "POST /rest/trial": dreams.trial,
    "POST /rest/run": dreams.run,
    "POST /rest/undo": dreams.undo,
    "GET /health": health.health,
    "POST /health/backup": health.backup,
    "POST /health/check": health.check,
    "GET /audit": audit.audit,
    "GET /settings": settings.settings,
    "POST /settings": settings.change,
}
_SIGN_IN = place("/sign-in")
_FORM = "application/x-www-form-urlencoded"
_FIELDS = 64
_RELOAD = "Load the page anew, then try again."


def add_to(app: Starlette, server: ServerState, sessions: Sessions) -> None:
    """Add the pages to an application."""
    for at, page in PAGES.items():
        method, _, path = at.partition(" ")
        _add(app, method, f"/ui{path}", _endpoint(page, server, sessions), f"page_{page.__name__}")
    _add(app, "GET", "/", _home, "page_root")
    _add(app, "GET", "/ui/assets/{name}", _asset, "page_asset")
    _add(app, "GET", "/ui/enter", _enter(server, sessions), "page_enter")
    _add(app, "GET", "/ui/sign-in", _ask, "page_ask")
    _add(app, "POST", "/ui/sign-in", _sign_in(server, sessions), "page_sign_in")
    _add(app, "POST", "/ui/sign-out", _sign_out(sessions), "page_sign_out")
    _add(app, "GET", "/ui/{rest:path}", _nowhere, "page_none")


def _add(app: Starlette, method: str, path: str, endpoint: Callable[[Request], Awaitable[Response]], name: str) -> None:
    app.add_route(path, _with_error_page(endpoint), [method], name)


def _with_error_page(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Return the endpoint with errors shown as a page, with code and way out; of a defect only the type is shown."""

    async def guarded(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            raise
        except EngramError as error:
            return _error_page(error, status_of(error))
        except Exception as defect:  # noqa: BLE001  a face catches everything: the message could quote memories
            log.error("a page failed by a defect: %s", type(defect).__name__)
            return _error_page(EngramError(f"Unexpected {type(defect).__name__}: a defect in Engram."), 500)

    return guarded


def _error_page(error: EngramError, status: int) -> Response:
    return rendered("problem.html", {"problem": error, "status": status}, status)


# ── pages ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _endpoint(page: Handler, server: ServerState, sessions: Sessions) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        session, form = sessions.find(request.cookies.get(sessions.cookie)), await _form(request, server)
        if session is None:
            return _to_sign_in(request)
        if request.method == "POST":
            _require_own(request)
            if not session.accepts(form.get("csrf", "")):
                raise OriginRefused("this form does not come from a page of this session.", way_out=_RELOAD)
        timeout, address = server.mem.settings.now.serve_timeout_s, client_address(request)

        def answer() -> Response:
            token = server.authenticator.authenticate(session.header, address)
            mem = server.mem.as_reader(token.reader)
            page_request = PageRequest(mem, session, dict(request.path_params), dict(request.query_params), form, timeout)
            return _answer(page, page_request, request.url.path)

        try:
            return await answer_in_thread(request, server.threads, answer, timeout)
        except Unauthorized:  # the token was revoked or has expired
            sessions.end(request.cookies.get(sessions.cookie))
            return _to_sign_in(request)

    return endpoint


def _answer(page: Handler, page_request: PageRequest, path: str) -> Response:
    answer = page(page_request)
    if isinstance(answer, Redirect):
        return RedirectResponse(answer.place, 303, HEADERS)
    reader = page_request.mem.reader
    common = {
        "now": page_request.now,
        "csrf": page_request.session.csrf,
        "may": page_request.may,
        "reader": reader,
        "owner": reader.role is Role.OWNER,
        "here": path,
        "done": page_request.query.get("done", ""),
        "q": page_request.query.get("q", "") if path == place("/search") else "",
    }
    return rendered(answer.template, {**common, **answer.values})


def _require_own(request: Request) -> None:
    """Raise `OriginRefused` if a form does not come from a page of this server.

    Origins that may call the API may not submit forms here: they could write, or sign a user in or out.
    """
    headers = request.headers
    if headers.get("sec-fetch-site", "same-origin") != "same-origin" or not is_same_origin(
        headers.get("host"), headers.get("origin")
    ):
        raise OriginRefused("this form does not come from a page of this server.", way_out=_RELOAD)


async def _form(request: Request, server: ServerState) -> dict[str, str]:
    limits = server.mem.settings.now
    if request.method != "POST":
        return {}
    body = await read_body(request, limits.serve_body_kib * 1024, limits.serve_timeout_s)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise InvalidContent(f"the form is not sent as {_FORM}.", way_out="Use the page.")
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS))
    except ValueError:
        raise InvalidContent("the form cannot be read.") from None


# ── signing in and out ─────────────────────────────────────────────────────────────────────────────────────────────────


async def _home(request: Request) -> Response:
    return RedirectResponse(place(""), 307, HEADERS)


async def _asset(request: Request) -> Response:
    found = asset(request.path_params["name"])
    if found is None:
        raise NotFound("there is no such file.", way_out="Go back to the first page.")
    return found


async def _nowhere(request: Request) -> Response:
    raise NotFound("there is no such page.", way_out="Go back to the first page.")


async def _ask(request: Request) -> Response:
    return rendered("sign_in.html", {"next": _own_page(request.query_params.get("next", "")), "failed": False})


def _enter(server: ServerState, sessions: Sessions) -> Callable[[Request], Awaitable[Response]]:
    async def enter(request: Request) -> Response:
        """Answer with a page that loads the next one, not with a redirect.

        A browser sends a `SameSite=Strict` cookie only if the request starts on this site, and this link was followed elsewhere.
        """
        cookie = sessions.accept(request.query_params.get("key", "")) if request.method == "GET" else None
        if cookie is None:
            server.authenticator.count_failure(client_address(request))
            raise Unauthorized(
                "this link was used already, or is too old.", way_out="Run `engram ui` again, or sign in with a token."
            )
        return _signed_in(request, rendered("enter.html", {}), sessions, cookie)

    return enter


def _sign_in(server: ServerState, sessions: Sessions) -> Callable[[Request], Awaitable[Response]]:
    async def sign_in(request: Request) -> Response:
        _require_own(request)
        form, address = await _form(request, server), client_address(request)
        header, next_page = f"Bearer {form.get('token', '').strip()}", _own_page(form.get("next", ""))
        try:
            await server.threads.run(lambda: server.authenticator.authenticate(header, address))
        except Unauthorized:
            return rendered("sign_in.html", {"next": next_page, "failed": True}, 401)
        return _signed_in(request, RedirectResponse(next_page, 303, HEADERS), sessions, sessions.begin(header))

    return sign_in


def _sign_out(sessions: Sessions) -> Callable[[Request], Awaitable[Response]]:
    async def sign_out(request: Request) -> Response:
        _require_own(request)
        sessions.end(request.cookies.get(sessions.cookie))
        response = RedirectResponse(_SIGN_IN, 303, HEADERS)
        response.delete_cookie(sessions.cookie, path="/ui", httponly=True, samesite="strict")
        return response

    return sign_out


def _signed_in(request: Request, response: Response, sessions: Sessions, cookie: str) -> Response:
    """Return the response with the new cookie, and end the session that this browser had before."""
    sessions.end(request.cookies.get(sessions.cookie))
    response.set_cookie(sessions.cookie, cookie, path="/ui", httponly=True, samesite="strict")
    return response


def _to_sign_in(request: Request) -> Response:
    here = f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path
    return RedirectResponse(place("/sign-in", next=here if request.method == "GET" else ""), 303, HEADERS)


def _own_page(address: str) -> str:
    """Return the address if it is one of these pages, else the first page: signing in never leads to another site."""
    parts = urlsplit(address)
    under_ui = parts.path == "/ui" or parts.path.startswith("/ui/")
    own = not parts.scheme and not parts.netloc and under_ui and "\\" not in address
    return address if own else place("")
