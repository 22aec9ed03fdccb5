"""The HTTP API: the table of operations under `/v1`, for callers with a token. Needs the extra `server`.

In: requests. Out: JSON, equal to what the same operation answers on every face; errors as problem details (RFC 9457). The event
loop only moves bytes: tokens, JSON and operations are handled in threads.
"""
