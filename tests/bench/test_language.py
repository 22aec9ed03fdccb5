"""The benchmark of time expressions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram.bench import language
from engram.errors import InvalidContent

NOW = "2024-05-15T00:00:00"
ROWS = [
    {"text": "on 3 March", "now": NOW, "past": {"date": "2024-03-03"}, "future": {"date": "2025-03-03"}, "kind": "day"},
    {"text": "on 3 March", "now": NOW, "past": {"date": "2024-03-03"}, "future": {"date": "2024-03-03"}, "kind": "day"},
    {
        "text": "last week",
        "now": NOW,
        "past": {"startDate": "2024-05-06", "endDate": "2024-05-13"},
        "future": {"startDate": "2024-05-06", "endDate": "2024-05-13"},
        "kind": "range",
    },
    {"text": "2/30/2023", "now": NOW, "past": {"date": "0001-01-01"}, "future": {"date": "0001-01-01"}, "kind": "day"},
]


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def test_a_row_is_right_only_if_both_readings_are(tmp_path: Path) -> None:
    found = language.run([written(tmp_path / "rows.jsonl", ROWS)])["files"][0]
    assert (found["rows"], found["right"], found["wrong_lines"]) == (4, 0.75, [2])
    assert "75.0% right" in language.render(language.run([tmp_path / "rows.jsonl"]))


def test_an_invalid_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidContent, match="line 1"):
        language.run([written(tmp_path / "rows.jsonl", [{"text": "today"}])])
