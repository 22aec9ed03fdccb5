"""The benchmark of packing: every method packs the same hits, and a window that lost the answer does not count as answering."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from serve.console import Engram

ASIDE = "that people who have all left since then and cannot be asked any more decided on long ago after many talks"
TURNS = {
    "a": "My dentist is called Petrova.",
    "b": "I bought a red bicycle.",
    "c": f"The volcano observatory {ASIDE} opens in Catania.",
}
STORE = {
    "store": "tiny",
    "turns": [
        {"ref": ref, "session": "s", "speaker": "Bo", "text": text, "at": "2023-05-08T13:00:00Z"} for ref, text in TURNS.items()
    ],
    "questions": [
        {"text": "Who is the dentist?", "evidence": ["a"], "answer": "Petrova", "at": "2023-06-01T00:00:00Z"},
        {
            "text": "Where does the volcano observatory open?",
            "evidence": ["c"],
            "answer": "in Catania",
            "at": "2023-06-01T00:00:00Z",
        },
        {"text": "helicopter", "evidence": [], "answerable": False},
    ],
}


@pytest.fixture
def file_results(engram: Engram, tmp_path: Path) -> dict[str, object]:
    path = tmp_path / "tiny.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(STORE) + "\n").encode()))
    page = engram("bench", "context", str(path), "--tokens", "65,1000").out
    assert "packed whole" in page
    assert "won over top-k turns" in page
    return engram("bench", "context", str(path), "--tokens", "65,1000", "--json").json["files"][0]


def test_every_method_is_measured_and_all_are_equal_with_enough_room(
    file_results: dict[str, dict[str, dict[str, float]]],
) -> None:
    assert (file_results["stores"], file_results["questions"], file_results["answered"], file_results["over_budget"]) == (
        1,
        2,
        2,
        0,
    )
    for figures in (file_results["context"], file_results["answers"]):
        methods = ["packed", "packed whole", "top-k", "top-k turns", "top 5 turns", "top 10 turns", "top 20 turns", "history"]
        assert list(figures) == [*methods, "among the hits"]
        assert {shares["1000"] for shares in figures.values()} == {1.0}


def test_a_memory_that_lost_the_answer_counts_as_evidence_but_not_as_answer(
    file_results: dict[str, dict[str, dict[str, float]]],
) -> None:
    """In 65 tokens the long statement is packed as its key fact, which has lost the place."""
    assert file_results["context"]["packed"]["65"] == 1.0
    assert file_results["context"]["packed whole"]["65"] == 0.5
    assert file_results["answers"]["packed"]["65"] == 0.5
