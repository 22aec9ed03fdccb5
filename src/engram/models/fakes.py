"""Small models that ship: for tests and demonstrations where meaning does not matter."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from engram.models.embed import CallableEmbedder, Vectors
from engram.models.extract import Extracted, Extractor
from engram.text import sentences
from engram.text.person import is_assistant
from engram.text.terms import terms
from engram.types import Turn


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


def sentence_extractor() -> Extractor:
    """Every sentence of a person as a statement, in its own words: shows what an extractor gets and gives."""

    def extract(turns: Sequence[Turn], context: Sequence[Turn]) -> list[Extracted]:
        return [
            Extracted(text=f"{turn.speaker}: {turn.text[start:end]}", turn=number)
            for number, turn in enumerate(turns)
            if not is_assistant(turn.speaker)
            for start, end in sentences.spans(turn.text)
        ]

    return extract
