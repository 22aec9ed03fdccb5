"""The HTTP API and the web page as one running server. The only module that knows both."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import FrameType

from starlette.applications import Starlette

from engram.crypto.access_tokens import GrantedToken
from engram.engine import Engram
from engram.serve.http.app import make_app
from engram.serve.network.origins import host_policy
from engram.serve.network.server import NetworkServer, ServeLimits, reader_token, server_token, url_of
from engram.serve.page import routes as page
from engram.serve.page.sign_in import Sessions


class WebServer(NetworkServer):
    """The server of API and page. It ends event streams at shutdown, since they have no end of their own. `ended` is called
    before uvicorn raises the signal again, which may end the process at once."""

    def __init__(
        self,
        app: Starlette,
        drain_s: float,
        started: Callable[[], None] = lambda: None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(app, drain_s, app.state.api.server.mem.settings.now.serve_timeout_s)
        self._watcher = app.state.api.watcher
        self._started = started
        self._ended = ended

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._started()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._watcher.ending = True
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._watcher.end()
        await super().shutdown(sockets)
        self._ended()

    def stop(self) -> None:
        """End the server from another thread. A signal would also end the streams of other servers in this process."""
        self._watcher.ending = True
        self.should_exit = True


def prepare(mem: Engram, host: str, own: GrantedToken | None = None) -> tuple[Starlette, GrantedToken | None]:
    """Return the application for an address, and its temporary token: the one given, else a new one if the vault has no token."""
    settings, own = mem.settings.now, own or server_token(mem, host)
    app = make_app(mem, host_policy(host, settings.serve_names, settings.serve_origins), own)
    sessions = Sessions(mem.env, lambda: mem.settings.now.page_hours)
    page.add_to(app, app.state.api.server, sessions)
    app.state.sessions = sessions
    return app, own


def serve(mem: Engram, host: str, listening: socket.socket, started: Callable[[str, GrantedToken | None], None]) -> None:
    """Serve until a signal. `started` gets the URL and the temporary token once requests are accepted."""
    app, own = prepare(mem, host)
    _run(app, mem, listening, lambda url: started(url, own))


def show(
    mem: Engram, host: str, listening: socket.socket, started: Callable[[str], None], ended: Callable[[], None] = lambda: None
) -> None:
    """Serve the page to the person who starts it, as the reader of `mem`, until a signal. `started` gets a link that signs in
    once."""
    app, own = prepare(mem, host, reader_token(mem))
    assert own is not None  # noqa: S101  it was given
    secret = app.state.sessions.invite(f"Bearer {own.secret}")
    _run(app, mem, listening, lambda url: started(f"{url}/ui/enter?key={secret}"), ended)


def _run(
    app: Starlette,
    mem: Engram,
    listening: socket.socket,
    started: Callable[[str], None],
    ended: Callable[[], None] = lambda: None,
) -> None:
    WebServer(app, mem.settings.tuned(ServeLimits).serve_drain_s, lambda: started(url_of(listening)), ended).run(
        sockets=[listening]
    )
