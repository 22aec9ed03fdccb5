"""Encryption of single fields under a key of their own: sensitive text stays ciphertext even in decrypted database pages.

The cipher is AES-256-GCM-SIV (RFC 8452). A field's place (its column and row) is authenticated and determines the nonce, so that
ciphertext copied to another place does not open. Rewriting a place repeats its nonce: SIV then reveals only whether the text is
unchanged.

Vectors reveal nearly as much as text (Morris et al., 2023). Vectors of confidential memories are stored multiplied by an
orthogonal matrix derived from the same key: useless without the key, and multiplied back for the index of an open vault. Lengths
and angles are preserved; the cost is one more rounding to bytes.
"""

from __future__ import annotations

from functools import cached_property

from engram.errors import EncryptionFailed
from engram.guard.digests import hmac_sha256, sha256
from engram.guard.keys import wipe
from engram.guard.process import lock_buffer, unlock_buffer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV
    from numpy.typing import NDArray

_NONCE_BYTES = 12
_SCALE_BYTES = 4
_BLOCK = 512  # dimensions mixed with each other; one matrix over a whole long vector would take seconds to build
_LARGEST = 127


class FieldCipher:
    """Encrypts and decrypts fields and vectors of an open vault. Owns the key it is given, and zeroes it in `wipe`."""

    def __init__(self, key: bytearray) -> None:
        self._key = key
        self._locked = lock_buffer(key)
        self._matrices: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}

    def __repr__(self) -> str:
        return "<FieldCipher>"

    @cached_property
    def _cipher(self) -> AESGCMSIV:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV  # late: only sensitive fields are sealed

        return AESGCMSIV(self._key)

    def seal(self, text: str, place: str) -> str:
        """Encrypt a text for its place, as base64. An empty text stays empty."""
        if not text:
            return ""
        from binascii import b2a_base64  # late, like the cipher

        return b2a_base64(self._cipher.encrypt(_nonce(place), text.encode(), place.encode()), newline=False).decode("ascii")

    def unseal(self, sealed: str, place: str) -> str:
        """Decrypt a text that `seal` encrypted for the same place."""
        if not sealed:
            return ""
        from binascii import a2b_base64

        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(_nonce(place), a2b_base64(sealed, strict_mode=True), place.encode()).decode()
        except (InvalidTag, ValueError):
            raise EncryptionFailed(
                "an encrypted field cannot be decrypted: it is damaged, moved, or under another key."
            ) from None

    def blind(self, digest: bytes) -> bytes:
        """Return a keyed form of a digest. A plain digest of a nine-digit number can be guessed in a minute."""
        return hmac_sha256(self._key, b"engram/digest/" + digest)[: len(digest)]

    def wrap(self, other: FieldCipher) -> bytes:
        """Encrypt another cipher's key under this one, so that a vault can keep its field key when its master key changes."""
        return self._cipher.encrypt(_nonce("field key"), bytes(other._key), b"field key")

    def unwrap(self, wrapped: bytes) -> FieldCipher:
        """Return the cipher whose key `wrap` encrypted."""
        from cryptography.exceptions import InvalidTag

        try:
            return FieldCipher(bytearray(self._cipher.decrypt(_nonce("field key"), wrapped, b"field key")))
        except InvalidTag:
            raise EncryptionFailed("the vault's field key cannot be decrypted with the vault's key.") from None

    def project(self, stored: bytes) -> bytes:
        """Return a stored vector (scale, then one signed byte per dimension) multiplied by the key's orthogonal matrix."""
        return self._multiply(stored, inverse=False)

    def straighten(self, stored: bytes) -> bytes:
        """Invert `project`, up to rounding."""
        return self._multiply(stored, inverse=True)

    def wipe(self) -> None:
        """Zero the key and drop the matrices derived from it."""
        wipe(self._key)
        self._matrices.clear()
        if self._locked:
            unlock_buffer(self._key)
            self._locked = False

    def _multiply(self, stored: bytes, *, inverse: bool) -> bytes:
        import numpy as np  # late: only vaults with confidential memories need it here

        scale = np.frombuffer(stored, "<f4", 1)[0]
        vector = np.frombuffer(stored, np.int8, offset=_SCALE_BYTES).astype(np.float32) * scale
        order, blocks = self._matrix(len(vector))
        out = np.empty_like(vector)
        source = vector if inverse else vector[order]
        for at in range(0, len(vector), _BLOCK):
            part = slice(at, min(at + _BLOCK, len(vector)))
            size = part.stop - part.start
            block = blocks[part, :size]
            out[part] = block.T @ source[part] if inverse else block @ source[part]
        if inverse:
            reordered = np.empty_like(out)
            reordered[order] = out
            out = reordered
        step = float(np.abs(out).max()) / _LARGEST or 1.0
        codes = np.rint(out / step)
        fit = float(codes @ out) / max(float(codes @ codes), 1e-12) if step else 0.0
        return bytes(np.array([fit], "<f4").tobytes() + codes.astype(np.int8).tobytes())

    def _matrix(self, dimensions: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return a secret permutation of the dimensions and orthogonal blocks (QR of Gaussian numbers, SHAKE-256 of the key)."""
        from hashlib import shake_256

        import numpy as np  # late, as in `_multiply`

        if dimensions not in self._matrices:
            seed = hmac_sha256(self._key, f"engram/projection/{dimensions}".encode())
            stream = shake_256(seed).digest(8 * dimensions * (2 * min(_BLOCK, dimensions) + 1))
            numbers = np.frombuffer(stream, "<u8")
            order = np.argsort(numbers[:dimensions], kind="stable")
            uniform = (numbers[dimensions:] >> np.uint64(11)).astype(np.float64) / (1 << 53)
            half = len(uniform) // 2
            gaussian = np.sqrt(-2.0 * np.log1p(-uniform[:half])) * np.cos(2.0 * np.pi * uniform[half : 2 * half])
            rows = gaussian.reshape(dimensions, min(_BLOCK, dimensions))
            blocks = np.zeros_like(rows, np.float32)
            for at in range(0, dimensions, _BLOCK):
                size = min(_BLOCK, dimensions - at)
                blocks[at : at + size, :size] = np.linalg.qr(rows[at : at + size, :size])[0]
            self._matrices[dimensions] = (order, blocks)
        return self._matrices[dimensions]


def _nonce(place: str) -> bytes:
    return sha256(place.encode())[:_NONCE_BYTES]
