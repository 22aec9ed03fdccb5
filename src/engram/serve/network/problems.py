"""Errors on the wire: problem details (RFC 9457) with our codes, sentences and ways out. Nothing of a request is quoted.

The body of a request, for every server on the network: whole, within its size, and in time.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import Response

from engram.errors import (
    AccessDenied,
    Conflict,
    ContentTooLarge,
    DiskFull,
    EmbeddingError,
    EncryptionFailed,
    EngramError,
    InjectionBlocked,
    InvalidContent,
    InvalidQuery,
    KeyReused,
    NotFound,
    RateLimited,
    SearchTimeout,
    VaultDamaged,
)
from engram.serve.operations import wire

_STATUSES: Mapping[type[EngramError], int] = {
    NotFound: 404,
    Conflict: 409,
    KeyReused: 422,
    DiskFull: 507,
    VaultDamaged: 500,
    SearchTimeout: 504,
    RateLimited: 429,
    InvalidQuery: 400,
    EmbeddingError: 503,
    AccessDenied: 403,
    EncryptionFailed: 500,
    InjectionBlocked: 422,
    ContentTooLarge: 413,
    InvalidContent: 422,
}
"""By class, the nearest above counts; whatever is not here means that the vault cannot be used now."""

_UNAVAILABLE = 503


class Unauthorized(AccessDenied):
    """No token, or none that holds: answered alike."""

    default_way_out = "Send `Authorization: Bearer TOKEN` with a token made by `engram token create`."


class Misdirected(AccessDenied):
    """The request was meant for somebody else: a name that is not ours."""

    default_way_out = "Name the host in `serve_names` if it is this one's."


class StrangePage(AccessDenied):
    """A page that may not call: 403, as MCP has it too."""

    default_way_out = "Name the page in `serve_origins` if it may."


class Refused(InvalidQuery):
    """A request that has no operation's shape, by its HTTP status."""

    def __init__(self, status: int, message: str, *, way_out: str = "") -> None:
        super().__init__(message, way_out=way_out)
        self.status = status


def status_of(error: EngramError) -> int:
    if isinstance(error, Unauthorized):
        return 401
    if isinstance(error, Misdirected):
        return 421
    if isinstance(error, Refused):
        return error.status
    return next((status for kind in type(error).__mro__ if (status := _STATUSES.get(kind))), _UNAVAILABLE)


def response(error: EngramError, *, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    code = status_of(error) if status is None else status
    told = wire.problem(error)
    body = {
        "type": f"urn:engram:error:{error.code}",
        "title": HTTPStatus(code).phrase,
        "status": code,
        "detail": told["message"],
        "code": told["code"],
        "way_out": told["way_out"],
    }
    return Response(json.dumps(body), code, {**_hints(error, code), **(headers or {})}, media_type="application/problem+json")


def _hints(error: EngramError, code: int) -> dict[str, str]:
    if code == 401:
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, RateLimited):
        return {"Retry-After": str(max(math.ceil(error.after_s), 1))}
    return {"Retry-After": "5"} if code == _UNAVAILABLE else {}


SCHEMA = {
    "type": "object",
    "description": "A problem (RFC 9457).",
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "code": {"type": "string", "pattern": "^E[0-9]{4}$"},
        "way_out": {"type": "string"},
    },
    "required": ["type", "title", "status", "detail", "code", "way_out"],
}


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
