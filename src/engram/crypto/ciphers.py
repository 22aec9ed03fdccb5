"""Ciphers of a vault: single fields and vectors, large files, and cursors of listings. The database pages have their own.

`FieldCipher` encrypts sensitive text with AES-256-GCM-SIV (RFC 8452) under a key of its own, so that it stays ciphertext even in
decrypted database pages. A field's place (its column and row) is authenticated and determines the nonce, so that ciphertext
copied to another place does not open. Rewriting a place repeats its nonce: SIV then reveals only whether the text is unchanged.
Vectors reveal nearly as much as text (Morris et al., 2023). Vectors of confidential memories are stored multiplied by an
orthogonal matrix derived from the same key: useless without the key, and multiplied back for the index of an open vault. Lengths
and angles are preserved; the cost is one more rounding to bytes.

`SealedFileWriter` and `SealedFileReader` encrypt a large file in pieces, so that neither holds the whole file in memory:

    magic (8) | salt (16) | pieces of 256 KiB, each with its tag (16); the last may be shorter

The cipher is AES-256-GCM in the STREAM construction: every file has a key of its own (HKDF over the salt), the nonce of a piece
is its number and a flag for the last piece, and the file's name is authenticated with each piece. A file that was changed,
truncated, reordered, appended to or renamed does not decrypt.

A cursor is a version and the position of the last row, encrypted with AES-256-GCM-SIV. The operation, its filters and the reader
are authenticated with it, so that a cursor that was altered, or comes from another reader or listing, is refused. It
reveals nothing, not even how many rows the vault has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from engram.crypto.digests import hmac_sha256, sha256
from engram.crypto.hardening import lock_buffer, unlock_buffer
from engram.crypto.keys import hkdf, wipe
from engram.errors import EncryptionFailed, InvalidQuery

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM, AESGCMSIV
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

        return b2a_base64(self._cipher.encrypt(_field_nonce(place), text.encode(), place.encode()), newline=False).decode("ascii")

    def unseal(self, sealed: str, place: str) -> str:
        """Decrypt a text that `seal` encrypted for the same place."""
        if not sealed:
            return ""
        from binascii import a2b_base64

        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(_field_nonce(place), a2b_base64(sealed, strict_mode=True), place.encode()).decode()
        except (InvalidTag, ValueError):
            raise EncryptionFailed(
                "an encrypted field cannot be decrypted: it is damaged, moved, or under another key."
            ) from None

    def blind(self, digest: bytes) -> bytes:
        """Return a keyed form of a digest. A plain digest of a nine-digit number can be guessed in a minute."""
        return hmac_sha256(self._key, b"engram/digest/" + digest)[: len(digest)]

    def wrap(self, other: FieldCipher) -> bytes:
        """Encrypt another cipher's key under this one, so that a vault can keep its field key when its master key changes."""
        return self._cipher.encrypt(_field_nonce("field key"), bytes(other._key), b"field key")

    def unwrap(self, wrapped: bytes) -> FieldCipher:
        """Return the cipher whose key `wrap` encrypted."""
        from cryptography.exceptions import InvalidTag

        try:
            return FieldCipher(bytearray(self._cipher.decrypt(_field_nonce("field key"), wrapped, b"field key")))
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


def _field_nonce(place: str) -> bytes:
    return sha256(place.encode())[:_NONCE_BYTES]


MAGIC = b"ENGRAMS1"
_SALT_BYTES = 16
_TAG_BYTES = 16
PIECE = 256 * 1024
_MOST_PIECES = 1 << 24
"""4 TiB: far below the limit of AES-GCM for one key, and larger than any file Engram writes."""


class SealedFileWriter:
    """Writes an encrypted file. The file decrypts only after `finish`, which marks the last piece."""

    def __init__(self, file: BinaryIO, key: bytearray, name: str, random: Callable[[int], bytes]) -> None:
        salt = random(_SALT_BYTES)
        self._file = file
        self._cipher = _stream_cipher(key, salt)
        self._name = name.encode()
        self._buffer = bytearray()
        self._number = 0
        self.written = 0
        file.write(MAGIC + salt)

    def write(self, content: bytes | bytearray | memoryview) -> None:
        rest = memoryview(content).cast("B")
        self.written += len(rest)
        while rest:
            if len(self._buffer) == PIECE:  # not before more bytes come: the last piece gets its own flag
                self._seal(last=False)
            chunk = rest[: PIECE - len(self._buffer)]
            self._buffer += chunk
            rest = rest[len(chunk) :]

    def finish(self) -> None:
        self._seal(last=True)

    def _seal(self, *, last: bool) -> None:
        if self._number >= _MOST_PIECES:
            raise EncryptionFailed(f"an encrypted file may hold at most {_MOST_PIECES * PIECE >> 40} TiB.")
        self._file.write(self._cipher.encrypt(_stream_nonce(self._number, last), self._buffer, self._name))
        self._number += 1
        wipe(self._buffer)
        self._buffer.clear()


class SealedFileReader:
    """Reads a file that `SealedFileWriter` wrote. Bytes are authenticated before they are returned, else EncryptionFailed."""

    def __init__(self, file: BinaryIO, key: bytearray, name: str) -> None:
        head = file.read(len(MAGIC) + _SALT_BYTES)
        if len(head) < len(MAGIC) + _SALT_BYTES or not head.startswith(MAGIC):
            raise _undecryptable()
        self._file = file
        self._cipher = _stream_cipher(key, head[len(MAGIC) :])
        self._name = name.encode()
        self._next = file.read(PIECE + _TAG_BYTES)
        if not self._next:  # even empty content is encrypted as one piece
            raise _undecryptable()
        self._number = 0
        self._piece = memoryview(b"")

    def read(self, size: int) -> bytes:
        """Return `size` bytes, fewer at the end of the file, and none after it."""
        if not self._piece and self._next:
            self._advance()
        if size <= len(self._piece):
            chunk, self._piece = self._piece[:size], self._piece[size:]
            return bytes(chunk)
        parts = bytearray()
        while len(parts) < size and (self._piece or self._next):
            if not self._piece:
                self._advance()
            chunk = self._piece[: size - len(parts)]
            self._piece = self._piece[len(chunk) :]
            parts += chunk
        return bytes(parts)

    def _advance(self) -> None:
        from cryptography.exceptions import InvalidTag  # late, like the cipher

        following = self._file.read(PIECE + _TAG_BYTES)
        try:
            piece = self._cipher.decrypt(_stream_nonce(self._number, not following), self._next, self._name)
        except InvalidTag:
            raise _undecryptable() from None
        self._piece, self._next = memoryview(piece), following
        self._number += 1


def _stream_cipher(key: bytearray, salt: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # late: most uses of a vault encrypt no file

    file_key = hkdf(key, b"engram/sealed-file/v1", salt=salt)
    try:
        return AESGCM(file_key)
    finally:
        wipe(file_key)


def _stream_nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11) + bytes([last])


def _undecryptable() -> EncryptionFailed:
    return EncryptionFailed("an encrypted file cannot be decrypted: it is damaged, truncated, or under another key.")


_VERSION = b"\x01"
_POSITION_BYTES = 8


def seal_cursor(position: int, context: bytes, key: bytearray) -> str:
    """Encrypt a position into a cursor that opens only with the same context: operation, filters and reader."""
    from base64 import urlsafe_b64encode  # late: a hook lists nothing

    body = _cursor_cipher(key).encrypt(_cursor_nonce(context), position.to_bytes(_POSITION_BYTES), _VERSION + context)
    return urlsafe_b64encode(_VERSION + body).decode("ascii").rstrip("=")


def open_cursor(cursor: object, context: bytes, key: bytearray) -> int:
    """Return the position in a cursor. The error never quotes the cursor, since a caller may pass any text."""
    from cryptography.exceptions import InvalidTag  # late: most listings have a single page

    try:
        raw = _decode(cursor)
        position = _cursor_cipher(key).decrypt(_cursor_nonce(context), raw[len(_VERSION) :], _VERSION + context)
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
    from base64 import urlsafe_b64decode, urlsafe_b64encode

    raw = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    if not raw.startswith(_VERSION) or urlsafe_b64encode(raw).decode("ascii").rstrip("=") != cursor:
        raise ValueError
    return raw


def _cursor_cipher(key: bytearray) -> AESGCMSIV:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV

    return AESGCMSIV(key)


def _cursor_nonce(context: bytes) -> bytes:
    """Derive the nonce from the context. Repeating it is safe: SIV reveals only that two cursors hold the same position."""
    return sha256(context)[:_NONCE_BYTES]
