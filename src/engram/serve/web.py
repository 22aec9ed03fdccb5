"""A server that runs: bound to an address, told to end by a signal, and gone in order."""

from __future__ import annotations

import socket
from collections.abc import Callable
from types import FrameType

from starlette.applications import Starlette

from engram.crypto.access_tokens import GrantedToken
from engram.engine import Engram
from engram.serve.http.app import make_app
from engram.serve.network import server
from engram.serve.network.doors import doors
from engram.serve.network.server import address_of, granted, owners
from engram.serve.page import routes as page
from engram.serve.page.sign_in import Sessions


class Server(server.Server):
    """Streams have no end of their own, so they are told when the server is asked to end. `ended` comes before the signal that
    ended it is raised again, which may leave no time for anything."""

    def __init__(
        self,
        app: Starlette,
        drain_s: float,
        begun: Callable[[], None] = lambda: None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(app, drain_s, app.state.served.mem.settings.now.serve_timeout_s)
        self._app = app
        self._begun = begun
        self._ended = ended

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._begun()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.served.watch.ending = True
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._app.state.served.watch.end()
        await super().shutdown(sockets)
        self._ended()

    def stop(self) -> None:
        """From another thread, without a signal: one would end the streams of every other server in this process."""
        self._app.state.served.watch.ending = True
        self.should_exit = True


def prepare(mem: Engram, host: str, own: GrantedToken | None = None) -> tuple[Starlette, GrantedToken | None]:
    """The application for this address, and the token that it made for itself where there is none, unless it is given one."""
    settings, own = mem.settings.now, own or granted(mem, host)
    app = make_app(mem, doors(host, settings.serve_names, settings.serve_origins), own)
    sessions = Sessions(mem.env, lambda: mem.settings.now.page_hours)
    page.add_to(app, app.state.served, sessions)
    app.state.sessions = sessions
    return app, own


def serve(mem: Engram, host: str, listening: socket.socket, begun: Callable[[str, GrantedToken | None], None]) -> None:
    """Serve until a signal ends it. `begun` is told the address once requests are accepted."""
    app, own = prepare(mem, host)
    _run(app, mem, listening, lambda address: begun(address, own))


def show(
    mem: Engram, host: str, listening: socket.socket, begun: Callable[[str], None], ended: Callable[[], None] = lambda: None
) -> None:
    """The same for the page of who started it, as the reader that `mem` has. `begun` is told a link that signs in, once."""
    app, own = prepare(mem, host, owners(mem))
    assert own is not None  # noqa: S101  it was given
    secret = app.state.sessions.invite(f"Bearer {own.secret}")
    _run(app, mem, listening, lambda address: begun(f"{address}/ui/enter?key={secret}"), ended)


def _run(
    app: Starlette, mem: Engram, listening: socket.socket, begun: Callable[[str], None], ended: Callable[[], None] = lambda: None
) -> None:
    Server(app, mem.settings.now.serve_drain_s, lambda: begun(address_of(listening)), ended).run(sockets=[listening])
