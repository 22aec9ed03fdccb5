"""A loopback server for the wire protocols of Ollama and OpenAI, whose responses a test may replace."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from engram.models.embedders import hashing_embedder


@dataclass(frozen=True)
class Asked:
    """A request as received."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


Reply = tuple[int, dict[str, str], bytes]
Raw = Iterator[bytes]  # what is sent as it stands, piece by piece


@dataclass
class Server:
    """`reply` may answer instead of the model: with an HTTP response, raw bytes, or None to break the connection."""

    url: str = ""
    dimensions: int = 512
    asked: list[Asked] = field(default_factory=list)
    reply: Callable[[Asked], Reply | Raw | None] | None = None

    @property
    def embedded(self) -> list[Asked]:
        """The requests for vectors, without liveness probes."""
        return [one for one in self.asked if one.method == "POST"]

    def answer(self, asked: Asked) -> Reply | Raw | None:
        if self.reply is not None and (asked.method == "POST" or getattr(self.reply, "probes", False)):
            return self.reply(asked)
        return self.speak(asked)

    def speak(self, asked: Asked) -> Reply:
        if asked.method == "GET":
            told = {"/api/version": {"version": "0.12.0"}, "/v1/models": {"object": "list", "data": []}}.get(asked.path)
            return said(404 if told is None else 200, told)
        vectors = hashing_embedder(asked.body.get("dimensions", self.dimensions)).passages(asked.body["input"]).tolist()
        if asked.path == "/api/embed":
            return said(200, {"model": asked.body["model"], "embeddings": [[3 * n for n in one] for one in vectors]})
        if asked.path == "/v1/embeddings":
            data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)]
            return said(200, {"object": "list", "data": data[::-1], "model": asked.body["model"]})  # the order is in `index`
        return said(404, {"error": "no such path"})


def said(status: int, value: object, **headers: str) -> Reply:
    return status, {"Content-Type": "application/json", **headers}, json.dumps(value).encode()


def probed_too(reply: Callable[[Asked], Reply | None]) -> Callable[[Asked], Reply | None]:
    """Give liveness probes the same answer."""
    reply.probes = True  # type: ignore[attr-defined]
    return reply


@contextmanager
def serving(server: Server | None = None, port: int = 0) -> Iterator[Server]:
    """Run a server for the block; afterwards its port is closed."""
    server = server or Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._do(None)

        def do_POST(self) -> None:
            self._do(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _do(self, body: Any) -> None:
            asked = Asked(self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            server.asked.append(asked)
            reply = server.answer(asked)
            self.close_connection = True
            if not isinstance(reply, tuple):
                for piece in reply or ():
                    self.wfile.write(piece)
                return
            status, headers, content = reply
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(content)), "Connection": "close"}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Listener(ThreadingHTTPServer):
        allow_reuse_address = True
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            pass  # a client that gave up

    with Listener(("127.0.0.1", port), Handler) as listener:
        server.url = f"http://127.0.0.1:{listener.server_address[1]}"
        thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()
