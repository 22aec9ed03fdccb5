"""The benchmark of packing measures what it says: every way from the same hits, and whether the answer is really said."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from serve.console import Engram

ASIDE = "which was decided long ago, after many talks, by people who have all left since then and cannot be asked any more"
TURNS = {
    "a": "My dentist is called Petrova.",
    "b": "I bought a red bicycle.",
    "c": f"The volcano observatory, {ASIDE}, opens in Catania.",
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
def told(engram: Engram, tmp_path: Path) -> dict[str, object]:
    path = tmp_path / "tiny.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(STORE) + "\n").encode()))
    page = engram("bench", "context", str(path), "--tokens", "75,1000").out
    assert "packed whole" in page
    assert "won over top-k turns" in page
    return engram("bench", "context", str(path), "--tokens", "75,1000", "--json").json["files"][0]


def test_every_method_is_measured_and_all_are_equal_with_enough_room(told: dict[str, dict[str, dict[str, float]]]) -> None:
    assert (told["stores"], told["questions"], told["answered"], told["over_budget"]) == (1, 2, 2, 0)
    for figures in (told["context"], told["answers"]):
        ways = ["packed", "packed whole", "top-k", "top-k turns", "top 5 turns", "top 10 turns", "top 20 turns", "history"]
        assert list(figures) == [*ways, "among the hits"]
        assert {of["1000"] for of in figures.values()} == {1.0}


def test_a_memory_that_lost_the_answer_counts_as_evidence_but_not_as_answer(told: dict[str, dict[str, dict[str, float]]]) -> None:
    """In 75 tokens the long statement stands as its key fact, which has lost where it opens."""
    assert told["context"]["packed"]["75"] == 1.0
    assert told["context"]["packed whole"]["75"] == 0.5
    assert told["answers"]["packed"]["75"] == 0.5
