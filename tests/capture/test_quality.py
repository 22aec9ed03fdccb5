"""Capture measured on the development sets. They are not part of the project: without them these tests are skipped.

`junk_labels.csv` names 200 statements that an earlier release kept, drawn at random, half from each set, by place only, as read
by a person: `junk` (greeting, filler, question, boilerplate), `thin` (true of anyone: "family is important"), `ok`.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engram.capture.statements import Reading, Statement, propositions
from engram.models.statement_reader import StatementReader
from engram.types import Turn

DATA = Path(os.environ.get("EVALUATION_DATA", Path(__file__).parents[3] / "shared" / "data"))
READING = Reading(StatementReader())
LABELS = Path(__file__).with_name("junk_labels.csv")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (DATA / "locomo-dev.jsonl.gz").exists(), reason="the development sets are not here"),
]


def stores(name: str) -> Iterator[dict[str, Any]]:
    with gzip.open(DATA / f"{name}-dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def captured(store: dict[str, Any], wanted: set[str]) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    before: Turn | None = None
    for row in store["turns"]:
        turn = Turn(row["text"], row["speaker"], datetime.fromisoformat(row["at"]), row["session"], row["ref"])
        if row["ref"] in wanted:
            previous = before if before and before.session == turn.session else None
            found[row["ref"]] = propositions(turn, READING, previous=previous)[0]
        before = turn
    return found


@pytest.mark.parametrize(("name", "bar"), [("locomo", 0.98), ("longmemeval", 0.93)])
def test_turns_that_hold_answers_are_not_lost(name: str, bar: float) -> None:
    kept = total = 0
    for store in stores(name):
        evidence = [ref for question in store["questions"] for ref in question["evidence"]]
        found = captured(store, set(evidence))
        kept += sum(bool(found[ref]) for ref in evidence if ref in found)
        total += sum(ref in found for ref in evidence)
    assert kept / total >= bar


def test_more_of_what_lasts_is_kept_than_of_what_is_junk() -> None:
    with LABELS.open(newline="") as rows:
        labels = {(row["store"], row["ref"], int(row["start"]), int(row["end"])): row["label"] for row in csv.DictReader(rows)}
    kept, total = Counter[str](), Counter(labels.values())
    for name in ("locomo", "longmemeval"):
        for store in stores(name):
            found = captured(store, {ref for owner, ref, _, _ in labels if owner == store["store"]})
            for (owner, ref, start, end), label in labels.items():
                if owner == store["store"]:
                    spans = [span for statement in found[ref] for span in statement.spans]
                    kept[label] += sum(max(0, min(end, high) - max(start, low)) for low, high in spans) > (end - start) / 2
    assert kept["ok"] / total["ok"] >= 0.9
    assert kept["junk"] / total["junk"] <= 0.7, "what earlier rules kept wrongly"
