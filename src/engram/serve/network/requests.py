"""Requests of every server on the network: reading a body within its limits, and answering in a thread while the client waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from engram.aio import Threads
from engram.engine import Engram
from engram.errors import ContentTooLarge, SearchTimeout
from engram.serve.network.access_tokens import Authenticator
from engram.serve.network.problems import RequestRefused
from engram.values.frozen import frozen

_GRACE_S = 1.0


@frozen
class ServerState:
    """The parts that requests share: the vault as its owner, the check of tokens, and the threads that do the work."""

    mem: Engram
    authenticator: Authenticator
    threads: Threads


async def answer_in_thread(request: Request, threads: Threads, answer: Callable[[], Response], seconds: float) -> Response:
    """Return what a thread answers. Raise `SearchTimeout` if it takes too long, and `ClientDisconnect`, which cancels the work,
    if the client leaves."""
    answering, leaving = asyncio.ensure_future(threads.run(answer)), asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((answering, leaving), timeout=seconds + _GRACE_S, return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        if leaving.done():
            raise ClientDisconnect
        raise SearchTimeout(f"there was no answer in {seconds:g} seconds.")
    finally:
        answering.cancel()
        leaving.cancel()


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def client_address(request: Request) -> str:
    """Return the address that a request comes from."""
    return request.client.host if request.client else ""


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    """Return the body of a request. Raise if it is compressed, longer than `most` bytes, or not complete after `seconds`: a
    client that sends slowly must not hold a connection for ever."""
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise RequestRefused(415, "the body is compressed.", way_out="Send it without `Content-Encoding`.")
    if int(request.headers.get("content-length", 0)) > most:  # refused before the client sends it
        raise _too_long(most)
    chunks, length = [], 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                length += len(chunk)
                if length > most:
                    raise _too_long(most)
                chunks.append(chunk)
    except TimeoutError:
        raise RequestRefused(408, f"the body was not complete after {seconds:g} seconds.") from None
    return b"".join(chunks)


def _too_long(most: int) -> ContentTooLarge:
    return ContentTooLarge(f"a body has at most {most:,} bytes (`serve_body_kib`).")
