"""The MCP server: the table of operations as tools for a model, with what is kept as resources and a prompt to begin with.

Comes in: MCP of any revision since 2024-11-05, over standard input or HTTP. Goes out: answers short enough to read, what was
recalled fenced as data, and errors that the model can act on. Who asks is settled by the process or the token; no argument of a
tool names anybody. The protocol is the official SDK's (`pip install "engram-local[mcp]"`), which takes 1.3 s to import: only
`server`, `stdio` and `http` need it, and `greeting` answers the handshake meanwhile.
"""
