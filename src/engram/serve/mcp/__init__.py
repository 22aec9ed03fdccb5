"""The MCP server: operations as tools for a model, memories as resources, and a prompt that opens a session.

Input: MCP messages of any revision since 2024-11-05, over standard input or HTTP. Output: answers within a token budget, with
recalled text fenced as data, and errors that the model can act on. The caller's identity comes from the process or from a token,
never from a tool's argument. The official SDK (`pip install "engram-local[mcp]"`) implements the protocol and takes 1.3 s to
import: only `server`, `stdio` and `http` import it, and `handshake` answers the handshake while it loads.
"""
