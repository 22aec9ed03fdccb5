"""HTTP: the table of operations under `/v1`, for callers with a token. Needs the extra `server`.

Comes in: requests. Goes out: what the same operation answers on every face, as JSON; errors as problem details (RFC 9457). The
event loop only moves bytes: tokens, JSON and operations are the business of threads.
"""

from __future__ import annotations
