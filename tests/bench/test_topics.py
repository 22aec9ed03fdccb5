"""The figures of the benchmark of topics equal those calculated by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engram.bench import topics
from engram.bench.topics import SwitchFigures
from engram.errors import InvalidContent
from engram.models.embedders import hashing_embedder

TALK = [
    ("The payment API fails on its health check.", False),
    ("The health check of the payment API is slow.", False),
    ("Do you like jazz concerts?", True),
    ("Yes, jazz concerts are fine.", False),
]


def test_a_change_of_topic_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "talks.jsonl"
    file.write_text(json.dumps({"turns": [{"text": text, "shift": shift} for text, shift in TALK]}) + "\n", "utf-8")
    results = topics.run(file, hashing_embedder(256))
    assert (results["conversations"], results["turns"], results["shifts"]) == (1, 3, 1)
    assert results["engram"] == SwitchFigures(1.0, 1.0, pytest.approx(1.0))
    assert results["every turn"].precision == pytest.approx(1 / 3)
    assert "F1" in topics.render(results)


def test_the_figures_equal_those_calculated_by_hand() -> None:
    found, true = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert topics._figures(found, true) == SwitchFigures(0.5, 0.5, pytest.approx(0.5))
    assert topics._figures(np.zeros(4, bool), true) == SwitchFigures(0.0, 0.0, 0.0)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "else.jsonl"
    file.write_text("{}\n")
    with pytest.raises(InvalidContent):
        topics.run(file, hashing_embedder())
