"""SHA-256 and HMAC-SHA-256 of a few bytes, without OpenSSL, whose loading costs a hook 13 million instructions (3 to 15 ms).

CPython brings the function as a module of its own, which `random` takes for the same reason; a build without it (FIPS) has
`hashlib`. From some hundred bytes on OpenSSL is faster, ten times with long texts: whoever digests such takes `hashlib`.
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
    return _sha256(content).digest()


def hmac_sha256(key: bytes | bytearray, message: bytes | bytearray) -> bytes:
    """RFC 2104. What was made of the key on the way is zeroed, as far as Python can."""
    block = bytearray(_BLOCK_BYTES)
    short = key if len(key) <= _BLOCK_BYTES else sha256(key)
    block[: len(short)] = short
    inner, outer = block.translate(_INNER), block.translate(_OUTER)
    try:
        made = _sha256(inner)
        made.update(message)
        whole = _sha256(outer)
        whole.update(made.digest())
        return whole.digest()
    finally:
        for used in (block, inner, outer):
            used[:] = bytes(_BLOCK_BYTES)
