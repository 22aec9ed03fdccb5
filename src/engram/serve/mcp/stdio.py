"""The server on standard input and output: one process per session, which ends with the host that started it."""

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
from engram.serve.mcp.handshake import StdioTransport
from engram.serve.mcp.server import build
from engram.serve.operations import limits
from engram.types import Reader

if TYPE_CHECKING:
    from engram.engine import Engram


class ProcessAccess:
    """The process's own vault and identity, for every request.

    The vault is opened at the first call that needs it. If opening fails, the next call tries again: the owner may have repaired
    it meanwhile.
    """

    def __init__(self, open_vault: Callable[[], Engram]) -> None:
        self._open = open_vault
        self._opened: Engram | None = None
        self._session = ""
        self._opening = threading.Lock()

    def reader(self, request: Any) -> Reader:
        return profiles.HOST

    def vault(self, request: Any) -> Engram:
        with self._opening:
            if self._opened is None:
                self._opened = self._open()
                self._session = self._opened.env.new_id()
            limits.SESSION.set(self._session)
            return self._opened

    def close(self) -> None:
        """Close the vault if it was opened."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()


class _AsyncLines:
    """The transport in the form of an asynchronous text file, which the SDK reads and writes."""

    def __init__(self, transport: StdioTransport) -> None:
        self._transport = transport

    async def __aiter__(self) -> AsyncIterator[str]:
        while (line := await anyio.to_thread.run_sync(self._transport.lines.get, abandon_on_cancel=True)) is not None:
            if _parses(line):
                yield line
            else:
                await anyio.to_thread.run_sync(self._transport.refuse, line)

    async def write(self, text: str) -> None:
        await anyio.to_thread.run_sync(self._transport.send, text)

    async def flush(self) -> None:
        """Do nothing: `write` does not buffer."""


def _parses(line: str) -> bool:
    """Return whether the SDK can parse the line. A line that it cannot, such as a deeply nested one, it drops unanswered."""
    try:
        jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return False
    return True


def run(transport: StdioTransport, profile: str, path: Path | None = None, identity: Mapping[str, object] | None = None) -> int:
    """Serve until the host is gone and return the exit code; `path` and `identity` override the settings."""
    try:
        serve(transport, ProcessAccess(partial(_open_vault, path, identity)), profile)
    except EngramError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _open_vault(path: Path | None, identity: Mapping[str, object] | None) -> Engram:
    """Open the vault, creating it if it is missing. No terminal is attached, so a passphrase is never asked for."""
    from engram.engine import Engram  # takes half a second to import, which the list of tools does not need

    vault = Engram.open(path, settings=identity)
    if vault.notice:
        print(f"A new vault was made.\n{vault.notice}", file=sys.stderr)
    return vault


def serve(transport: StdioTransport, access: ProcessAccess, profile: str) -> None:
    """Serve until the input ends or an interrupt arrives, then close the vault."""
    try:
        anyio.run(partial(_serve, transport, access, profile))
    finally:
        transport.end()  # a thread may still block on the next line, and the process would wait for the thread
        access.close()


async def _serve(transport: StdioTransport, access: ProcessAccess, profile: str) -> None:
    server = build(access, profile)
    lines: Any = _AsyncLines(transport)
    async with stdio_server(lines, lines) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
