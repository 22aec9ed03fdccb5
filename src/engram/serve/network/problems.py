"""Errors as HTTP responses: problem details (RFC 9457) with the error's code, message and way out. Nothing of a request is
quoted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus

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
"""HTTP status by error class; a subclass has the status of its nearest base. Any other error means that the vault is
unavailable."""

_UNAVAILABLE = 503


class Unauthorized(AccessDenied):
    """Raised for a missing and for an invalid token alike, so that an answer does not tell them apart."""

    default_way_out = "Send `Authorization: Bearer TOKEN` with a token made by `engram token create`."


class MisdirectedRequest(AccessDenied):
    """Raised for a request whose host name is not one of this server's (421)."""

    default_way_out = "Add the host name to `serve_names` if it is this server's."


class OriginRefused(AccessDenied):
    """Raised for a request from a web page of another origin (403, as the MCP specification asks)."""

    default_way_out = "Add the origin to `serve_origins` if its pages may call this server."


class RequestRefused(InvalidQuery):
    """Raised for a request that fails before it reaches an operation, with its HTTP status."""

    def __init__(self, status: int, message: str, *, way_out: str = "") -> None:
        super().__init__(message, way_out=way_out)
        self.status = status


def status_of(error: EngramError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, Unauthorized):
        return 401
    if isinstance(error, MisdirectedRequest):
        return 421
    if isinstance(error, RequestRefused):
        return error.status
    return next((status for kind in type(error).__mro__ if (status := _STATUSES.get(kind))), _UNAVAILABLE)


def response(error: EngramError, *, status: int | None = None, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as an `application/problem+json` response."""
    code = status_of(error) if status is None else status
    problem = wire.problem(error)
    body = {
        "type": f"urn:engram:error:{error.code}",
        "title": HTTPStatus(code).phrase,
        "status": code,
        "detail": problem["message"],
        "code": problem["code"],
        "way_out": problem["way_out"],
    }
    return Response(
        json.dumps(body), code, {**_error_headers(error, code), **(headers or {})}, media_type="application/problem+json"
    )


def _error_headers(error: EngramError, code: int) -> dict[str, str]:
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
