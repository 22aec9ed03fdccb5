"""The benchmark of follow-ups: the talk helps messages that depend on it and leaves the others alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram.bench import followups
from engram.bench.followups import ALONE, FOLLOWED, PLAIN, WITH_TALK
from engram.errors import InvalidContent
from engram.models.embedders import hashing_embedder

SAID = (
    ["The ledger service deploys through Fly"]
    + ["My dentist is called Petrova"]
    + [f"Remark {n} of nothing much" for n in range(20)]
)
ASKED = [("How does the ledger service deploy?", "0"), ("What is the name of my dentist Petrova?", "1")]


def test_the_talk_helps_a_follow_up_and_leaves_a_question_alone(tmp_path: Path) -> None:
    at = "2023-05-08T13:00:00Z"
    turns = [{"ref": str(n), "session": "s", "speaker": "Ann", "text": text, "at": at} for n, text in enumerate(SAID)]
    questions = [
        {"id": ref, "text": text, "at": at, "category": "one", "evidence": [ref], "answerable": True} for text, ref in ASKED
    ]
    file = tmp_path / "talk.jsonl"
    file.write_text(json.dumps({"store": "tiny", "turns": turns, "questions": questions}) + "\n", "utf-8")
    results = followups.run([file], hashing_embedder(256))
    rows = results["R@10"]
    assert results["questions"] == 2
    assert rows[FOLLOWED][WITH_TALK] > rows[FOLLOWED][PLAIN]
    assert rows[ALONE][WITH_TALK] == rows[ALONE][PLAIN] == 1.0
    assert "with the talk" in followups.render(results)


def test_a_file_without_questions_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "none.jsonl"
    file.write_text(json.dumps({"store": "none", "turns": [], "questions": []}) + "\n", "utf-8")
    with pytest.raises(InvalidContent):
        followups.run([file], hashing_embedder())
