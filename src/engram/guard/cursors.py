"""Where a listing goes on, as its reader carries it from page to page: opaque, and of no use to anybody else.

A cursor is a version and the place of the last row, sealed with AES-256-GCM-SIV. What it belongs to (the operation, its filters,
the reader) is authenticated with it: in other hands, for another listing, or with a bit changed it does not open. It tells
nothing, not even how many rows the vault has.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from engram.errors import InvalidQuery
from engram.guard.digests import sha256

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

_VERSION = b"\x01"
_PLACE_BYTES = 8
_NONCE_BYTES = 12


def seal_cursor(place: int, about: bytes, key: bytearray) -> str:
    body = _cipher(key).encrypt(_nonce(about), place.to_bytes(_PLACE_BYTES), _VERSION + about)
    return base64.urlsafe_b64encode(_VERSION + body).decode("ascii").rstrip("=")


def open_cursor(cursor: object, about: bytes, key: bytearray) -> int:
    """The place that it names. The error never quotes it: what was passed may be anything."""
    from cryptography.exceptions import InvalidTag  # late: most pages are the only one

    try:
        raw = _bytes(cursor)
        place = _cipher(key).decrypt(_nonce(about), raw[len(_VERSION) :], _VERSION + about)
    except (InvalidTag, ValueError):
        raise InvalidQuery(
            "this cursor is not of this listing: it was changed, or made for other filters, another identity or another vault.",
            way_out="Begin again without a cursor, and give the same filters for every page.",
        ) from None
    return int.from_bytes(place)


def _bytes(cursor: object) -> bytes:
    if not isinstance(cursor, str) or not cursor.isascii() or len(cursor) > 64:
        raise ValueError
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    if not raw.startswith(_VERSION) or base64.urlsafe_b64encode(raw).decode("ascii").rstrip("=") != cursor:
        raise ValueError
    return raw


def _cipher(key: bytearray) -> AESGCMSIV:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

    return AESGCMSIV(key)


def _nonce(about: bytes) -> bytes:
    """Of what it belongs to: SIV shows at most that two cursors of one listing name one place."""
    return sha256(about)[:_NONCE_BYTES]
