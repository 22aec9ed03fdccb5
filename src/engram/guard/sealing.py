"""Encryption of large files in pieces, so that neither writer nor reader holds the whole file in memory.

    magic (8) | salt (16) | pieces of 256 KiB, each with its tag (16); the last may be shorter

The cipher is AES-256-GCM in the STREAM construction: every file has a key of its own (HKDF over the salt), the nonce of a piece
is its number and a flag for the last piece, and the file's name is authenticated with each piece. A file that was changed,
truncated, reordered, appended to or renamed does not decrypt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from cryptography.exceptions import InvalidTag

from engram.errors import EncryptionFailed
from engram.guard.keys import hkdf, wipe

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

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
        self._cipher = _cipher(key, salt)
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
        self._file.write(self._cipher.encrypt(_nonce(self._number, last), self._buffer, self._name))
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
        self._cipher = _cipher(key, head[len(MAGIC) :])
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
        following = self._file.read(PIECE + _TAG_BYTES)
        try:
            piece = self._cipher.decrypt(_nonce(self._number, not following), self._next, self._name)
        except InvalidTag:
            raise _undecryptable() from None
        self._piece, self._next = memoryview(piece), following
        self._number += 1


def _cipher(key: bytearray, salt: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # late: most uses of a vault encrypt no file

    file_key = hkdf(key, b"engram/sealed-file/v1", salt=salt)
    try:
        return AESGCM(file_key)
    finally:
        wipe(file_key)


def _nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11) + bytes([last])


def _undecryptable() -> EncryptionFailed:
    return EncryptionFailed("an encrypted file cannot be decrypted: it is damaged, truncated, or under another key.")
