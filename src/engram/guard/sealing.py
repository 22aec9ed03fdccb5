"""Large files under a key, piece by piece, so that neither end holds the whole of it in memory.

    magic (8) | salt (16) | pieces of 256 KiB, each with its tag (16); the last may be shorter

AES-256-GCM in the STREAM construction: every file has a key of its own (HKDF over the salt), a piece's nonce is its number
and whether it is the last one, and the file's name is authenticated with each. What was changed, cut off, put in
another order, appended to or moved to another name does not open.
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
"""4 TiB: far from where AES-GCM wears out, and no file of ours."""


class SealedFileWriter:
    """Takes bytes, writes a sealed file. Nothing of it opens before `finish`."""

    def __init__(self, file: BinaryIO, key: bytearray, name: str, random: Callable[[int], bytes]) -> None:
        salt = random(_SALT_BYTES)
        self._file = file
        self._cipher = _cipher(key, salt)
        self._name = name.encode()
        self._held = bytearray()
        self._number = 0
        self.written = 0
        file.write(MAGIC + salt)

    def write(self, content: bytes | bytearray | memoryview) -> None:
        rest = memoryview(content).cast("B")
        self.written += len(rest)
        while rest:
            if len(self._held) == PIECE:  # only now: the last piece is sealed as such
                self._seal(last=False)
            some = rest[: PIECE - len(self._held)]
            self._held += some
            rest = rest[len(some) :]

    def finish(self) -> None:
        self._seal(last=True)

    def _seal(self, *, last: bool) -> None:
        if self._number >= _MOST_PIECES:
            raise EncryptionFailed("that is more than one sealed file may hold.")
        self._file.write(self._cipher.encrypt(_nonce(self._number, last), self._held, self._name))
        self._number += 1
        wipe(self._held)
        self._held.clear()


class SealedFileReader:
    """Reads what a `Sealer` wrote. Every byte that is given out was authenticated; else EncryptionFailed."""

    def __init__(self, file: BinaryIO, key: bytearray, name: str) -> None:
        head = file.read(len(MAGIC) + _SALT_BYTES)
        if len(head) < len(MAGIC) + _SALT_BYTES or not head.startswith(MAGIC):
            raise _does_not_open()
        self._file = file
        self._cipher = _cipher(key, head[len(MAGIC) :])
        self._name = name.encode()
        self._next = file.read(PIECE + _TAG_BYTES)
        if not self._next:  # even nothing is sealed as one piece
            raise _does_not_open()
        self._number = 0
        self._piece = memoryview(b"")

    def read(self, size: int) -> bytes:
        """So many bytes; fewer at the end, none after it."""
        if not self._piece and self._next:
            self._advance()
        if size <= len(self._piece):
            some, self._piece = self._piece[:size], self._piece[size:]
            return bytes(some)
        parts = bytearray()
        while len(parts) < size and (self._piece or self._next):
            if not self._piece:
                self._advance()
            some = self._piece[: size - len(parts)]
            self._piece = self._piece[len(some) :]
            parts += some
        return bytes(parts)

    def _advance(self) -> None:
        following = self._file.read(PIECE + _TAG_BYTES)
        try:
            piece = self._cipher.decrypt(_nonce(self._number, not following), self._next, self._name)
        except InvalidTag:
            raise _does_not_open() from None
        self._piece, self._next = memoryview(piece), following
        self._number += 1


def _cipher(key: bytearray, salt: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # late: most openings of a vault seal no file

    own = hkdf(key, b"engram/sealed-file/v1", salt=salt)
    try:
        return AESGCM(own)
    finally:
        wipe(own)


def _nonce(number: int, last: bool) -> bytes:
    return number.to_bytes(11) + bytes([last])


def _does_not_open() -> EncryptionFailed:
    return EncryptionFailed("a sealed file does not open: it is damaged, cut short, or of another key.")
