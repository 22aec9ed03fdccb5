"""The page on a port of its own, and a visitor without a browser: cookies, forms and nothing else."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode

from serve.served import Answer, running

from engram.engine import Engram
from engram.serve.http.listening import owners
from engram.serve.http.running import prepare

_FORM = "application/x-www-form-urlencoded"


@dataclass
class Visitor:
    """Whoever is at one browser: keeps its cookies, and sends along what the last page's forms had in them."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""

    def __call__(self, method: str, path: str, form: dict[str, str] | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
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
        """The page as somebody reads it: its HTML, with what was escaped put back."""
        got = self.get(path)
        assert got.status == 200, (path, got.status, got.body.decode())
        return unescape(got.body.decode())

    def post(self, path: str, **form: str) -> Answer:
        return self("POST", path, {"csrf": self.csrf, **form})

    def sign_in(self, token: str) -> Answer:
        return self("POST", "/ui/sign-in", {"token": token, "next": ""})


@contextmanager
def showing(mem: Engram) -> Iterator[tuple[int, str]]:
    """As `engram ui` does for this reader: the port, and the path of the link that signs in once."""
    app, own = prepare(mem, "127.0.0.1", owners(mem))
    assert own is not None
    secret = app.state.sessions.invite(f"Bearer {own.secret}")
    with running(app) as port:
        yield port, f"/ui/enter?key={secret}"
