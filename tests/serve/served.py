"""A real server on a free port, and a client of the standard library alone."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from patience import PATIENCE_S, wait_until
from starlette.applications import Starlette

from engram.engine import Engram
from engram.serve.network.server import bind
from engram.serve.web import WebServer, prepare


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json["code"])


@dataclass(frozen=True)
class Api:
    """A client with one token."""

    port: int
    token: str = ""

    def __call__(self, method: str, path: str, body: object = None, *, raw: bytes | None = None, **headers: str | None) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            sent = raw if raw is not None else None if body is None else json.dumps(body).encode()
            more = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            more |= {name.replace("_", "-").title(): value for name, value in headers.items() if value is not None}
            connection.request(method, path, sent, {name: value for name, value in more.items() if value})
            got = connection.getresponse()
            return Answer(got.status, {name.lower(): value for name, value in got.getheaders()}, got.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str | None) -> Answer:
        return self("GET", path, **headers)

    def post(self, path: str, body: object, **headers: str | None) -> Answer:
        return self("POST", path, body, **headers)


@contextmanager
def serving(mem: Engram) -> Iterator[Api]:
    """Serve an open vault in this block; the client has the temporary token of the server, if it made one."""
    app, own = prepare(mem, "127.0.0.1")
    with running(app) as port:
        yield Api(port, own.secret if own else "")


@contextmanager
def running(app: Starlette) -> Iterator[int]:
    """Run an application on a free port in this block."""
    listening = bind("127.0.0.1", 0)
    server = WebServer(app, 5.0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    wait_until(lambda: server.started, "the server did not start")
    try:
        yield listening.getsockname()[1]
    finally:
        server.stop()
        thread.join(PATIENCE_S)
        listening.close()
        assert not thread.is_alive()
