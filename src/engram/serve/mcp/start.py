"""The server on standard input from its first moment: what a host asks for at once is answered while the SDK loads."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from engram.errors import ConfigInvalid
from engram.serve.mcp import greeting


def start(profile: str, path: Path | None = None, identity: Mapping[str, object] | None = None) -> int:
    """The whole command; returns its exit code. Each step takes longer to load than the one before, so each begins late."""
    wire = greeting.begin()
    from engram.serve.mcp import profiles

    wire.offer(profiles.listed(profiles.tools_of(profile), profiles.HOST))
    try:
        from engram.serve.mcp.stdio import run
    except ImportError as broken:
        missing = ConfigInvalid(f"the MCP SDK does not load ({broken.name}).", way_out='Run `pip install "engram-local[mcp]"`.')
        print(missing, file=sys.stderr)
        return 1
    return run(wire, profile, path, identity)
