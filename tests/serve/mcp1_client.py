"""A client on the MCP SDK 1, run by an interpreter of its own that has nothing of Engram: see `test_mcp1.py`.

    mcp1_client.py stdio COMMAND …    mcp1_client.py http ADDRESS SECRET    mcp1_client.py hang COMMAND …

Prints one line of JSON with what it was told; `hang` prints it and stays.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import asynccontextmanager

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client


@asynccontextmanager
async def connected(way, rest):
    if way == "http":
        address, secret = rest
        async with streamablehttp_client(address, headers={"Authorization": f"Bearer {secret}"}) as (reading, writing, _):
            yield reading, writing
    else:
        async with stdio_client(StdioServerParameters(command=rest[0], args=rest[1:], env=dict(os.environ))) as (
            reading,
            writing,
        ):
            yield reading, writing


async def main(way, *rest):
    async with connected(way, rest) as (reading, writing), ClientSession(reading, writing) as session:
        greeted = await session.initialize()
        listed = (await session.list_tools()).tools
        kept = await session.call_tool("memory_store", {"text": "The API runs on Fly.io in Frankfurt"})
        found = await session.call_tool("memory_search", {"query": "where does the API run?"})
        wrong = await session.call_tool("memory_search", {"query": "x", "limit": 0})
        told = {
            "server": greeted.serverInfo.name,
            "protocol": greeted.protocolVersion,
            "tools": [tool.name for tool in listed],
            "described": all(tool.outputSchema and tool.annotations for tool in listed),
            "kept": kept.structuredContent,
            "found": found.structuredContent,
            "text": found.content[0].text,
            "wrong": [wrong.isError, wrong.content[0].text],
            "resources": [str(one.uri) for one in (await session.list_resources()).resources],
        }
        print(json.dumps(told), flush=True)
        if way == "hang":
            await anyio.sleep(600)


anyio.run(main, *sys.argv[1:])
