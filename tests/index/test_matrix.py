"""Vectors as stored bytes: decoding is off by at most half a step, and invalid bytes or vectors are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from index.sources import clustered

from engram.errors import DimensionMismatch, EmbeddingFailed
from engram.index.vectors.matrix import decode, encode, quantize, restore, rotate, rotate_back
from engram.models.embedders import Vectors, unit

numbers = st.floats(-1e6, 1e6, width=32)
matrices = arrays.arrays(np.float32, arrays.array_shapes(min_dims=2, max_dims=2, max_side=40), elements=numbers)


def decoded(vectors: Vectors) -> Vectors:
    return rotate_back(restore(*decode(encode(vectors), vectors.shape[1])))


@given(matrices)
def test_a_decoded_vector_is_off_by_at_most_half_a_step_per_dimension(vectors: Vectors) -> None:
    steps = np.abs(rotate(vectors)).max(axis=1) / 127
    length = np.linalg.norm(vectors, axis=1)
    error = np.linalg.norm(decoded(vectors) - vectors, axis=1)
    assert np.all(error <= steps / 2 * np.sqrt(vectors.shape[1]) + 1e-5 * length + 1e-30)


@given(matrices)
def test_encoding_a_decoded_vector_again_changes_nothing(vectors: Vectors) -> None:
    once = decoded(vectors)
    np.testing.assert_allclose(decoded(once), once, rtol=1e-3, atol=1e-5 * np.abs(once).max(initial=0) + 1e-30)


@given(matrices)
def test_rotation_keeps_dot_products_and_can_be_undone(vectors: Vectors) -> None:
    turned = rotate(vectors).astype(np.float64)
    exact = vectors.astype(np.float64)
    scale = np.linalg.norm(exact, axis=1).max(initial=0)
    np.testing.assert_allclose(turned @ turned.T, exact @ exact.T, atol=1e-5 * scale**2 + 1e-30)
    np.testing.assert_allclose(rotate_back(rotate(vectors)), vectors, atol=1e-5 * scale + 1e-30)


def test_one_large_dimension_does_not_coarsen_the_others() -> None:
    vectors = clustered(200, 1, dimensions=384)
    vectors[:, 7] = 0.7
    vectors = unit(vectors)
    errors = np.linalg.norm(decoded(vectors) - vectors, axis=1)
    plainly = np.linalg.norm(restore(*quantize(vectors)) - vectors, axis=1)
    assert np.all(errors < plainly / 2)


def test_the_stored_bytes_of_a_vector_have_not_changed() -> None:
    """Vaults hold these bytes for years, so they must stay as the first release wrote them."""
    vector = np.asarray([[0.5, -0.25, 0.75, 0.0, 1.0, -1.0]], np.float32)
    scales, codes = decode([bytes.fromhex("91f91d3cc0fbc9813744")], 6)
    np.testing.assert_allclose(rotate_back(restore(scales, codes)), vector, atol=0.01)
    written_scales, written_codes = decode(encode(vector), 6)
    assert written_codes.tolist() == codes.tolist()
    np.testing.assert_allclose(written_scales, scales, rtol=1e-5)  # the last bits of a Fourier transform depend on the platform


def test_the_layout_is_a_little_endian_scale_and_a_byte_per_dimension() -> None:
    scales, codes = decode([b"\x00\x00\x80\x3f" + bytes([127, 256 - 64, 0])], 3)
    assert scales.tolist() == [1.0]
    assert codes.tolist() == [[127, -64, 0]]


def test_cosines_of_unit_vectors_move_by_less_than_a_hundredth() -> None:
    dice = np.random.default_rng(3)
    vectors = dice.normal(size=(200, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    restored = decoded(vectors)
    assert np.abs(restored @ vectors.T - vectors @ vectors.T).max() < 0.01


def test_encoding_no_vectors_gives_no_bytes() -> None:
    scales, codes = decode([], 8)
    assert scales.shape == (0,)
    assert codes.shape == (0, 8)
    assert encode(np.empty((0, 8), np.float32)) == []


@pytest.mark.parametrize("stored", [[b"\x00" * 11], [b"\x00" * 11, b"\x00" * 13], [b""]])
def test_stored_bytes_of_another_length_raise_dimension_mismatch(stored: list[bytes]) -> None:
    with pytest.raises(DimensionMismatch):
        decode(stored, 8)


def test_vectors_with_nan_or_infinity_are_refused() -> None:
    with pytest.raises(EmbeddingFailed):
        encode(np.asarray([[1.0, np.nan]], np.float32))
    with pytest.raises(EmbeddingFailed):
        decode([np.float32(np.inf).tobytes() + b"\x01\x01"], 2)
