"""English questions taken apart."""

from __future__ import annotations

import pytest

from engram.text.english.questions import Bounded, bounded, described, names, parts, resolved


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Where is Ada? Who is Bob?", ["Where is Ada?", "Who is Bob?"]),
        ("Who runs it, and when did it start?", ["Who runs it?", "When did it start?"]),
        ("Where is the office and when does it open?", ["Where is the office?", "When does the office open?"]),
        ("When did my aunt move and where does she work?", ["When did my aunt move?", "Where does my aunt work?"]),
        ("Tell me who runs it and when it started", ["Tell me who runs it.", "Tell me when it started."]),
        ("What did Ada buy and was that too much?", []),
        ("Tell me what I like and do not like", []),
        ("What do salt and pepper cost?", []),
    ],
)
def test_joined_questions_are_asked_one_by_one(question: str, asked: list[str]) -> None:
    assert [part.question for part in parts(question)] == asked


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What have Ada and Bob both painted?", ["What has Ada painted?", "What has Bob painted?"]),
        ("What are Ada and Bob's hobbies?", ["What are Ada's hobbies?", "What are Bob's hobbies?"]),
        ("What do Ada and Bob have in common?", ["What is known about Ada?", "What is known about Bob?"]),
        ("Which came first, the rug or the lamp?", ["What is known about the rug?", "What is known about the lamp?"]),
        ("Recap my garden year: soil and seeds", ["Recap my garden year: soil.", "Recap my garden year: seeds."]),
        ("Is it good both for soup and for bread?", ["Is it good for soup?", "Is it good for bread?"]),
        ("Did the rug come before or after we moved?", ["Did the rug come?", "When was it that we moved?"]),
        ("When did Ada meet Charles in The Hague?", []),
    ],
)
def test_a_comparison_is_asked_for_each_of_its_sides(question: str, asked: list[str]) -> None:
    assert [part.question for part in parts(question)] == asked


def test_a_date_is_no_event_to_split_at() -> None:
    assert bounded("What happened after March 2024?") is None
    assert bounded("What did we do after the launch?") == Bounded("What did we do?", "after", "When was the launch?")


def test_a_description_before_a_question_is_a_question_of_its_own() -> None:
    found = described("The friend I ran with, where does her dog sleep?")
    assert found is not None
    assert (found.who, found.named("Ada")) == ("Who is the friend I ran with?", "Where does Ada's dog sleep?")
    assert described("The friend I ran with, where is the dog?") is None


@pytest.mark.parametrize(
    ("statement", "speaker", "question"),
    [
        ("The boss of Ada is Bob", "", "Where does Bob's dog sleep?"),
        ("We met Bob. Bob is my boss, by the way", "Ada", "Where does Bob's dog sleep?"),
        ("My boss Bob called", "Ada", "Where does Bob's dog sleep?"),
        ("My boss Bob called", "Carl", None),
        ("Ada's boss, Bob and I went home", "", None),
    ],
)
def test_a_statement_gives_a_name_to_somebody_who_is_described(statement: str, speaker: str, question: str | None) -> None:
    found = resolved("Where does Ada's boss's dog sleep?", statement, speaker)
    assert (found and found[1]) == question


def test_names_are_recognized_by_their_capitals() -> None:
    assert names("When did Ada Byron meet Charles in The Hague?") == ["Ada Byron", "Charles", "Hague"]
    assert names("Ada's boss is Bob. The API is down") == ["Ada", "Bob", "API"]
