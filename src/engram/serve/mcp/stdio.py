"""The server on standard input and output, for a host that starts it: one process a session, gone when its host is."""

from __future__ import annotations

import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server
from mcp_types import jsonrpc_message_adapter

from engram.errors import EngramError
from engram.serve.mcp import profiles
from engram.serve.mcp.greeting import Wire
from engram.serve.mcp.server import build
from engram.serve.operations import rationing
from engram.types import Reader

if TYPE_CHECKING:
    from engram.engine import Engram


class House:
    """A vault that is opened when it is first needed. One that would not open is tried again: its owner may have mended it."""

    def __init__(self, open_vault: Callable[[], Engram]) -> None:
        self._open = open_vault
        self._opened: Engram | None = None
        self._session = ""
        self._opening = threading.Lock()

    def reader(self, request: Any) -> Reader:
        return profiles.HOST

    def enter(self, request: Any) -> Engram:
        with self._opening:
            if self._opened is None:
                self._opened = self._open()
                self._session = self._opened.env.new_id()
            rationing.SESSION.set(self._session)
            return self._opened

    def close(self) -> None:
        with self._opening:
            if self._opened is not None:
                self._opened.close()


class _Lines:
    """The wire as the SDK reads and writes files."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await anyio.to_thread.run_sync(self._wire.lines.get, abandon_on_cancel=True)) is not None:
            if _readable(line):
                yield line
            else:
                await anyio.to_thread.run_sync(self._wire.refuse, line)

    async def write(self, text: str) -> None:
        await anyio.to_thread.run_sync(self._wire.send, text)

    async def flush(self) -> None:
        """Nothing is held back."""


def _readable(line: str) -> bool:
    """Can the SDK read it? What it cannot, such as what is nested too deeply for it, it drops without a word."""
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return False
    return True


def run(wire: Wire, profile: str, path: Path | None = None, identity: Mapping[str, object] | None = None) -> int:
    """The whole command: the vault and who asks are those of the settings, or these. Returns its exit code."""
    try:
        serve(wire, House(partial(_opened, path, identity)), profile)
    except EngramError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _opened(path: Path | None, identity: Mapping[str, object] | None) -> Engram:
    """The vault, made if it is missing. Nobody can be asked for a passphrase here."""
    from engram.engine import Engram  # half a second that the list of tools does not need

    vault = Engram.open(path, settings=identity)
    if vault.notice:
        print(f"A new vault was made.\n{vault.notice}", file=sys.stderr)
    return vault


def serve(wire: Wire, house: House, profile: str) -> None:
    """Until the host is gone, or an interrupt; then the vault is closed in order."""
    try:
        anyio.run(partial(_serve, wire, house, profile))
    finally:
        wire.end()  # a thread may still wait for the next line, and the process for the thread
        house.close()


async def _serve(wire: Wire, house: House, profile: str) -> None:
    server = build(house, profile)
    lines: Any = _Lines(wire)
    async with stdio_server(lines, lines) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
