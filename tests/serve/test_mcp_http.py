"""The MCP server over HTTP: the official client with tokens, and callers that are refused."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx2
import numpy as np
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from patience import PATIENCE_S, wait_until

import engram
from engram.engine import Engram
from engram.errors import ConfigInvalid
from engram.models.embedders import CallableEmbedder, Vectors
from engram.serve.mcp.http import PATH, make_app
from engram.serve.network.server import NetworkServer, bind, url_of
from engram.serve.operations import OPERATIONS
from engram.types import Reader, Role, Scope

T = TypeVar("T")
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"}},
}


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with engram.open(tmp_path / "vault", settings={"model": "none"}) as opened:
        yield opened.as_reader(Reader(role=Role.OWNER))


@contextmanager
def serving(mem: Engram, profile: str = "core") -> Iterator[str]:
    app, _ = make_app(mem, profile, "127.0.0.1")
    listening = bind("127.0.0.1", 0)
    server = NetworkServer(app, 5.0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    wait_until(lambda: server.started, "the server did not start")
    try:
        yield url_of(listening) + PATH
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)
        listening.close()
        assert not thread.is_alive()


def talk(address: str, secret: str, work: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    async def go() -> T:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=120) as web,
            Client(streamable_http_client(address, http_client=web), mode=mode) as client,
        ):
            return await work(client)

    return anyio.run(go)


def post(address: str, message: object = INITIALIZE, **headers: str) -> Any:
    given = {"Accept": "application/json, text/event-stream", **{name.title(): value for name, value in headers.items()}}
    return httpx2.post(address, json=message, headers=given, timeout=120)


def calling(name: str, arguments: object, **meta: object) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments, "_meta": meta}}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_token_identifies_the_caller(mem: Engram, mode: str) -> None:
    rex = mem.grant("rex", scope=Scope(agent="rex"), role=Role.AGENT, writes=True).secret
    ada = mem.grant("ada", scope=Scope(agent="ada"), role=Role.AGENT, writes=True).secret

    async def keep(client: Client) -> str:
        kept = await client.call_tool("memory_store", {"text": "The vault code is platypus"})
        return str(kept.structured_content["id"])

    with serving(mem) as address:
        secret = talk(address, rex, keep, mode)

        async def look(client: Client) -> list[str]:
            said = [
                await client.call_tool("memory_search", {"query": "vault code"}),
                await client.call_tool("memory_search", {"query": "vault code", "agent": "rex"}),
                await client.call_tool("memory_list", {"status": "any"}),
                await client.call_tool("memory_delete", {"ids": [secret], "erase": True}),
                await client.read_resource("memory://recent"),
            ]
            return [one.model_dump_json() for one in said]

        assert "platypus" not in "".join(talk(address, ada, look, mode))
        assert "platypus" in "".join(talk(address, rex, look, mode)[:1])


def test_a_token_is_read_only_over_the_network_unless_granted_more(mem: Engram) -> None:
    mem.remember("The office is in Lisbon")
    guest = mem.grant("a reader").secret

    async def work(client: Client) -> tuple[set[str], Any, Any]:
        names = {tool.name for tool in (await client.list_tools()).tools}
        for one in (await client.list_resources()).resources:
            assert (await client.read_resource(one.uri)).contents  # nothing is listed that it may not read
        found = await client.call_tool("memory_search", {"query": "where is the office?"})
        return names, found, await client.call_tool("memory_store", {"text": "The office moved to Porto"})

    with serving(mem) as address:
        names, found, refused = talk(address, guest, work)
    assert names == {"memory_search", "memory_context", "memory_list", "memory_reason"}
    assert "Lisbon" in found.content[0].text
    assert refused.is_error
    assert refused.content[0].text.startswith("E4001")
    assert "token create NAME --write" in refused.content[0].text


def test_a_missing_or_revoked_token_a_foreign_host_and_a_foreign_origin_are_refused(mem: Engram) -> None:
    granted = mem.grant("once")
    with serving(mem) as address:
        bearer = f"Bearer {granted.secret}"
        assert post(address, authorization=bearer).status_code == 200
        for headers, status in (
            ({}, 401),
            ({"authorization": "Bearer engram_" + "x" * 43}, 401),
            ({"authorization": "Basic " + granted.secret}, 401),
            ({"authorization": bearer, "host": "evil.example"}, 421),
            ({"authorization": bearer, "origin": "https://evil.example"}, 403),
            ({"authorization": bearer, "origin": "http://["}, 403),
        ):
            refused = post(address, **headers)
            assert refused.status_code == status
            assert refused.json()["code"] == "E4001"
        mem.revoke(granted.token.id)
        assert post(address, authorization=bearer).status_code == 401


# ── how far a call is, and calls that nobody waits for any more ────────────────────────────────────────────────────────

TURNS = [{"text": f"The shed number {number} is painted green", "speaker": "ann"} for number in range(300)]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_with_a_progress_token_gets_the_progress_of_a_long_call(mem: Engram, mode: str) -> None:
    rex = mem.grant("rex", scope=Scope(agent="rex"), role=Role.AGENT, writes=True).secret
    told: dict[str, list[tuple[float, float | None, str | None]]] = {}

    async def work(client: Client) -> None:
        for name, arguments in (("memory_ingest", {"turns": TURNS}), ("memory_consolidate", {}), ("memory_dream", {})):
            said = told.setdefault(name, [])

            async def note(done: float, total: float | None, message: str | None, said: list[Any] = said) -> None:
                said.append((done, total, message))

            assert not (await client.call_tool(name, arguments, progress_callback=note)).is_error

    with serving(mem, "full") as address:
        talk(address, rex, work, mode)
    assert told["memory_ingest"][-1] == (1.0, 1.0, "300 taken in")
    assert all(told.values())
    assert {f"memory_{name}" for name, one in OPERATIONS.items() if one.reports_progress} == told.keys()


def test_only_a_long_call_with_a_progress_token_is_answered_by_a_stream(mem: Engram) -> None:
    bearer = "Bearer " + mem.grant("rex", scope=Scope(agent="rex"), role=Role.AGENT, writes=True).secret
    long, short = ("memory_ingest", {"turns": TURNS[:10]}), ("memory_list", {})
    both = "application/json, text/event-stream"
    with serving(mem, "full") as address:
        for (name, arguments), meta, accept, kind in (
            (long, {"progressToken": 1}, both, "text/event-stream"),
            (long, {"progressToken": 1}, "application/json", "application/json"),
            (long, {"progressToken": 1}, "*/*", "application/json"),
            (long, {}, both, "application/json"),
            (short, {"progressToken": 1}, both, "application/json"),
        ):
            answer = post(address, calling(name, arguments, **meta), authorization=bearer, accept=accept)
            assert answer.status_code == 200
            assert answer.headers["content-type"].partition(";")[0] == kind
            assert '"isError":false' in answer.text
            assert ("notifications/progress" in answer.text) is (kind == "text/event-stream")
        waiting = httpx2.get(address, headers={"Authorization": bearer, "Accept": "text/event-stream"}, timeout=120)
        assert (waiting.status_code, waiting.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("version", ["2026-07-28", "2025-06-18"])
def test_a_disconnected_client_cancels_its_call(tmp_path: Path, version: str) -> None:
    begun, held = threading.Event(), threading.Event()

    def slow(texts: Sequence[str]) -> list[Vectors]:
        begun.set()
        held.wait(120)
        return [np.ones(8, np.float32) for _ in texts]

    about = {"protocolVersion": version, "clientCapabilities": {}}
    meta: dict[str, object] = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    body = json.dumps(calling("memory_store", {"text": "The API runs on Fly.io"}, **meta))
    headers = {"Accept": "application/json", "Content-Type": "application/json", "Mcp-Protocol-Version": version}
    headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "memory_store"}
    with engram.open(tmp_path / "vault", embedder=CallableEmbedder(slow, name="slow", dimensions=8)) as opened:
        owner = opened.as_reader(Reader(role=Role.OWNER))
        headers["Authorization"] = "Bearer " + owner.grant("rex", role=Role.AGENT, writes=True).secret
        with serving(owner) as address:
            caller = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
            caller.request("POST", PATH, body, headers)
            assert begun.wait(120)
            caller.sock.shutdown(socket.SHUT_WR)
            assert caller.sock.recv(1) == b""  # the server has noticed
            time.sleep(0.2)
            held.set()
            caller.close()
        assert owner.list().memories == ()


@pytest.mark.parametrize("version", ["2026-07-28", "2025-06-18"])
def test_a_lone_surrogate_does_not_fail_a_call(mem: Engram, version: str) -> None:
    about = {"protocolVersion": version, "clientCapabilities": {}}
    meta: dict[str, object] = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    body = json.dumps(calling("memory_store", {"text": "half \ud83d of it"}, **meta))
    headers = {"Accept": "application/json", "Content-Type": "application/json", "Mcp-Protocol-Version": version}
    headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "memory_store"}
    headers["Authorization"] = "Bearer " + mem.grant("rex", role=Role.AGENT, writes=True).secret
    with serving(mem) as address:
        kept = httpx2.post(address, content=body, headers=headers, timeout=120).json()
    assert kept["result"]["structuredContent"]["text"] == "half ? of it"


def test_a_body_that_is_not_one_message_is_refused_without_quoting_it(mem: Engram) -> None:
    secret = mem.grant("rex", scope=Scope(agent="rex"), role=Role.AGENT).secret
    batch = [calling("memory_search", {"query": "platypus"}), {"jsonrpc": "2.0", "method": "notifications/initialized"}]
    no_message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": "platypus"}
    with serving(mem) as address:
        for version in ("2025-03-26", "2025-06-18", "2026-07-28"):
            for said, code, named, why in (
                (batch, -32600, None, "batches"),
                ([], -32600, None, "batches"),
                (no_message, -32600, 7, "Invalid"),
                ("platypus", -32600, None, "Invalid"),
            ):
                answer = post(address, said, authorization=f"Bearer {secret}", **{"mcp-protocol-version": version})
                told = answer.json()
                assert (answer.status_code, told["error"]["code"], told["id"]) == (400, code, named)
                assert why in told["error"]["message"]
                assert "platypus" not in answer.text
        odd = httpx2.post(address, content=b'{"platypus', headers={"Authorization": f"Bearer {secret}"})
        assert (odd.status_code, odd.json()["error"]["code"], "platypus" in odd.text) == (400, -32700, False)


def test_an_allowed_origin_may_call_from_a_browser(mem: Engram) -> None:
    mem.settings.set(serve_origins="https://notes.example")
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization, mcp-method"}
    with serving(mem) as address:
        for origin, status in (("https://notes.example", 200), ("https://evil.example", 400)):
            assert httpx2.options(address, headers={"Origin": origin, **asked}, timeout=120).status_code == status


def test_a_network_address_needs_a_token_and_a_loopback_address_makes_one(mem: Engram) -> None:
    with pytest.raises(ConfigInvalid):
        make_app(mem, "core", "0.0.0.0")
    assert make_app(mem, "core", "127.0.0.1")[1] is not None
    mem.grant("a host")
    assert make_app(mem, "core", "0.0.0.0")[1] is None
