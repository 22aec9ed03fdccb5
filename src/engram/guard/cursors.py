"""Opaque cursors: the position at which a listing continues on its next page.

A cursor is a version and the position of the last row, encrypted with AES-256-GCM-SIV. The operation, its filters and the reader
are authenticated with it, so that a cursor that was altered, or comes from another reader or listing, is refused. It
reveals nothing, not even how many rows the vault has.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from engram.errors import InvalidQuery
from engram.guard.digests import sha256

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

_VERSION = b"\x01"
_POSITION_BYTES = 8
_NONCE_BYTES = 12


def seal_cursor(position: int, context: bytes, key: bytearray) -> str:
    """Encrypt a position into a cursor that opens only with the same context: operation, filters and reader."""
    body = _cipher(key).encrypt(_nonce(context), position.to_bytes(_POSITION_BYTES), _VERSION + context)
    return base64.urlsafe_b64encode(_VERSION + body).decode("ascii").rstrip("=")


def open_cursor(cursor: object, context: bytes, key: bytearray) -> int:
    """Return the position in a cursor. The error never quotes the cursor, since a caller may pass any text."""
    from cryptography.exceptions import InvalidTag  # late: most listings have a single page

    try:
        raw = _decode(cursor)
        position = _cipher(key).decrypt(_nonce(context), raw[len(_VERSION) :], _VERSION + context)
    except (InvalidTag, ValueError):
        raise InvalidQuery(
            "this cursor does not belong to this listing: it was altered, or made for other filters, another identity "
            "or another vault.",
            way_out="Start again without a cursor, and pass the same filters for every page.",
        ) from None
    return int.from_bytes(position)


def _decode(cursor: object) -> bytes:
    if not isinstance(cursor, str) or not cursor.isascii() or len(cursor) > 64:
        raise ValueError
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    if not raw.startswith(_VERSION) or base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=") != cursor:
        raise ValueError
    return raw


def _cipher(key: bytearray) -> AESGCMSIV:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

    return AESGCMSIV(key)


def _nonce(context: bytes) -> bytes:
    """Derive the nonce from the context. Repeating it is safe: SIV reveals only that two cursors hold the same position."""
    return sha256(context)[:_NONCE_BYTES]
