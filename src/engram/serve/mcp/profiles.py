"""Which tools a server offers, by the name of its profile, and what is told of them. Needs neither the SDK nor an open vault: the
list is one of the first things that a host asks for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engram.serve.mcp import chatgpt, graph, tools
from engram.serve.mcp.tools import Tool
from engram.types import Reader

HOST = Reader()
"""Who starts the process, as tools are shown to it: any agent. As whom it reads and writes is said by the settings."""

_PROFILES = {"core": tools.core, "full": tools.full, "memory-server": graph.tools, "chatgpt": chatgpt.tools}


def tools_of(profile: str) -> tuple[Tool, ...]:
    return _PROFILES[profile]()


def listed(offered: Iterable[Tool], reader: Reader) -> list[dict[str, Any]]:
    """As `tools/list` tells this reader of them."""
    return [tool.listed() for tool in offered if tool.open_to(reader)]
