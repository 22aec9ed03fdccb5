"""The MCP server as a host starts it: a process on pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from patience import PATIENCE_S, wait_until
from serve.console import in_process_of_its_own
from serve.talking import SERVER, Process, server_of, talk, world

import engram
from engram.serve.mcp import handshake, profiles

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"a client","version":"1"}}}\n'
)

MODERN = {
    "io.modelcontextprotocol/clientInfo": {"name": "a client", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
}


def parameters(vault: Path, **named: str) -> StdioServerParameters:
    return StdioServerParameters(command=SERVER[0], args=list(SERVER[1:]), env=world(vault, **named))


async def store_and_search(client: Client) -> Any:
    await client.call_tool("memory_store", {"text": "The API runs on Fly.io"})
    return await client.call_tool("memory_search", {"query": "where does the API run?"})


def test_a_client_and_the_command_line_use_one_vault_at_once(tmp_path: Path) -> None:
    vault = tmp_path / "vault"

    async def work(client: Client) -> tuple[Any, Any]:
        first = await store_and_search(client)
        async with Client(parameters(vault), mode="legacy") as other:
            theirs = await other.call_tool("memory_search", {"query": "where does the API run?"})
            ran = in_process_of_its_own("--agent", "rex", "remember", "The API has two replicas", environment=world(vault))
            assert ran.code == 0, ran.err
            both = await client.call_tool("memory_search", {"query": "how many replicas has the API?"})
        assert theirs.structured_content["hits"] == first.structured_content["hits"]
        return first, both

    first, both = talk(parameters(vault), work)
    assert first.structured_content["hits"][0]["memory"]["text"] == "The API runs on Fly.io"
    assert "The API has two replicas" in both.content[0].text


def test_an_old_client_gets_one_handshake_and_the_vault_closes_when_its_input_ends(tmp_path: Path) -> None:
    server = Process(tmp_path / "vault")
    assert server.shake_hands("2024-11-05")["protocolVersion"] == "2024-11-05"
    assert server.request("ping", {}) == {}  # had the SDK's own greeting come too, this would be its answer
    assert len(server.request("tools/list", {})["tools"]) == 10
    kept = server.request("tools/call", {"name": "memory_store", "arguments": {"text": "Rex likes tea"}})
    assert kept["isError"] is False
    assert server.end() == 0
    with engram.open(tmp_path / "vault", agent="rex", settings={"model": "none"}) as mem:
        assert mem.health().crashed_before is False
        assert [one.text for one in mem.list()] == ["Rex likes tea"]


def test_our_handshake_equals_the_sdks(tmp_path: Path) -> None:
    """The handshake is answered before the SDK is loaded; this notices a new SDK that answers differently."""
    client = {"name": "a client", "version": "1"}
    with engram.open(tmp_path / "vault", settings={"model": "none"}) as mem:

        async def both(client_: Client) -> Any:
            return client_.session.server_capabilities, client_.instructions, client_.server_info

        for mode in ("legacy", "auto"):
            capabilities, instructions, info = talk(server_of(mem), both, mode)
            if mode == "legacy":
                wanted = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
                said = handshake.handshake({"id": 1, "method": "initialize", "params": wanted})
            else:
                said = handshake.handshake({"id": 1, "method": "server/discover", "params": {"_meta": MODERN}})
            assert said is not None
            assert said["capabilities"] == capabilities.model_dump(by_alias=True, exclude_none=True)
            assert said["instructions"] == instructions
            named = said.get("serverInfo") or said["_meta"]["io.modelcontextprotocol/serverInfo"]
            assert named == info.model_dump(by_alias=True, exclude_none=True)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("profile", handshake.PROFILES)
def test_our_list_of_tools_equals_the_sdks(tmp_path: Path, profile: str, mode: str) -> None:
    with engram.open(tmp_path / "vault", settings={"model": "none"}) as mem:
        told = talk(server_of(mem, profile), lambda client: client.list_tools(), mode)
    ours = handshake.tools_answer(profiles.listing(profiles.tools_of(profile), profiles.HOST), discovery=mode == "auto")
    assert ours["tools"] == [tool.model_dump(by_alias=True, exclude_none=True) for tool in told.tools]


def test_the_first_list_of_tools_over_stdio_equals_the_second(tmp_path: Path) -> None:
    """The first list is ours, the second the SDK's; a client of the newest revision gets the fields that it adds, too."""
    server = Process(tmp_path / "vault")
    server.request("server/discover", {"_meta": MODERN})
    first, second = (server.request("tools/list", {"_meta": MODERN}) for _ in range(2))
    assert first == second
    assert first["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "engram"
    assert server.end() == 0


@pytest.mark.parametrize("params", [{"cursor": "x"}, {"_meta": MODERN}, {"_meta": 7}, [], {"more": 1}])
def test_an_unusual_request_for_tools_is_left_to_the_sdk(params: object) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}
    assert not handshake.asks_for_tools(asked, discovery=False)
    assert handshake.asks_for_tools(asked, discovery=True) is (params == {"_meta": MODERN})
    assert handshake.asks_for_tools({"id": 1, "method": "tools/list"}, discovery=False)


def test_handshake_and_tools_are_answered_before_heavy_modules_load() -> None:
    heavy = {"numpy", "typer", "mcp", "pydantic", "apsw", "cryptography", "engram.engine", "engram.settings"}
    heavy |= {"engram.text.english.entities", "engram.text.english.dates"}
    code = (
        "import sys; from engram.serve.mcp import handshake as greeting; transport = greeting.begin(); transport.lines.get(); "
        "from engram.serve.mcp import profiles; transport.set_tools(profiles.listing(profiles.tools_of('full'), profiles.HOST)); "
        f"assert transport.lines.get() is None; print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    )
    asked = INITIALIZE + b'{"jsonrpc":"2.0","id":8,"method":"tools/list"}\n'
    ran = subprocess.run([sys.executable, "-c", code], input=asked, capture_output=True, timeout=120, check=True)
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [one["id"] for one in said] == [7, 8]
    assert len(said[1]["result"]["tools"]) > 10
    assert ran.stderr.strip() == b"[]"


def test_beside_sdk_1_the_server_refuses_and_says_how_to_install_apart(tmp_path: Path) -> None:
    """SDK 1 is recognised by its files: a package that needs it installs it in the place of SDK 2."""
    (tmp_path / "mcp").mkdir()
    for name in ("__init__.py", "types.py"):
        (tmp_path / "mcp" / name).touch()
    where = os.pathsep.join((str(tmp_path), *sys.path))
    ran = in_process_of_its_own("mcp", given=INITIALIZE, environment={"PYTHONPATH": where, "ENGRAM_HOME": str(tmp_path / "v")})
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("E5003")
    assert "python -m venv" in ran.err


@pytest.mark.parametrize(
    "first", [b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n', b'\n{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n']
)
def test_a_first_request_that_is_no_handshake_is_left_to_the_sdk(first: bytes) -> None:
    code = "from engram.serve.mcp import handshake as greeting; print(greeting.begin().lines.get() is not None, flush=True)"
    ran = subprocess.run([sys.executable, "-c", code], input=first, capture_output=True, timeout=120, check=True)
    assert (ran.stdout, ran.stderr.strip()) == (b"", b"True")  # prints go to standard error, not between the messages


def test_invalid_messages_are_refused_and_a_batch_is_answered_one_by_one() -> None:
    """The SDK drops both unanswered, and a client would wait for ever."""
    odd = [
        b"no JSON at all",
        b"[" * 100_000,
        b'{"id":3,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":4,"method":"ping","params":[1]}',
    ]
    odd += [b'{"jsonrpc":"2.0","id":5}', b'{"jsonrpc":"2.0","id":null,"method":"ping"}', b"[]", b"17"]
    batch = b'[{"jsonrpc":"2.0","id":8,"method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/initialized"},1]'
    code = (
        "from engram.serve.mcp import handshake as greeting; transport = greeting.begin(); transport.set_tools([])\n"
        "for line in iter(transport.lines.get, None): print(line.strip()[-30:])"
    )
    asked = b"\n".join([*odd, INITIALIZE.strip(), batch]) + b"\n"
    ran = subprocess.run([sys.executable, "-c", code], input=asked, capture_output=True, timeout=120, check=True)
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    refused = [(one["id"], one["error"]["code"]) for one in said if "error" in one]
    assert refused == [*[(None, -32700)] * 2, *[(number, -32600) for number in (3, 4, 5, None, None, None, None)]]
    assert [one["id"] for one in said if "result" in one] == [7, 8]
    assert [line[-14:] for line in ran.stderr.splitlines()] == [b'"version":"1"}}}'[-14:], b'/initialized"}']


def test_lone_surrogates_deep_nesting_and_null_params_are_answered(tmp_path: Path) -> None:
    server = Process(tmp_path / "vault")
    server.shake_hands("2025-06-18")
    assert (
        server.request("tools/call", {"name": "memory_store", "arguments": {"text": "half \ud83d of it"}})["structuredContent"][
            "text"
        ]
        == "half ? of it"
    )
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    assert server.request("tools/call", {"name": "memory_list", "arguments": {"limit": deep}})["code"] == -32600
    server.say({"jsonrpc": "2.0", "id": "none", "method": "tools/list", "params": None})
    assert server.hear()["result"]["tools"]
    assert server.end() == 0


@pytest.mark.parametrize("closed", [(0,), (0, 1, 2), (1,)])
def test_closed_standard_streams_are_replaced_by_the_null_device(closed: tuple[int, ...], tmp_path: Path) -> None:
    said = tmp_path / "said"
    code = (
        f"import os, pathlib; [os.close(one) for one in {closed}]\n"
        "from engram.serve.mcp import handshake as greeting; transport = greeting.begin()\n"
        f"pathlib.Path({str(said)!r}).write_text(repr(list(iter(transport.lines.get, None))))"
    )
    ran = subprocess.run([sys.executable, "-c", code], input=b"\n", capture_output=True, timeout=120, check=False)
    assert (said.read_text(), ran.stdout, ran.stderr) == ("[]", b"", b"")


# ── ends ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_server_ends_when_its_output_is_closed(tmp_path: Path) -> None:
    server = Process(tmp_path / "vault")
    server.shake_hands("2025-06-18")
    assert server.process.stdout is not None
    server.process.stdout.close()
    server.say({"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {}})
    assert server.process.wait(120) == 0
    assert server.process.stdin is not None
    assert server.process.stderr is not None
    server.process.stdin.close()
    server.process.stderr.close()


def test_a_killed_host_leaves_no_server_even_if_its_pipe_is_held_open(tmp_path: Path) -> None:
    """The host here starts the server with a pipe that a third process, this one, keeps open."""
    reading, writing = os.pipe()
    host = subprocess.Popen(
        [sys.executable, "-c", _HOST, *SERVER], stdin=reading, stdout=subprocess.PIPE, env=world(tmp_path / "vault")
    )
    os.close(reading)
    assert host.stdout is not None
    server = int(host.stdout.readline())
    os.write(writing, INITIALIZE)
    assert b"protocolVersion" in host.stdout.readline()
    host.send_signal(signal.SIGKILL)
    host.wait(PATIENCE_S)
    wait_until(lambda: not _alive(server), "the server outlives its host")
    os.close(writing)
    host.stdout.close()


_HOST = """
import subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=sys.stdin, stderr=subprocess.DEVNULL)
print(server.pid, flush=True)
time.sleep(600)
"""


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_an_interrupt_ends_the_server_and_closes_the_vault(tmp_path: Path) -> None:
    server = Process(tmp_path / "vault")
    server.shake_hands("2025-06-18")
    server.request("tools/call", {"name": "memory_store", "arguments": {"text": "Rex likes tea"}})
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(120) == 130
    assert server.end() == 130
    with engram.open(tmp_path / "vault", agent="rex", settings={"model": "none"}) as mem:
        assert mem.health().crashed_before is False


def test_an_sdk_that_does_not_load_gives_an_error_with_the_way_out(tmp_path: Path) -> None:
    for name, text in (("mcp", "raise ImportError(name='mcp')"), ("mcp_types", "")):
        (tmp_path / f"{name}.py").write_text(text)
    hidden = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from engram.serve.cli import main; sys.exit(main(['mcp']))"
    ran = subprocess.run([sys.executable, "-c", hidden], input=b"", capture_output=True, env=world(tmp_path / "v"), timeout=120)
    assert (ran.returncode, ran.stderr.splitlines()[0][:6]) == (1, b"E5003:")
    assert b'pip install "engram-local[mcp]"' in ran.stderr


def test_without_the_sdk_the_error_names_the_extra_to_install(tmp_path: Path) -> None:
    (tmp_path / "mcp_types.py").write_text("")
    hidden = "import sys; sys.modules['mcp'] = None; from engram.serve.cli import main; sys.exit(main(['mcp']))"
    ran = subprocess.run([sys.executable, "-c", hidden], input=b"", capture_output=True, env=world(tmp_path / "v"), timeout=120)
    assert ran.returncode == 1
    assert b'pip install "engram-local[mcp]"' in ran.stderr
