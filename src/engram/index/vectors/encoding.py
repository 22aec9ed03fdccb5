"""The stored form of a vector: rotated, then one scale and a signed byte per dimension.

    scale: float32, little endian | codes: int8 × dimensions        rotate(vector) ≈ scale × codes

Encoders put much of a vector's length into few dimensions (the default one: 0.41 of 1 into the largest), and a byte that
covers that range is coarse for all other dimensions. `rotate` is a fixed rotation that spreads the length evenly; it keeps dot
products, so search works on rotated vectors throughout. On 25,000 sentences of chats, the ten nearest by bytes are those by
float32 in 99 of 100 places; without the rotation in 97.

Each vector has its own scale: the largest component becomes ±127, then the scale is fitted to the rounded codes. A restored
vector is off by at most half a step per dimension, `√dimensions · largest / 254` in length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engram.errors import DimensionMismatch, EmbeddingFailed
from engram.models.embed import Vectors

Codes = npt.NDArray[np.int8]
Scales = npt.NDArray[np.float32]

_SCALE = np.dtype("<f4")
_LARGEST = 127


def encode(vectors: Vectors) -> list[bytes]:
    """Return each row as the bytes that `decode` reads."""
    scales, codes = quantize(rotate(vectors))
    packed = np.empty((len(codes), _SCALE.itemsize + codes.shape[1]), np.uint8)
    packed[:, : _SCALE.itemsize] = scales.astype(_SCALE)[:, None].view(np.uint8)
    packed[:, _SCALE.itemsize :] = codes.view(np.uint8)
    return [row.tobytes() for row in packed]


def decode(stored: Sequence[bytes], dimensions: int) -> tuple[Scales, Codes]:
    """Return scales and codes of many stored vectors at once, still rotated. The result holds no reference to `stored`."""
    width = _SCALE.itemsize + dimensions
    if wrong := set(map(len, stored)) - {width}:
        raise DimensionMismatch(f"a stored vector has {min(wrong)} bytes; one of {dimensions} dimensions has {width}.")
    packed = np.frombuffer(b"".join(stored), np.uint8).reshape(len(stored), width)
    scales = packed[:, : _SCALE.itemsize].copy().view(_SCALE)[:, 0].astype(np.float32)
    if not np.all(np.isfinite(scales)):
        raise EmbeddingFailed("a stored vector has a scale that is not a finite number.")
    return scales, packed[:, _SCALE.itemsize :].copy().view(np.int8)


def rotate(vectors: Vectors) -> Vectors:
    """Rotate vectors: flip the signs of half the dimensions, then mix all dimensions (a Hartley transform)."""
    return _hartley(np.asarray(vectors, np.float32) * _signs(np.shape(vectors)[-1]))


def rotate_back(vectors: Vectors) -> Vectors:
    """Undo `rotate`; a Hartley transform is its own inverse."""
    vectors_back: Vectors = _hartley(vectors) * _signs(np.shape(vectors)[-1])
    return vectors_back


def quantize(vectors: Vectors) -> tuple[Scales, Codes]:
    """Return scales and codes of vectors without rotating them; `encode` rotates first."""
    array = np.atleast_2d(np.asarray(vectors, np.float32))
    if not np.all(np.isfinite(array)):
        raise EmbeddingFailed("a vector to be stored has a component that is not a finite number.")
    steps = np.abs(array).max(axis=1, initial=0.0, keepdims=True) / _LARGEST
    steps[steps < np.finfo(np.float32).tiny] = 1  # a vector of zeros, or of denormals
    rounded = np.rint(array / steps)
    fit = np.einsum("ij,ij->i", array / steps, rounded) / np.maximum(np.einsum("ij,ij->i", rounded, rounded), 1)
    return (steps[:, 0] * fit).astype(np.float32), rounded.astype(np.int8)


def restore(scales: Scales, codes: Codes) -> Vectors:
    """Return the vectors of these scales and codes, still rotated."""
    vectors: Vectors = codes.astype(np.float32)
    vectors *= scales[:, None]
    return vectors


def _hartley(vectors: Vectors) -> Vectors:
    waves = np.fft.fft(vectors, axis=-1, norm="ortho")
    return (waves.real - waves.imag).astype(np.float32)


@lru_cache(maxsize=8)
def _signs(dimensions: int) -> Vectors:
    """Return one sign per dimension, by Knuth's multiplicative hash. Part of the on-disk format: never change it."""
    indices = np.arange(dimensions, dtype=np.uint64)
    signs: Vectors = np.where((indices * 2654435761 & 0xFFFFFFFF) >> 31, np.float32(1), np.float32(-1))
    return signs
