"""The MCP server over HTTP: the official client with tokens, and callers who should not be there."""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

import engram
from engram.engine import Engram
from engram.errors import ConfigInvalid
from engram.serve.http.listening import address_of, bound
from engram.serve.mcp.http import PATH, make_app, server_of
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
    listening = bound("127.0.0.1", 0)
    server = server_of(app, 5.0)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    try:
        yield address_of(listening) + PATH
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
        assert not thread.is_alive()


def talk(address: str, secret: str, work: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    async def go() -> T:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {secret}"}, timeout=30) as http,
            Client(streamable_http_client(address, http_client=http), mode=mode) as client,
        ):
            return await work(client)

    return anyio.run(go)


def post(address: str, **headers: str) -> Any:
    given = {"Accept": "application/json, text/event-stream", **{name.title(): value for name, value in headers.items()}}
    return httpx2.post(address, json=INITIALIZE, headers=given, timeout=30)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_token_says_who_asks(mem: Engram, mode: str) -> None:
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


def test_who_comes_from_the_network_reads_only_unless_granted_more(mem: Engram) -> None:
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


def test_no_token_a_revoked_one_a_strange_name_and_a_strange_page_are_turned_away(mem: Engram) -> None:
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


def test_an_address_that_others_reach_needs_a_token_and_one_at_home_makes_its_own(mem: Engram) -> None:
    with pytest.raises(ConfigInvalid):
        make_app(mem, "core", "0.0.0.0")
    assert make_app(mem, "core", "127.0.0.1")[1] is not None
    mem.grant("a host")
    assert make_app(mem, "core", "0.0.0.0")[1] is None
