"""The parts that every server on the network shares: HTTP API, web page and MCP over HTTP. Needs the extra `server`.

`server` listens and runs uvicorn, `doors` checks host, origin, token and rate of a request, `requests` reads bodies and answers
in threads, `problems` turns errors into responses.
"""
