"""`engram serve` as a process: it prints its address, ends cleanly on a signal, and loses nothing when killed."""

from __future__ import annotations

import builtins
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S, wait_until
from serve.console import COMMAND, Engram
from serve.served import Api, serving

import engram as library
from engram.errors import ConfigInvalid
from engram.serve.network.server import bind
from engram.types import Policy, Reader, Role

signals = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


def healthy(port: int) -> bool:
    try:
        return Api(port).get("/healthz").status == 200
    except OSError:
        return False


@contextmanager
def process() -> Iterator[tuple[subprocess.Popen[str], Api]]:
    with subprocess.Popen(
        [*COMMAND, "--agent", "rex", "serve", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert running.stdout is not None
            told = json.loads("".join(iter(running.stdout.readline, "}\n")) + "}")
            api = Api(int(told["address"].rpartition(":")[2]), told["token"] or "")
            wait_until(lambda: healthy(api.port), "the server did not start")
            yield running, api
        finally:
            if running.poll() is None:
                running.kill()


@signals
def test_a_server_ends_cleanly_on_sigterm(made: Engram) -> None:
    with process() as (running, api):
        assert api.post("/v1/memories", {"text": "kept before the end"}).status == 201
        stream = http.client.HTTPConnection("127.0.0.1", api.port, timeout=120)
        stream.request("GET", "/v1/events", headers={"Authorization": f"Bearer {api.token}"})
        listening = stream.getresponse()
        listening.readline()
        running.send_signal(signal.SIGTERM)
        assert running.wait(PATIENCE_S) == -signal.SIGTERM
        assert listening.read().endswith(b"\n")  # the stream was ended, not cut off
        stream.close()
        assert running.stderr is not None
        assert "Traceback" not in running.stderr.read()
    assert not list(Path(os.environ["ENGRAM_HOME"]).glob("*-wal"))
    assert "kept before the end" in made("list", "--all").out
    assert "in order" in made("status").out


@signals
def test_answered_writes_survive_a_kill(made: Engram) -> None:
    with process() as (running, api):
        kept = [api.post("/v1/memories", {"text": f"number {number}"}).json["id"] for number in range(5)]
        running.kill()
        running.wait(PATIENCE_S)
    listed = made("list", "--all", "--json").json["memories"]
    assert {memory["id"] for memory in listed} == set(kept)


def test_two_clients_and_the_command_line_use_one_vault_at_once(made: Engram) -> None:
    with process() as (_, api), ThreadPoolExecutor(2) as clients:
        kept = clients.map(lambda who: [_one(api, 3 * number + 300 * who) for number in range(5)], range(2))
        assert [made("--agent", "rex", "remember", f"from the console, {number}").code for number in range(3)] == [0] * 3
        assert [status for each in kept for status in each] == [201] * 10
        assert len(api.get("/v1/memories?limit=50").json["memories"]) == 13


def test_a_refused_address_makes_no_vault(engram: Engram, vault: Path) -> None:
    with closing(bind("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for command in (("serve",), ("mcp", "--http")):
            reachable = engram(*command, "--host", "0.0.0.0")
            assert (reachable.code, reachable.err[:7], "0.0.0.0" in reachable.err) == (1, "E5003: ", True)
            in_use = engram(*command, "--port", port)
            assert (in_use.code, in_use.err[:7], port in in_use.err, "--port" in in_use.err) == (1, "E5003: ", True, True)
            assert engram(*command, "--port", "65536").code == 2
    assert not vault.exists()


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "a" * 300, "127.0.0.1:99", "", " ", "\udcff"])
def test_an_invalid_address_is_refused(host: str) -> None:
    with pytest.raises(ConfigInvalid):
        bind(host, 0)


def test_a_used_port_and_a_public_address_are_refused(made: Engram) -> None:
    public = made("serve", "--host", "0.0.0.0")
    assert public.code == 1
    assert public.err.startswith("E5003: 0.0.0.0 can be reached from other machines")
    taken = made("serve", "--host", "192.0.2.1", "--port", "1", "--json")
    assert taken.code == 1
    made("token", "create", "one")
    taken = made("serve", "--host", "192.0.2.1", "--port", "1", "--json")
    assert json.loads(taken.err)["error"]["code"] == "E5003"


def test_the_listening_socket_disables_nagles_algorithm() -> None:
    with closing(bind("127.0.0.1", 0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # else asyncio leaves Nagle's algorithm on: 40 ms for every answer


def test_serve_without_its_extra_names_the_package_to_install(made: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith(("uvicorn", "starlette")):
            raise ModuleNotFoundError("gone", name="starlette")
        return real(name, *rest, **more)

    for name in [name for name in sys.modules if name.startswith("engram.serve.network")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    refused = made("serve")
    assert refused.code == 1
    assert 'pip install "engram-local[server]"' in refused.err


def test_the_server_loads_no_telemetry() -> None:
    """FastAPI would bring OpenTelemetry, which sends URLs and error messages wherever the environment says."""
    asked = "import sys, engram.serve.web as _; print({'opentelemetry', 'fastapi'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout == "set()\n"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors in /proc")
def test_many_parallel_requests_leak_no_thread_or_descriptor(tmp_path: Path) -> None:
    rounds = [_served(tmp_path / name, 100) for name in ("first", "second")]  # the first makes what a process makes once
    assert rounds[1] == rounds[0]


def _served(path: Path, calls: int) -> tuple[int, int]:
    """Threads and descriptors that remain after so many calls, 32 at once, once server and vault are closed."""
    with library.open(path, settings={"serve_rate": 1_000_000, "ask_per_minute": 0}) as opened:
        mem = opened.as_reader(Reader(policy=Policy.ALL, role=Role.OWNER))
        mem.remember("The platform team owns the API")
        with serving(mem) as api, ThreadPoolExecutor(32) as callers:
            assert set(callers.map(lambda number: _one(api, number), range(calls))) <= {200, 201}
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


def _one(api: Api, number: int) -> int:
    if number % 3 == 0:
        return api.post("/v1/memories", {"text": f"number {number}"}).status
    return (api.post("/v1/search", {"query": "who owns the API?"}) if number % 3 == 1 else api.get("/v1/memories")).status
