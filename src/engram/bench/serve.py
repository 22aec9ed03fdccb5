"""How a server holds up: so many requests, so many of them at once, over the loopback; and what it leaves behind.

A vault is made for it and is gone afterwards. Questions, lists and writes take turns. Times are of whole calls as a caller
sees them; beside them stands the same operation called in process, one after the other, in the same run. Callers are in this
process too: the processor time of a request is theirs and the server's.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engram.engine import Engram
from engram.env import Env
from engram.errors import BackgroundStalled
from engram.serve.network.server import bound
from engram.serve.operations import OPERATIONS, read
from engram.serve.web import Server, prepare
from engram.types import Reader, Role, Scope
from engram.values.frozen import frozen

_MEMORIES = 200
_DIRECT = 60
_PATIENCE_S = 30.0
_FILES = Path("/proc/self/fd")


@frozen
class Served:
    """Milliseconds of calls, how many failed, and threads and descriptors: before the vault was open, while it is served, and
    when it is closed again."""

    requests: int
    in_flight: int
    failed: int
    a_second: float
    p50_ms: float
    p99_ms: float
    direct_p50_ms: float
    cpu_ms: float
    direct_cpu_ms: float
    threads: tuple[int, int, int]
    descriptors: tuple[int, int, int]


Progress = Callable[[str, float | None], None]


def run(requests: int, in_flight: int, *, progress: Progress) -> Served:
    env = Env()
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        settings = {"key_source": "file", "key_file": f"{folder}/key", "serve_rate": 1_000_000, "ask_per_minute": 0}
        before = _held()
        with Engram.open(f"{folder}/vault", settings=settings, env=env) as opened:
            mem = opened.as_reader(Reader(Scope(agent="bench"), role=Role.OWNER))
            for number in range(_MEMORIES):
                mem.remember(f"Team {number} owns service number {number} and ships it every {number % 28 + 1} days")
            _timed(env, _DIRECT, lambda number: _direct(mem, number))  # what is loaded once
            spent = time.process_time()
            direct = _timed(env, _DIRECT, lambda number: _direct(mem, _DIRECT + number))
            direct_cpu = (time.process_time() - spent) / _DIRECT
            times, failed, took, cpu, during = _through(mem, requests, in_flight, env, progress)
        after = _held()
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    held = list(zip(before, during, after, strict=True))
    return Served(
        requests=requests,
        in_flight=in_flight,
        failed=failed,
        a_second=requests / took,
        p50_ms=cuts[49],
        p99_ms=cuts[98],
        direct_p50_ms=statistics.median(direct),
        cpu_ms=cpu / requests * 1000,
        direct_cpu_ms=direct_cpu * 1000,
        threads=held[0],
        descriptors=held[1],
    )


def _through(
    mem: Engram, requests: int, in_flight: int, env: Env, progress: Progress
) -> tuple[list[float], int, float, float, tuple[int, int]]:
    """The same through a server in a thread of its own."""
    app, own = prepare(mem, "127.0.0.1")
    listening = bound("127.0.0.1", 0)
    connections: list[http.client.HTTPConnection] = []
    server = Server(app, _PATIENCE_S)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="engram-bench-server")
    thread.start()
    try:
        _wait(env, lambda: server.started)
        call = _caller(listening.getsockname()[1], own.secret if own else "", connections)
        _spread(call, in_flight, in_flight, env, progress)  # connections, threads and caches are made once
        spent = time.process_time()
        return (*_spread(call, requests, in_flight, env, progress), time.process_time() - spent, _held())
    finally:
        for connection in connections:
            connection.close()
        server.stop()
        thread.join(_PATIENCE_S)
        listening.close()


def render(found: Served) -> str:
    return "\n".join(
        [
            f"{found.requests:,} requests, {found.in_flight} in flight: {found.failed} failed, {found.a_second:,.0f} a second",
            f"p50 {found.p50_ms:.1f} ms, p99 {found.p99_ms:.1f} ms; one at a time in process {found.direct_p50_ms:.1f} ms (p50)",
            f"processor time {found.cpu_ms:.1f} ms, {found.cpu_ms / found.direct_cpu_ms:.2f} × that of the same calls in process",
            "threads before, while and after: {}, {}, {}".format(*found.threads),
            "descriptors before, while and after: {}, {}, {}".format(*found.descriptors),
        ]
    )


_REQUESTS: Sequence[tuple[str, str, dict[str, object] | None, str]] = (
    ("POST", "/v1/search", {"query": "who owns service number 17?", "limit": 5}, "recall"),
    ("GET", "/v1/memories?limit=20", None, "list"),
    ("POST", "/v1/memories", {"text": "Somebody shipped something"}, "remember"),
)


def _direct(mem: Engram, number: int) -> None:
    _, _, body, name = _REQUESTS[number % len(_REQUESTS)]
    operation = OPERATIONS[name]
    operation.answer(mem, read(operation, _worded(body, number) or {"limit": 20}))


def _worded(body: dict[str, object] | None, number: int) -> dict[str, object] | None:
    return {**body, "text": f"{body['text']}, the {number}th time"} if body and "text" in body else body


def _caller(port: int, token: str, made: list[http.client.HTTPConnection]) -> Callable[[int], int]:
    """Each thread keeps its connection, as clients do."""
    kept = threading.local()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(number: int) -> int:
        if not hasattr(kept, "connection"):
            kept.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
            made.append(kept.connection)
        method, path, body, _ = _REQUESTS[number % len(_REQUESTS)]
        sent = _worded(body, number)
        kept.connection.request(method, path, None if sent is None else json.dumps(sent), headers)
        answer = kept.connection.getresponse()
        answer.read()
        return int(answer.status)

    return call


def _spread(
    call: Callable[[int], int], count: int, in_flight: int, env: Env, progress: Progress
) -> tuple[list[float], int, float]:
    times, failed = [], 0
    began = env.monotonic()

    def one(number: int) -> tuple[float, bool]:
        start = env.monotonic()
        try:
            good = call(number) < 400
        except (OSError, http.client.HTTPException):
            good = False
        return (env.monotonic() - start) * 1000, good

    with ThreadPoolExecutor(in_flight, "engram-bench-caller") as callers:
        for done, (took, good) in enumerate(callers.map(one, range(count)), 1):
            times.append(took)
            failed += not good
            if done % 50 == 0:
                progress(f"{done:,} requests", done / count)
    return times, failed, env.monotonic() - began


def _timed(env: Env, count: int, work: Callable[[int], None]) -> list[float]:
    times = []
    for number in range(count):
        start = env.monotonic()
        work(number)
        times.append((env.monotonic() - start) * 1000)
    return times


def _held() -> tuple[int, int]:
    """Threads and descriptors of this process; descriptors are 0 where the system does not tell."""
    return threading.active_count(), len(os.listdir(_FILES)) if _FILES.exists() else 0


def _wait(env: Env, ready: Callable[[], bool]) -> None:
    deadline = env.monotonic() + _PATIENCE_S
    while not ready():
        if env.monotonic() > deadline:
            raise BackgroundStalled("the server did not start.")
        env.sleep(0.01)
