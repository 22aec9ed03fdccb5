"""Small models that ship: for tests and demonstrations where meaning does not matter."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from engram.models.embed import CallableEmbedder, Vectors
from engram.text.terms import terms


def hashing_embedder(dimensions: int = 64) -> CallableEmbedder:
    """A bag of hashed words: equal words give near vectors, nothing more. Needs no files and no time."""

    def embed(texts: Sequence[str]) -> list[Vectors]:
        return [_bag(text, dimensions) for text in texts]

    return CallableEmbedder(embed, name=f"hashing-{dimensions}", dimensions=dimensions)


def _bag(text: str, dimensions: int) -> Vectors:
    vector = np.full(dimensions, 1e-3, np.float32)
    for term in terms(text):
        place = int.from_bytes(hashlib.blake2b(term.encode(), digest_size=8).digest())
        vector[place % dimensions] += 1.0 if place & (1 << 40) else -1.0
    return vector
