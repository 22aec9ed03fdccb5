"""Read and write archives: everything that a reader may see, in one encrypted file under a passphrase of its own.

    magic (8) | scrypt log₂ N (1) | lanes (1) | salt (16) | a sealed stream (crypto/ciphers.py) of MessagePack records

The first record describes the archive and the last holds the number of records. Both ends work piece by piece, so neither holds
the whole archive. An archive that was changed, cut short or appended to does not open, and no record is given out from a piece
that does not verify.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import msgpack

from engram.crypto.ciphers import SealedFileReader, SealedFileWriter
from engram.crypto.keys import SALT_BYTES, Kdf, passphrase_key, wipe
from engram.errors import EncryptionFailed, EngramError, InvalidContent, VaultDamaged, VaultLocked

MAGIC = b"ENGRAMA1"
FORMAT = 1
_NAME = "engram-archive"
_PIECE = 64 * 1024
_MOST_RECORD = 16 * 1024 * 1024
"""Most bytes of one record. The largest valid one is a turn of `turn_bytes`; a forged length must not take all memory."""

Record = Mapping[str, Any]


def write(
    file: BinaryIO, records: Iterable[Record], passphrase: str, *, log_n: int, random: Callable[[int], bytes], about: Record
) -> int:
    """Write an archive and return its number of records. A file left incomplete by an error does not open."""
    kdf = Kdf("scrypt", random(SALT_BYTES), {"log_n": log_n, "lanes": 1})
    file.write(MAGIC + bytes([log_n, 1]) + kdf.salt)
    key = passphrase_key(passphrase, kdf)
    try:
        sealer = SealedFileWriter(file, key, _NAME, random)
    finally:
        wipe(key)
    pack = msgpack.Packer(use_bin_type=True).pack
    sealer.write(pack({"type": "archive", "format": FORMAT, **about}))
    count = 0
    for record in records:
        sealer.write(pack(dict(record)))
        count += 1
    sealer.write(pack({"type": "end", "records": count}))
    sealer.finish()
    return count


def is_archive(head: bytes) -> bool:
    """Return True if these first bytes of a file are those of an archive."""
    return head.startswith(MAGIC)


def read(file: BinaryIO, passphrase: str) -> Iterator[dict[str, Any]]:
    """Yield the records between the first and the last. Raise VaultLocked for a wrong passphrase, EncryptionFailed for damage."""
    opener = _opened(file, passphrase)
    unpacker = msgpack.Unpacker(raw=False, strict_map_key=True, max_buffer_size=_MOST_RECORD + _PIECE)
    records = _records(opener, unpacker)
    _check_head(next(records, None))
    for count, record in enumerate(records):
        if record.get("type") == "end":
            if record.get("records") != count or next(records, None) is not None:
                raise _malformed()
            return
        yield record
    raise _malformed()


def _opened(file: BinaryIO, passphrase: str) -> SealedFileReader:
    head = file.read(len(MAGIC) + 2 + SALT_BYTES)
    if not is_archive(head) or len(head) < len(MAGIC) + 2 + SALT_BYTES:
        raise InvalidContent("this file is not an Engram archive.", way_out="Name its format with `--format`.")
    log_n, lanes = head[len(MAGIC)], head[len(MAGIC) + 1]
    try:
        kdf = Kdf("scrypt", head[len(MAGIC) + 2 :], {"log_n": log_n, "lanes": lanes})
    except VaultDamaged:
        raise EncryptionFailed("the header of this archive is damaged.", way_out="Use another copy of it.") from None
    key = passphrase_key(passphrase, kdf)
    try:
        return SealedFileReader(file, key, _NAME)
    except EncryptionFailed:
        raise _cut_short() from None
    finally:
        wipe(key)


def _records(opener: SealedFileReader, unpacker: Any) -> Iterator[dict[str, Any]]:
    first = True
    while True:
        try:
            piece = opener.read(_PIECE)
        except EncryptionFailed:
            if first:
                raise VaultLocked(
                    "this archive does not open: the passphrase is wrong, or the file is damaged at its beginning.",
                    way_out="Try the passphrase it was made with, or another copy of the file.",
                ) from None
            raise _cut_short() from None
        first = False
        if not piece:
            return
        try:
            unpacker.feed(piece)
            for record in unpacker:
                if not isinstance(record, dict):
                    raise _malformed()
                yield record
        except (ValueError, TypeError, msgpack.UnpackException, RecursionError) as error:
            raise error if isinstance(error, EngramError) else _malformed() from None


def _check_head(head: Record | None) -> None:
    if head is None or head.get("type") != "archive" or not isinstance(head.get("format"), int):
        raise _malformed()
    if head["format"] > FORMAT:
        raise InvalidContent("this archive was made by a later version of Engram.", way_out="Upgrade engram-local.")


def _cut_short() -> EncryptionFailed:
    return EncryptionFailed("this archive is damaged or cut short.", way_out="Nothing after that was read. Use another copy.")


def _malformed() -> InvalidContent:
    return InvalidContent("this archive holds an invalid record.", way_out="Make it again with `engram export`.")
