"""Start the server on standard input; the handshake and the list of tools are answered while the SDK loads."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from engram.errors import ConfigInvalid
from engram.serve.mcp import greeting


def start(profile: str, path: Path | None = None, identity: Mapping[str, object] | None = None) -> int:
    """Run the command `engram mcp` and return its exit code.

    The imports stand between the steps because each takes longer than the one before, and a host waits for the first answers.
    """
    transport = greeting.begin()
    from engram.serve.mcp import profiles

    transport.set_tools(profiles.listing(profiles.tools_of(profile), profiles.HOST))
    try:
        from engram.serve.mcp.stdio import run
    except ImportError as error:
        missing = ConfigInvalid(f"the MCP SDK does not load ({error.name}).", way_out='Run `pip install "engram-local[mcp]"`.')
        print(missing, file=sys.stderr)
        return 1
    return run(transport, profile, path, identity)
