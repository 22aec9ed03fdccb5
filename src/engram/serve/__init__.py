"""The faces: command line, MCP, HTTP, web page and hooks, over one table of operations.

A face establishes the caller's identity, passes the call to the engine and shows the answer. It decides nothing about memories,
and no face imports another: `operations` and `network` hold what they share, `web` joins API and page, and the command line
starts the others. Nothing below this room knows of terminals or JSON.
"""
