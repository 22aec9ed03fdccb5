"""Single fields under a key of their own: what is kept closely is ciphertext even to whoever reads the database's pages.

AES-256-GCM-SIV (RFC 8452). A field's place (its column and row) is authenticated and makes the nonce, so that ciphertext moved to
another place does not open. A place that is written again repeats its nonce: SIV then shows only whether the words are the same.

Vectors tell nearly as much as words (Morris et al., 2023). Those of confidential memories are stored multiplied by an orthogonal
matrix made from the same key: useless to whoever lacks it, and turned back for the index of an open vault. Lengths and angles
stay what they are; what is lost is one more rounding to bytes.
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
_BLOCK = 512  # dimensions mixed with each other; a matrix of all of a long vector would take seconds to make
_LARGEST = 127


class FieldCipher:
    """Seals and opens fields and vectors for as long as the vault is open. Owns the key it is given."""

    def __init__(self, key: bytearray) -> None:
        self._key = key
        self._held = lock_buffer(key)
        self._matrices: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}

    def __repr__(self) -> str:
        return "<FieldCipher>"

    @cached_property
    def _cipher(self) -> AESGCMSIV:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV  # late: only what is confidential is sealed

        return AESGCMSIV(self._key)

    def seal(self, text: str, place: str) -> str:
        """Nothing is sealed as nothing."""
        if not text:
            return ""
        from binascii import b2a_base64  # late, as the cipher

        return b2a_base64(self._cipher.encrypt(_nonce(place), text.encode(), place.encode()), newline=False).decode("ascii")

    def unseal(self, sealed: str, place: str) -> str:
        if not sealed:
            return ""
        from binascii import a2b_base64

        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(_nonce(place), a2b_base64(sealed, strict_mode=True), place.encode()).decode()
        except (InvalidTag, ValueError):
            raise EncryptionFailed("a sealed field does not open: it is damaged, moved, or of another key.") from None

    def blind(self, digest: bytes) -> bytes:
        """A digest that only this key makes: against a plain one, a number of nine figures is guessed in a minute."""
        return hmac_sha256(self._key, b"engram/digest/" + digest)[: len(digest)]

    def wrap(self, other: FieldCipher) -> bytes:
        """The key of another cipher under this one: what a vault whose key was changed goes on with."""
        return self._cipher.encrypt(_nonce("field key"), bytes(other._key), b"field key")

    def unwrap(self, wrapped: bytes) -> FieldCipher:
        from cryptography.exceptions import InvalidTag

        try:
            return FieldCipher(bytearray(self._cipher.decrypt(_nonce("field key"), wrapped, b"field key")))
        except InvalidTag:
            raise EncryptionFailed("the key of this vault's fields does not open with the vault's key.") from None

    def project(self, stored: bytes) -> bytes:
        """A vector as it is stored (scale, then a signed byte a dimension), turned by the key."""
        return self._turned(stored, back=False)

    def straighten(self, stored: bytes) -> bytes:
        """The inverse of `project`, but for rounding."""
        return self._turned(stored, back=True)

    def wipe(self) -> None:
        wipe(self._key)
        self._matrices.clear()
        if self._held:
            unlock_buffer(self._key)
            self._held = False

    def _turned(self, stored: bytes, *, back: bool) -> bytes:
        import numpy as np  # only vaults with something confidential need it here

        scale = np.frombuffer(stored, "<f4", 1)[0]
        vector = np.frombuffer(stored, np.int8, offset=_SCALE_BYTES).astype(np.float32) * scale
        order, blocks = self._matrix(len(vector))
        out = np.empty_like(vector)
        source = vector if back else vector[order]
        for at in range(0, len(vector), _BLOCK):
            part = slice(at, min(at + _BLOCK, len(vector)))
            size = part.stop - part.start
            block = blocks[part, :size]
            out[part] = block.T @ source[part] if back else block @ source[part]
        if back:
            placed = np.empty_like(out)
            placed[order] = out
            out = placed
        step = float(np.abs(out).max()) / _LARGEST or 1.0
        codes = np.rint(out / step)
        fit = float(codes @ out) / max(float(codes @ codes), 1e-12) if step else 0.0
        return bytes(np.array([fit], "<f4").tobytes() + codes.astype(np.int8).tobytes())

    def _matrix(self, dimensions: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """A secret order of the dimensions, and orthogonal blocks (QR of Gaussian numbers, by SHAKE-256 of the key)."""
        from hashlib import shake_256

        import numpy as np  # as above

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
