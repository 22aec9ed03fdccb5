"""A vector as bytes: comes back within half a step, and what is no vector does not come back at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from engram.errors import DimensionMismatch, EmbeddingFailed
from engram.index.vectors.encoding import decode, encode, restore
from engram.models.embed import Vectors

numbers = st.floats(-1e6, 1e6, width=32)
matrices = arrays.arrays(np.float32, arrays.array_shapes(min_dims=2, max_dims=2, max_side=40), elements=numbers)


@given(matrices)
def test_each_number_comes_back_within_half_a_step_of_its_own_vector(vectors: Vectors) -> None:
    scales, codes = decode(encode(vectors), vectors.shape[1])
    steps = np.abs(vectors).max(axis=1, keepdims=True) / 127
    assert np.all(np.abs(restore(scales, codes) - vectors) <= steps * 0.501 + 1e-37)


@given(matrices)
def test_bytes_that_were_decoded_encode_to_themselves(vectors: Vectors) -> None:
    stored = encode(vectors)
    assert encode(restore(*decode(stored, vectors.shape[1]))) == stored


def test_the_layout_is_a_little_endian_scale_and_a_byte_a_dimension() -> None:
    (stored,) = encode(np.asarray([[127.0, -63.5, 0.0]], np.float32))
    assert stored == b"\x00\x00\x80\x3f" + bytes([127, 256 - 64, 0])


def test_cosines_of_unit_vectors_move_by_less_than_a_hundredth() -> None:
    dice = np.random.default_rng(3)
    vectors = dice.normal(size=(200, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    restored = restore(*decode(encode(vectors), 384))
    assert np.abs(restored @ vectors.T - vectors @ vectors.T).max() < 0.01


def test_no_vectors_are_no_bytes() -> None:
    scales, codes = decode([], 8)
    assert scales.shape == (0,)
    assert codes.shape == (0, 8)
    assert encode(np.empty((0, 8), np.float32)) == []


@pytest.mark.parametrize("stored", [[b"\x00" * 11], [b"\x00" * 11, b"\x00" * 13], [b""]])
def test_bytes_of_another_length_are_a_mismatch(stored: list[bytes]) -> None:
    with pytest.raises(DimensionMismatch):
        decode(stored, 8)


def test_what_is_not_made_of_numbers_is_refused() -> None:
    with pytest.raises(EmbeddingFailed):
        encode(np.asarray([[1.0, np.nan]], np.float32))
    with pytest.raises(EmbeddingFailed):
        decode([np.float32(np.inf).tobytes() + b"\x01\x01"], 2)
