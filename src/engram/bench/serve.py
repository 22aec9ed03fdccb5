"""Measure a server over the loopback: latency and throughput with many callers at once, and threads and descriptors left behind.

The vault is temporary. Recalls, lists and writes alternate. Times are of whole calls as a client sees them; for comparison the
same operations are called in process, one after the other, in the same run. The clients run in this process too, so the CPU time
of a request is theirs and the server's.
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
from engram.serve.network.server import bind
from engram.serve.operations import OPERATIONS, read
from engram.serve.operations.operation import ProgressCallback
from engram.serve.web import WebServer, prepare
from engram.types import Reader, Role, Scope
from engram.values.frozen import frozen

_MEMORIES = 200
_DIRECT_CALLS = 60
_TIMEOUT_S = 30.0
_DESCRIPTORS = Path("/proc/self/fd")


@frozen
class LoadResults:
    """Figures of a run. Threads and descriptors: before the vault was opened, while it was served, and after it was closed."""

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


def run(requests: int, in_flight: int, *, progress: ProgressCallback) -> LoadResults:
    """Send so many requests, `in_flight` of them at once."""
    env = Env()
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        settings = {"key_source": "file", "key_file": f"{folder}/key", "serve_rate": 1_000_000, "ask_per_minute": 0}
        before = _threads_and_descriptors()
        with Engram.open(f"{folder}/vault", settings=settings, env=env) as opened:
            mem = opened.as_reader(Reader(Scope(agent="bench"), role=Role.OWNER))
            for number in range(_MEMORIES):
                mem.remember(f"Team {number} owns service number {number} and ships it every {number % 28 + 1} days")
            _timed(env, _DIRECT_CALLS, lambda number: _call_directly(mem, number))  # warms up
            began_cpu = time.process_time()
            direct = _timed(env, _DIRECT_CALLS, lambda number: _call_directly(mem, _DIRECT_CALLS + number))
            direct_cpu = (time.process_time() - began_cpu) / _DIRECT_CALLS
            times, failed, took, cpu, during = _call_server(mem, requests, in_flight, env, progress)
        after = _threads_and_descriptors()
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    threads, descriptors = zip(before, during, after, strict=True)
    return LoadResults(
        requests=requests,
        in_flight=in_flight,
        failed=failed,
        a_second=requests / took,
        p50_ms=cuts[49],
        p99_ms=cuts[98],
        direct_p50_ms=statistics.median(direct),
        cpu_ms=cpu / requests * 1000,
        direct_cpu_ms=direct_cpu * 1000,
        threads=threads,
        descriptors=descriptors,
    )


def _call_server(
    mem: Engram, requests: int, in_flight: int, env: Env, progress: ProgressCallback
) -> tuple[list[float], int, float, float, tuple[int, int]]:
    """Send the requests to a server in a thread.

    Return the times of the calls in ms, how many failed, the seconds that all took, their CPU seconds, and threads and
    descriptors.
    """
    app, own = prepare(mem, "127.0.0.1")
    listening = bind("127.0.0.1", 0)
    connections: list[http.client.HTTPConnection] = []
    server = WebServer(app, _TIMEOUT_S)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="engram-bench-server")
    thread.start()
    try:
        _wait(env, lambda: server.started)
        call = _client(listening.getsockname()[1], own.secret if own else "", connections)
        _call_at_once(call, in_flight, in_flight, env, progress)  # makes connections, threads and caches
        began_cpu = time.process_time()
        figures = _call_at_once(call, requests, in_flight, env, progress)
        return (*figures, time.process_time() - began_cpu, _threads_and_descriptors())
    finally:
        for connection in connections:
            connection.close()
        server.stop()
        thread.join(_TIMEOUT_S)
        listening.close()


def render(results: LoadResults) -> str:
    """Return the figures as text."""
    rate = f"{results.failed} failed, {results.a_second:,.0f} a second"
    direct = f"one at a time in process {results.direct_p50_ms:.1f} ms (p50)"
    ratio = results.cpu_ms / results.direct_cpu_ms
    return "\n".join(
        [
            f"{results.requests:,} requests, {results.in_flight} in flight: {rate}",
            f"p50 {results.p50_ms:.1f} ms, p99 {results.p99_ms:.1f} ms; {direct}",
            f"processor time {results.cpu_ms:.1f} ms, {ratio:.2f} × that of the same calls in process",
            "threads before, while and after: {}, {}, {}".format(*results.threads),
            "descriptors before, while and after: {}, {}, {}".format(*results.descriptors),
        ]
    )


_REQUESTS: Sequence[tuple[str, str, dict[str, object] | None, str]] = (
    ("POST", "/v1/search", {"query": "who owns service number 17?", "limit": 5}, "recall"),
    ("GET", "/v1/memories?limit=20", None, "list"),
    ("POST", "/v1/memories", {"text": "Somebody shipped something"}, "remember"),
)


def _call_directly(mem: Engram, number: int) -> None:
    _, _, body, name = _REQUESTS[number % len(_REQUESTS)]
    operation = OPERATIONS[name]
    operation.answer(mem, read(operation, _numbered(body, number) or {"limit": 20}))


def _numbered(body: dict[str, object] | None, number: int) -> dict[str, object] | None:
    """Return the body with the number in its text, so that no write repeats an earlier one."""
    return {**body, "text": f"{body['text']}, the {number}th time"} if body and "text" in body else body


def _client(port: int, token: str, connections: list[http.client.HTTPConnection]) -> Callable[[int], int]:
    """Return a function that sends one request and returns its status. Each thread keeps its connection, as clients do."""
    local = threading.local()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def call(number: int) -> int:
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_S)
            connections.append(local.connection)
        method, path, body, _ = _REQUESTS[number % len(_REQUESTS)]
        sent = _numbered(body, number)
        local.connection.request(method, path, None if sent is None else json.dumps(sent), headers)
        answer = local.connection.getresponse()
        answer.read()
        return int(answer.status)

    return call


def _call_at_once(
    call: Callable[[int], int], count: int, in_flight: int, env: Env, progress: ProgressCallback
) -> tuple[list[float], int, float]:
    """Make `count` calls, `in_flight` at once. Return the times of all in ms, how many failed, and the seconds they took."""
    times, failed = [], 0
    began = env.monotonic()

    def timed_call(number: int) -> tuple[float, bool]:
        start = env.monotonic()
        try:
            good = call(number) < 400
        except (OSError, http.client.HTTPException):
            good = False
        return (env.monotonic() - start) * 1000, good

    with ThreadPoolExecutor(in_flight, "engram-bench-caller") as callers:
        for done, (took, good) in enumerate(callers.map(timed_call, range(count)), 1):
            times.append(took)
            failed += not good
            if done % 50 == 0:
                progress(f"{done:,} requests", done / count)
    return times, failed, env.monotonic() - began


def _timed(env: Env, count: int, work: Callable[[int], None]) -> list[float]:
    """Return the milliseconds of each of `count` calls."""
    times = []
    for number in range(count):
        start = env.monotonic()
        work(number)
        times.append((env.monotonic() - start) * 1000)
    return times


def _threads_and_descriptors() -> tuple[int, int]:
    """Return the numbers of threads and descriptors of this process; 0 descriptors where the system does not list them."""
    return threading.active_count(), len(os.listdir(_DESCRIPTORS)) if _DESCRIPTORS.exists() else 0


def _wait(env: Env, ready: Callable[[], bool]) -> None:
    deadline = env.monotonic() + _TIMEOUT_S
    while not ready():
        if env.monotonic() > deadline:
            raise BackgroundStalled("the server did not start.")
        env.sleep(0.01)
