"""The parts that every server on the network shares: HTTP API, web page and MCP over HTTP. Needs the extra `server`.

`server` listens and runs uvicorn; `origins` checks host and origin of a request, `access_tokens` its token and `rate_limits` its
rate; `requests` reads bodies and answers in threads, `problems` turns errors into responses.
"""
