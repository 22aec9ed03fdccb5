"""Fixtures for the tests of recall: a vault with an encoder that needs no files, and one without an encoder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from recall.vaults import FACTS, MODELS, NO_MODEL, open_engram, real_encoder

from engram.engine import Engram
from engram.models.embedders import OnnxEmbedder


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_engram(tmp_path / "vault") as mem:
        yield mem


@pytest.fixture
def wordy(tmp_path: Path) -> Iterator[Engram]:
    """A vault without an encoder."""
    with open_engram(tmp_path / "wordy", words_only=True) as mem:
        yield mem


@pytest.fixture
def full(mem: Engram) -> Engram:
    """A vault with a dozen facts that have little in common."""
    for fact in FACTS:
        mem.remember(fact)
    return mem


@pytest.fixture
def encoder(monkeypatch: pytest.MonkeyPatch) -> OnnxEmbedder:
    monkeypatch.setenv("ENGRAM_MODELS", MODELS)
    found = real_encoder() if MODELS else None
    if found is None:
        pytest.skip(NO_MODEL)
    return found
