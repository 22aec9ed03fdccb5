"""Encrypted files decrypt to their content, and altered ones are refused."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.crypto.ciphers import MAGIC, PIECE, SealedFileReader, SealedFileWriter
from engram.errors import EncryptionFailed

KEY = bytearray(range(32))
WHOLE = PIECE + 16
HEAD = len(MAGIC) + 16


def sealed(*parts: bytes, key: bytearray = KEY, name: str = "n", salt: int = 1) -> bytes:
    file = io.BytesIO()
    sealer = SealedFileWriter(file, key, name, lambda size: bytes([salt]) * size)
    for part in parts:
        sealer.write(part)
    sealer.finish()
    return file.getvalue()


def opened(content: bytes, key: bytearray = KEY, name: str = "n") -> bytes:
    return SealedFileReader(io.BytesIO(content), key, name).read(1 << 30)


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 5])
def test_a_sealed_file_decrypts_to_its_content(size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    assert opened(sealed(content[: size // 3], content[size // 3 :])) == content


@given(st.lists(st.integers(0, 3 * PIECE // 2), max_size=6), st.integers(1, PIECE))
def test_a_sealed_file_can_be_read_in_chunks_of_any_size(sizes: list[int], step: int) -> None:
    content = bytes(7) * (sum(sizes) // 7)
    opener = SealedFileReader(io.BytesIO(sealed(content)), KEY, "n")
    parts = []
    while part := opener.read(step):
        parts.append(part)
    assert b"".join(parts) == content


@pytest.mark.parametrize("place", [0, len(MAGIC), HEAD, HEAD + 7, HEAD + WHOLE, -1])
def test_a_sealed_file_with_a_flipped_bit_is_refused(place: int) -> None:
    content = bytearray(sealed(bytes(2 * PIECE)))
    content[place] ^= 1
    with pytest.raises(EncryptionFailed):
        opened(bytes(content))


def test_a_truncated_or_reordered_or_extended_file_is_refused() -> None:
    whole = sealed(bytes(PIECE), b"\1" * PIECE, b"\2" * 9)
    head, first, second, last = whole[:HEAD], whole[HEAD : HEAD + WHOLE], whole[HEAD + WHOLE : HEAD + 2 * WHOLE], whole[-25:]
    assert head + first + second + last == whole
    for wrong in (head + first, head + first + second, head + second + first + last, head + first + first + second + last,
                  whole + b"\0", whole + last, whole[:-1], head, whole[:5], b""):  # fmt: skip
        with pytest.raises(EncryptionFailed):
            assert opened(wrong) == "nothing"


def test_a_sealed_file_with_another_key_or_name_or_foreign_pieces_is_refused() -> None:
    content = sealed(b"words")
    other = sealed(b"words", salt=2)
    for call in (
        lambda: opened(content, bytearray(32)),
        lambda: opened(content, name="m"),
        lambda: opened(content[:HEAD] + other[HEAD:]),
    ):
        with pytest.raises(EncryptionFailed):
            call()


def test_the_same_content_never_encrypts_to_the_same_bytes() -> None:
    assert sealed(bytes(99))[HEAD:] != sealed(bytes(99), salt=2)[HEAD:]
