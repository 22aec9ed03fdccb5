"""The tools of each profile, and their list for a reader.

Imports neither the SDK nor the engine: the list of tools is among the first requests of a host, which waits for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engram.serve.mcp import chatgpt, reference_server, tools
from engram.serve.mcp.tools import Tool
from engram.types import Reader

HOST = Reader()
"""The reader for whom tools are listed on standard input: any agent. The settings decide as whom the process reads and writes."""

_PROFILES = {"core": tools.core, "full": tools.full, "memory-server": reference_server.tools, "chatgpt": chatgpt.tools}


def tools_of(profile: str) -> tuple[Tool, ...]:
    """Return the tools that a server with this profile offers."""
    return _PROFILES[profile]()


def listing(offered: Iterable[Tool], reader: Reader) -> list[dict[str, Any]]:
    """Return the entries of `tools/list` for this reader."""
    return [tool.listing() for tool in offered if tool.visible_to(reader)]
