"""The body of a request, for every server on the network: whole, within its size, and in time."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from engram.errors import ContentTooLarge
from engram.serve.http.problems import Refused


async def body_of(request: Request, most: int, seconds: float) -> bytes:
    """The body, if it is not too long and comes in time: a caller that lets it trickle holds no place for ever."""
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refused(415, "the body is compressed.", way_out="Send it as it is, without `Content-Encoding`.")
    if int(request.headers.get("content-length", 0)) > most:  # before any of it is sent
        raise _too_long(most)
    pieces, length = [], 0
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                length += len(piece)
                if length > most:
                    raise _too_long(most)
                pieces.append(piece)
    except TimeoutError:
        raise Refused(408, "the body did not come in time.") from None
    return b"".join(pieces)


def _too_long(most: int) -> ContentTooLarge:
    return ContentTooLarge(f"a body has at most {most:,} bytes (`serve_body_kib`).")
