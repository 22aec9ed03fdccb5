"""A vector as it is stored: turned, then one scale and a signed byte for each dimension.

    scale: float32, little endian | codes: int8 × dimensions        turn(vector) ≈ scale × codes

Encoders put much of a vector's length into few dimensions (the default one: 0.41 of 1 into the largest), and bytes that
must reach that far are coarse for all the others. `turn` is a fixed rotation that spreads it evenly; dot products stay what
they were, so everything that is searched is searched turned. On 25,000 sentences of chats, the ten nearest by bytes
are those by float32 in 99 of 100 places; without turning in 97.

The scale belongs to the vector: its largest number is ±127, and then the scale is what fits the rounded numbers best. A
vector comes back within half a step a dimension, `√dimensions · largest / 254` in length.
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
    """Each row as the bytes that `decode` reads."""
    scales, codes = quantize(turn(vectors))
    packed = np.empty((len(codes), _SCALE.itemsize + codes.shape[1]), np.uint8)
    packed[:, : _SCALE.itemsize] = scales.astype(_SCALE)[:, None].view(np.uint8)
    packed[:, _SCALE.itemsize :] = codes.view(np.uint8)
    return [row.tobytes() for row in packed]


def decode(stored: Sequence[bytes], dimensions: int) -> tuple[Scales, Codes]:
    """Scales and codes of many stored vectors at once, still turned. Nothing holds on to `stored`."""
    width = _SCALE.itemsize + dimensions
    if wrong := set(map(len, stored)) - {width}:
        raise DimensionMismatch(f"a stored vector has {min(wrong)} bytes; one of {dimensions} dimensions has {width}.")
    packed = np.frombuffer(b"".join(stored), np.uint8).reshape(len(stored), width)
    scales = packed[:, : _SCALE.itemsize].copy().view(_SCALE)[:, 0].astype(np.float32)
    if not np.all(np.isfinite(scales)):
        raise EmbeddingFailed("a stored vector is not made of numbers.")
    return scales, packed[:, _SCALE.itemsize :].copy().view(np.int8)


def turn(vectors: Vectors) -> Vectors:
    """Rotate: flip the signs of half the dimensions, then mix all with all (a Hartley transform)."""
    return _hartley(np.asarray(vectors, np.float32) * _signs(np.shape(vectors)[-1]))


def turn_back(vectors: Vectors) -> Vectors:
    """The inverse of `turn`: a Hartley transform is its own."""
    back: Vectors = _hartley(vectors) * _signs(np.shape(vectors)[-1])
    return back


def quantize(vectors: Vectors) -> tuple[Scales, Codes]:
    """Scales and codes of vectors as they are; `encode` turns them first."""
    array = np.atleast_2d(np.asarray(vectors, np.float32))
    if not np.all(np.isfinite(array)):
        raise EmbeddingFailed("a vector to be stored is not made of numbers.")
    steps = np.abs(array).max(axis=1, initial=0.0, keepdims=True) / _LARGEST
    steps[steps < np.finfo(np.float32).tiny] = 1  # zeros, or as good as zeros
    rounded = np.rint(array / steps)
    fit = np.einsum("ij,ij->i", array / steps, rounded) / np.maximum(np.einsum("ij,ij->i", rounded, rounded), 1)
    return (steps[:, 0] * fit).astype(np.float32), rounded.astype(np.int8)


def restore(scales: Scales, codes: Codes) -> Vectors:
    """The vectors that these stand for, still turned."""
    vectors: Vectors = codes.astype(np.float32)
    vectors *= scales[:, None]
    return vectors


def _hartley(vectors: Vectors) -> Vectors:
    waves = np.fft.fft(vectors, axis=-1, norm="ortho")
    return (waves.real - waves.imag).astype(np.float32)


@lru_cache(maxsize=8)
def _signs(dimensions: int) -> Vectors:
    """One sign a dimension, by Knuth's multiplicative hash: part of the format, the same for ever."""
    places = np.arange(dimensions, dtype=np.uint64)
    signs: Vectors = np.where((places * 2654435761 & 0xFFFFFFFF) >> 31, np.float32(1), np.float32(-1))
    return signs
