"""What a question is after."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engram.recall.intent import Intent, intent_of, sought

NOW = datetime(2024, 5, 15, 14, 30, tzinfo=UTC)
QUERIES = list(csv.DictReader((Path(__file__).parent / "queries.csv").read_text(encoding="utf-8").splitlines()))


def test_most_labelled_questions_are_told_right() -> None:
    assert len(QUERIES) >= 100
    assert {row["intent"] for row in QUERIES} == {intent.value for intent in Intent}
    told = [(row["question"], intent_of(row["question"]).value, row["intent"]) for row in QUERIES]
    wrong = [one for one in told if one[1] != one[2]]
    assert 1 - len(wrong) / len(QUERIES) >= 0.85, wrong


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("Where was I in March 2023?", "2023-03-01", "2023-04-01"),
        ("What did we decide yesterday?", "2024-05-14", "2024-05-15"),
        ("What did Ada do between 3 May and 9 May 2022?", "2022-05-03", "2022-05-09"),
    ],
)
def test_the_time_that_a_question_names(question: str, start: str, end: str) -> None:
    found = sought(question, NOW).when
    assert found is not None
    assert tuple(moment.date().isoformat() for moment in found) == (start, end)


@pytest.mark.parametrize("question", ["What do I like now?", "Who has three dogs?", "", "May I ask what it is?"])
def test_a_question_without_a_time(question: str) -> None:
    assert sought(question, NOW).when is None


def test_what_is_asked_for() -> None:
    assert sought("When did it rain?", NOW).asks_when
    assert sought("Which book was it?", NOW).asks_name
    assert sought("Which books has she read?", NOW).gathers
    assert not sought("What is the port?", NOW).gathers
    assert sought("Where do I keep my shoes?", NOW).asks_now
    assert not sought("Where did I first keep my shoes?", NOW).asks_now
    assert not sought("Where was I in May 2023?", NOW).asks_now


def test_how_many_days_asks_for_a_time_and_still_gathers() -> None:
    asked = sought("How many weeks did the trip take?", NOW)
    assert asked.asks_when
    assert asked.gathers
    assert not sought("How many books has she read?", NOW).asks_when
