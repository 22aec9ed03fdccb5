"""Capture measured on the development sets. They are not part of the project: without them these tests are skipped.

`junk_labels.csv` names 200 statements drawn at random after the rules were frozen, half from each set, by place only, as
read by a person: `junk` (greeting, filler, question, boilerplate), `thin` (true of anyone: "family is important"), `ok`.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from engram.capture.statements import Statement, propositions
from engram.types import Turn

DATA = Path(os.environ.get("EVALUATION_DATA", Path(__file__).parents[3] / "shared" / "data"))
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
            found[row["ref"]] = propositions(turn, previous=before if before and before.session == turn.session else None)[0]
        before = turn
    return found


@pytest.mark.parametrize(("name", "bar"), [("locomo", 0.985), ("longmemeval", 0.98)])
def test_turns_that_hold_answers_are_not_lost(name: str, bar: float) -> None:
    kept = total = 0
    for store in stores(name):
        evidence = [ref for question in store["questions"] for ref in question["evidence"]]
        found = captured(store, set(evidence))
        kept += sum(bool(found[ref]) for ref in evidence if ref in found)
        total += sum(ref in found for ref in evidence)
    assert kept / total >= bar


def test_little_of_what_is_kept_is_junk() -> None:
    with LABELS.open(newline="") as rows:
        labels = {(row["store"], row["ref"], int(row["start"]), int(row["end"])): row["label"] for row in csv.DictReader(rows)}
    still_kept = []
    for name in ("locomo", "longmemeval"):
        for store in stores(name):
            found = captured(store, {ref for owner, ref, _, _ in labels if owner == store["store"]})
            places = {(store["store"], ref, s.spans[0][0], s.spans[-1][1]) for ref, kept in found.items() for s in kept}
            still_kept += [labels[place] for place in places & labels.keys()]
    assert len(still_kept) >= 150, "the rules have moved so far that the labels must be made anew"
    assert still_kept.count("junk") / len(still_kept) <= 0.10
