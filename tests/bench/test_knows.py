"""The benchmark of `knows`, on two small conversations with hashed words."""

from __future__ import annotations

import json
from pathlib import Path

from recall.vaults import hashing_encoder

from engram.bench import knows
from engram.bench.knows import OWN, STRANGE, UNANSWERABLE

TALKS = (
    ("a", "Ines", "I fire the kiln of the pottery on Mondays.", "When does Ines fire the kiln?"),
    ("b", "Otto", "My trumpet was stolen from the theatre in Ghent.", "Where was the trumpet of Otto stolen?"),
)


def file_of(path: Path) -> Path:
    lines = []
    for name, speaker, text, question in TALKS:
        turns = [{"speaker": speaker, "text": text, "ref": "1", "session": "s", "at": "2024-05-01T10:00:00Z"}]
        own = {"text": question, "at": "2024-05-02T10:00:00Z", "evidence": ["1"], "answerable": True}
        other = {"text": "Who sold the yellow submarine?", "at": "2024-05-02T10:00:00Z", "evidence": [], "answerable": False}
        lines.append(json.dumps({"store": name, "turns": turns, "questions": [own, other]}))
    path.write_text("\n".join(lines))
    return path


def test_own_questions_are_confident_and_those_of_another_store_unknown(tmp_path: Path) -> None:
    found = knows.run([file_of(tmp_path / "talks.jsonl")], embedder=hashing_encoder())
    (file,) = found["files"]
    assert file["asked"] == 12  # of either store its two questions and the other's one, in two forms
    levels = file["forms"]["question"]["levels"]
    assert levels["confident"] == {"asked": 2, OWN: 1.0, UNANSWERABLE: 0.0, STRANGE: 0.0, "found": 1.0}
    assert levels["unknown"]["asked"] >= 3
    assert levels["unknown"][OWN] == levels["unknown"]["found"] == 0.0
    answered = file["forms"]["question"]["answered"]
    assert (answered[OWN], answered[UNANSWERABLE]) == (1.0, 0.0)
    page = knows.render(found)
    assert "confident" in page
    assert "recall says `answered` to: answerable 1.000" in page
