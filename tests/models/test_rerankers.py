"""A cross-encoder from a folder, through the real runtime, and the error for missing files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recall.vaults import MODELS, NO_MODEL

from engram.errors import EmbedderUnavailable
from engram.models import catalogue
from engram.models.rerankers import OnnxReranker


def test_an_incomplete_reranker_folder_is_refused_naming_the_missing_files(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"model\.onnx") as caught:
        OnnxReranker(tmp_path / "small-cross").score("q", ["a"])
    assert "small-cross" in str(caught.value)


def test_every_text_gets_its_own_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bundled encoder has the inputs of a cross-encoder; its scores mean nothing, but there is one for each pair."""
    monkeypatch.setenv("ENGRAM_MODELS", MODELS)
    model = catalogue.find()
    if not MODELS or not model.installed():
        pytest.skip(NO_MODEL)
    reranker = OnnxReranker(model.folder)
    opinions = reranker.score("where does Carla live?", ["Carla lives in Lisbon", "chess", "chess"])
    assert opinions.shape == (3,)
    assert opinions[1] == opinions[2] != opinions[0]
    assert np.array_equal(reranker.score("where does Carla live?", ["chess"]), opinions[1:2])
