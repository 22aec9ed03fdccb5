"""Ways to call the MCP server: the official client in this process, and a server in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import anyio
from mcp import Client
from mcp.server.lowlevel import Server
from serve.console import heed_interrupts

from engram.engine import Engram
from engram.serve.mcp.server import build
from engram.types import Reader

T = TypeVar("T")
SERVER = (sys.executable, "-m", "engram.serve.cli", "mcp")


class As:
    """An access that takes every caller for this reader."""

    def __init__(self, mem: Engram) -> None:
        self._mem = mem

    def reader(self, request: Any) -> Reader:
        return self._mem.reader

    def vault(self, request: Any) -> Engram:
        return self._mem


def talk(server: Any, work: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    async def go() -> T:
        async with Client(server, mode=mode, raise_exceptions=False) as client:
            return await work(client)

    return anyio.run(go)


def server_of(mem: Engram, profile: str = "core") -> Server[Any]:
    return build(As(mem), profile)


def call(mem: Engram, name: str, arguments: Mapping[str, Any], profile: str = "core") -> Any:
    return talk(server_of(mem, profile), lambda client: client.call_tool(name, dict(arguments)))


def world(vault: Path, **named: str) -> dict[str, str]:
    """Return the environment of a server in a process of its own."""
    here = {"ENGRAM_HOME": str(vault), "ENGRAM_MODEL": "none", "ENGRAM_AGENT": "rex"}
    return {**os.environ, **here, **named}


class Process:
    """A server in a process of its own, which gets and sends single lines, as with any other program."""

    def __init__(self, vault: Path, *arguments: str, **named: str) -> None:
        self.process = subprocess.Popen(
            [*SERVER, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=world(vault, **named),
            preexec_fn=heed_interrupts,
        )
        self._ids = iter(range(1, 1000))

    def request(self, method: str, params: Mapping[str, Any]) -> Any:
        number = next(self._ids)
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)})
        answer = self.hear()
        assert answer["id"] == number, answer
        return answer.get("result", answer.get("error"))

    def say(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read() if self.process.stderr else ""
        return json.loads(line)

    def shake_hands(self, version: str) -> Any:
        client = {"name": "an older client", "version": "1"}
        answer = self.request("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    def end(self) -> int:
        """Close its input and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(120)
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        return code
