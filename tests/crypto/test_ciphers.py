"""Encrypted fields and vectors open only with their key and in their place (C8); encrypted files decrypt to their content, and
altered ones are refused."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.crypto.ciphers import MAGIC, PIECE, FieldCipher, SealedFileReader, SealedFileWriter
from engram.errors import EncryptionFailed
from engram.index.vectors.matrix import decode, encode, restore

KEY = bytes(range(32))


def cipher(key: bytes = KEY) -> FieldCipher:
    return FieldCipher(bytearray(key))


@given(st.text(max_size=200), st.text(max_size=40))
def test_a_sealed_field_opens_in_its_own_place(text: str, place: str) -> None:
    clean, place = (one.encode("utf-8", "replace").decode() for one in (text, place))
    assert cipher().unseal(cipher().seal(clean, place), place) == clean


def test_a_sealed_field_that_was_moved_or_changed_or_has_another_key_is_refused() -> None:
    sealed = cipher().seal("my card is 4111", "text/7")
    assert "4111" not in sealed
    for place, raw, key in (
        ("text/8", sealed, KEY),
        ("tag/7", sealed, KEY),
        ("text/7", sealed[:-4] + "AAA=", KEY),
        ("text/7", "no base64!", KEY),
        ("text/7", sealed, bytes(32)),
    ):
        with pytest.raises(EncryptionFailed):
            cipher(key).unseal(raw, place)


def test_a_field_key_is_wrapped_under_another_key() -> None:
    old, new = cipher(), cipher(bytes(32))
    sealed = old.seal("words", "text/1")
    assert new.unwrap(new.wrap(old)).unseal(sealed, "text/1") == "words"
    with pytest.raises(EncryptionFailed):
        old.unwrap(new.wrap(old))


@pytest.mark.parametrize("dimensions", [8, 384, 1024])
def test_a_projected_vector_reveals_nothing_and_is_restored_by_the_key(dimensions: int) -> None:
    vectors = np.random.default_rng(3).standard_normal((40, dimensions)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stored = encode(vectors)
    mine, same = cipher(), cipher()
    turned = [mine.project(one) for one in stored]
    back = [same.straighten(one) for one in turned]
    plain, hidden, again = (restore(*decode(each, dimensions)) for each in (stored, turned, back))
    assert (plain * again).sum(axis=1).min() > 0.999
    if dimensions > 8:
        assert np.abs((plain * hidden).sum(axis=1)).max() < 0.4, "it says nothing about where it was"
    assert np.abs(hidden @ hidden.T - plain @ plain.T).max() < 0.05, "angles stay what they were"
    other = cipher(bytes(32)).straighten(turned[0])
    assert abs(float(restore(*decode([other], dimensions))[0] @ plain[0])) < (0.9 if dimensions == 8 else 0.4)


def test_projecting_vectors_costs_less_than_three_percent_of_recall() -> None:
    """Compare the ten nearest of projected and restored vectors with the ten nearest of the stored vectors."""
    dice = np.random.default_rng(5)
    centres = dice.standard_normal((60, 384))
    vectors = (centres[dice.integers(0, 60, 1500)] + 0.7 * dice.standard_normal((1500, 384))).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stored = encode(vectors)
    held = cipher()
    plain = restore(*decode(stored, 384))
    again = restore(*decode([held.straighten(held.project(one)) for one in stored], 384))
    queries = plain[:100]
    nearest = np.argsort(-(queries @ plain.T), axis=1)[:, :10]
    found = np.argsort(-(queries @ again.T), axis=1)[:, :10]
    kept = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(nearest, found, strict=True)])
    assert kept > 0.97


STREAM_KEY = bytearray(range(32))
WHOLE = PIECE + 16
HEAD = len(MAGIC) + 16


def sealed(*parts: bytes, key: bytearray = STREAM_KEY, name: str = "n", salt: int = 1) -> bytes:
    file = io.BytesIO()
    sealer = SealedFileWriter(file, key, name, lambda size: bytes([salt]) * size)
    for part in parts:
        sealer.write(part)
    sealer.finish()
    return file.getvalue()


def opened(content: bytes, key: bytearray = STREAM_KEY, name: str = "n") -> bytes:
    return SealedFileReader(io.BytesIO(content), key, name).read(1 << 30)


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 5])
def test_a_sealed_file_decrypts_to_its_content(size: int) -> None:
    content = bytes(number % 251 for number in range(size))
    assert opened(sealed(content[: size // 3], content[size // 3 :])) == content


@given(st.lists(st.integers(0, 3 * PIECE // 2), max_size=6), st.integers(1, PIECE))
def test_a_sealed_file_can_be_read_in_chunks_of_any_size(sizes: list[int], step: int) -> None:
    content = bytes(7) * (sum(sizes) // 7)
    opener = SealedFileReader(io.BytesIO(sealed(content)), STREAM_KEY, "n")
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
