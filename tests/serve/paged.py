"""The pages on a port of their own, and a visitor without a browser, who has cookies and forms."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

from recall.vaults import open_engram
from serve.served import Answer, running

from engram.engine import Engram
from engram.serve.network.server import reader_token
from engram.serve.page import routes
from engram.serve.web import prepare
from engram.types import Policy, Reader, Role, Scope

_FORM = "application/x-www-form-urlencoded"
OWNER = Reader(Scope(agent="rex"), Policy.ALL, Role.OWNER)


@dataclass
class Visitor:
    """A browser's user: keeps cookies, and sends the CSRF secret of the last page with each form."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""

    def __call__(self, method: str, path: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            sent = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}
            sent |= {"Content-Type": _FORM} if form is not None else {}
            sent |= {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, None if form is None else urlencode(form), sent)
            got = connection.getresponse()
            answer = Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
        finally:
            connection.close()
        if found := re.match(r"(engram_\w+)=([^;]*)", answer.headers.get("set-cookie", "")):
            self.cookies[found[1]] = found[2]
        if found := re.search(r'name="csrf" value="([^"]+)"', answer.body.decode()):
            self.csrf = found[1]
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self("GET", path, **headers)

    def read(self, path: str) -> str:
        """Return the HTML of a page with its escaped characters restored."""
        got = self.get(path)
        assert got.status == 200, (path, got.status, got.body.decode())
        return unescape(got.body.decode())

    def post(self, path: str, **form: str) -> Answer:
        return self("POST", path, {"csrf": self.csrf, **form})

    def sign_in(self, token: str) -> Answer:
        return self("POST", "/ui/sign-in", {"token": token, "next": ""})


@contextmanager
def showing(mem: Engram) -> Iterator[tuple[int, str]]:
    """Serve the pages as `engram ui` does for this reader; yield the port and the path of the link that signs in once."""
    app, own = prepare(mem, "127.0.0.1", reader_token(mem))
    assert own is not None
    secret = app.state.sessions.invite(f"Bearer {own.secret}")
    with running(app) as port:
        yield port, f"/ui/enter?key={secret}"


@contextmanager
def kept(path: Path, **settings: object) -> Iterator[Engram]:
    """Open a vault as its owner, without rate limits, delays, guards and background passes."""
    calm = {"ask_per_minute": 0, "answer_grid_ms": 0, "guard_injection": False, "dream": False}
    with open_engram(path, **{**calm, **settings}) as opened:
        yield opened.as_reader(OWNER)


@contextmanager
def signed_in(mem: Engram) -> Iterator[Visitor]:
    """Yield a visitor who signed in by the link."""
    with showing(mem) as (port, link):
        visitor = Visitor(port)
        assert visitor.get(link).status == 200
        yield visitor


def token(mem: Engram, agent: str, *, role: Role = Role.AGENT, writes: bool = True) -> str:
    return mem.grant(f"{agent}'s", scope=Scope(agent=agent), role=role, writes=writes).secret


def every_page(id: str, name: str) -> list[str]:
    """Return the address of every page, about this memory and this entity."""
    filled = {"/search": f"?q={name}&why={id}", "/reason": f"?q={name}", "/context": f"?q={name}", "/timeline": f"?about={name}"}
    filled |= {"/entity": f"?name={name}", "/graph": f"?memory={id}", "/memories": "?status=any"}
    places = [at.partition(" ")[2] for at in routes.PAGES if at.startswith("GET")]
    pages = [f"/ui{path.replace('{id}', id)}{filled.get(path, '')}" for path in places]
    return [*pages, "/ui/search", "/ui/timeline", "/ui/graph", f"/ui/graph?entity={name}", "/ui/entities?kind=person"]
