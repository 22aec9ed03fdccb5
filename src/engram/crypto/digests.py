"""SHA-256 and HMAC-SHA-256 of short inputs without OpenSSL, which costs a hook 13 million instructions (3 to 15 ms) to load.

CPython ships the function as an extension module of its own, which `random` uses for the same reason; a build without it
(FIPS) falls back to `hashlib`. From a few hundred bytes on OpenSSL is faster, ten times for long texts: use `hashlib` there.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hashlib import sha256 as _sha256
else:
    try:
        if sys.version_info >= (3, 12):
            from _sha2 import sha256 as _sha256
        else:
            from _sha256 import sha256 as _sha256
    except ImportError:
        from hashlib import sha256 as _sha256

DIGEST_BYTES = 32
_BLOCK_BYTES = 64
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


def sha256(content: bytes | bytearray) -> bytes:
    """Return the SHA-256 digest."""
    return _sha256(content).digest()


def hmac_sha256(key: bytes | bytearray, message: bytes | bytearray) -> bytes:
    """Return the HMAC (RFC 2104). Intermediate buffers that hold key material are zeroed, as far as Python can."""
    block = bytearray(_BLOCK_BYTES)
    short = key if len(key) <= _BLOCK_BYTES else sha256(key)
    block[: len(short)] = short
    inner, outer = block.translate(_INNER), block.translate(_OUTER)
    try:
        inner_hash = _sha256(inner)
        inner_hash.update(message)
        outer_hash = _sha256(outer)
        outer_hash.update(inner_hash.digest())
        return outer_hash.digest()
    finally:
        for buffer in (block, inner, outer):
            buffer[:] = bytes(_BLOCK_BYTES)
