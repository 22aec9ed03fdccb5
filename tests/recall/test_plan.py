"""The analysis of what a question asks for."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engram.recall.plan import Intent, analyze, intent_of

NOW = datetime(2024, 5, 15, 14, 30, tzinfo=UTC)
QUERIES = list(csv.DictReader((Path(__file__).parent / "queries.csv").read_text(encoding="utf-8").splitlines()))


def test_most_labelled_questions_are_classified_correctly() -> None:
    assert len(QUERIES) >= 100
    assert {row["intent"] for row in QUERIES} == {intent.value for intent in Intent}
    answers = [(row["question"], intent_of(row["question"]).value, row["intent"]) for row in QUERIES]
    wrong = [answer for answer in answers if answer[1] != answer[2]]
    assert 1 - len(wrong) / len(QUERIES) >= 0.85, wrong


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("Where was I in March 2023?", "2023-03-01", "2023-04-01"),
        ("What did we decide yesterday?", "2024-05-14", "2024-05-15"),
        ("What did Ada do between 3 May and 9 May 2022?", "2022-05-03", "2022-05-10"),
    ],
)
def test_a_question_names_a_period(question: str, start: str, end: str) -> None:
    when = analyze(question, NOW).when
    assert when is not None
    assert tuple(moment.date().isoformat() for moment in when) == (start, end)


@pytest.mark.parametrize("question", ["What do I like now?", "Who has three dogs?", "", "May I ask what it is?"])
def test_a_question_names_no_period(question: str) -> None:
    assert analyze(question, NOW).when is None


def test_a_question_asks_for_a_time_a_name_many_things_or_the_present() -> None:
    assert analyze("When did it rain?", NOW).asks_when
    assert analyze("Which book was it?", NOW).asks_name
    assert analyze("Which books has she read?", NOW).gathers
    assert not analyze("What is the port?", NOW).gathers
    assert analyze("Where do I keep my shoes?", NOW).asks_now
    assert not analyze("Where did I first keep my shoes?", NOW).asks_now
    assert not analyze("Where was I in May 2023?", NOW).asks_now


def test_how_many_weeks_asks_for_a_time_and_for_many_memories() -> None:
    asked = analyze("How many weeks did the trip take?", NOW)
    assert asked.asks_when
    assert asked.gathers
    assert not analyze("How many books has she read?", NOW).asks_when
