"""What a question and the arms' answers make each opinion worth: pure rules, checked on values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engram.recall.fusion import ArmResult, Fused, calibrated
from engram.recall.intent import Sought
from engram.recall.recall_weights import RecallWeights
from engram.recall.weights import (
    about,
    asks_assistant,
    assistant_part,
    attainable,
    likeness,
    session_part,
    settled,
    support,
    word_weight,
)
from engram.store.protocol import Heard


def fused(*scores: float) -> Fused:
    """Candidates 1, 2, 3 … with these scores, which must fall."""
    keys = np.arange(1, len(scores) + 1, dtype=np.int64)
    return calibrated([ArmResult("words", keys, np.array(scores, np.float32))], {"words": 1.0})


def test_a_word_is_worth_its_rarity() -> None:
    assert attainable([1], 1000) == pytest.approx(2.2 * math.log(999.5 / 1.5))
    assert attainable([1, 1], 1000) == pytest.approx(2 * attainable([1], 1000))
    assert attainable([900], 1000) < 0.001  # in nearly every memory: tells nothing, and costs nothing
    assert attainable([0], 1000) == 0.0


def test_words_count_less_where_the_best_match_holds_little_of_the_question() -> None:
    whole, half, little = (word_weight(0.25, best, 10.0) for best in (9.0, 2.75, 1.0))
    assert whole == 0.25
    assert little == pytest.approx(0.1)
    assert little < half < whole
    assert word_weight(0.25, 3.0, 0.0) == 0.25


@pytest.mark.parametrize(
    "question",
    [
        "What was the name of the library you recommended?",
        "Which of the two did you prefer?",
        "In our last chat there was a recipe; how much flour?",
        "You've already told me once: which port?",
        "What came of your suggestion about the index?",
        "We talked about ferries; which one leaves first?",
    ],
)
def test_a_question_for_the_assistants_words_is_known(question: str) -> None:
    assert asks_assistant(question)


@pytest.mark.parametrize(
    "question",
    [
        "Can you suggest a hotel?",
        "Where do I keep my bicycle?",
        "Do you know my sister's name?",
        "What did we eat on Sunday?",
        "",
    ],
)
def test_other_questions_are_not(question: str) -> None:
    assert not asks_assistant(question)


def test_the_assistants_words_give_way_unless_they_are_asked_for() -> None:
    speakers = ["assistant", "Ann", ""]
    assert assistant_part(speakers, "Where is my bicycle?", 1.0).tolist() == [-1.0, 0.0, 0.0]
    assert assistant_part(speakers, "What did you say of my bicycle?", 1.0).tolist() == [0.0, 0.0, 0.0]


def test_a_session_with_more_good_candidates_lifts_them() -> None:
    scores = np.array([3.0, 2.0, 2.0, 1.0], np.float32)
    made = session_part(scores, ["one", "two", "two", ""], 0.5)
    assert made.tolist() == pytest.approx([0.5 * 3 / 4, 0.5, 0.5, 0.0])


def test_without_sessions_or_with_bad_candidates_only_nothing_is_lifted() -> None:
    assert session_part(np.array([3.0, 2.0], np.float32), ["", ""], 0.5).tolist() == [0.0, 0.0]
    assert session_part(np.array([-1.0, -2.0], np.float32), ["one", "two"], 0.5).tolist() == [0.0, 0.0]
    assert session_part(np.empty(0, np.float32), [], 0.5).tolist() == []


def test_the_order_follows_who_said_it_and_where() -> None:
    heard = [Heard("assistant", "one"), Heard("user", "two"), Heard("user", "one")]
    ranked = settled(fused(3.0, 2.9, 2.5), heard, "Where is it?", Sought(), RecallWeights(beside_weight=0.0))
    assert ranked.keys.tolist() == [2, 3, 1]
    assert ranked.parts["assistant"].tolist() == [0.0, 0.0, -1.0]
    assert ranked.scores.tolist() == pytest.approx([sum(part[at] for part in ranked.parts.values()) for at in range(3)])


def test_what_is_not_known_stays_below_in_its_order() -> None:
    heard = [Heard("assistant", "one"), Heard("user", "one")]
    ranked = settled(fused(3.0, 2.9, 2.8, 2.7), heard, "Where is it?", Sought(), RecallWeights(session_weight=0.0))
    assert ranked.keys.tolist() == [2, 1, 3, 4]
    assert all(high >= low for high, low in zip(ranked.scores, ranked.scores[1:], strict=False))


def test_nothing_found_stays_nothing() -> None:
    assert not len(settled(fused(), [], "Where is it?", Sought(), RecallWeights()).keys)


def test_an_answer_is_about_the_person_the_question_names() -> None:
    people = ["Ann", "Bob Stone", "assistant"]
    said_by_ann, naming_ann, of_bob = ("Ann", "Ann sails."), ("Bob Stone", "Ann sails."), ("Bob Stone", "Bob Stone sails.")
    question = "Does Ann sail?"
    assert about(question, people, [said_by_ann] * 5) == 1.0
    assert about(question, people, [naming_ann] * 5) == 0.5
    assert about(question, people, [of_bob] * 5) == 0.0
    assert about(question, people, [said_by_ann, of_bob]) > about(question, people, [of_bob, said_by_ann])
    assert about("Does Stone sail?", people, [of_bob]) == 1.0


def test_a_question_that_names_nobody_is_about_anyone() -> None:
    assert about("Who sails?", ["Ann", "Bob"], [("Bob", "Bob sails.")]) == 1.0
    assert about("What did the assistant say?", ["assistant"], [("user", "Hm.")]) == 1.0
    assert about("Does Ann sail?", ["Ann"], []) == 1.0
    assert about("Will it rain?", ["Will"], [("Bob", "It rains.")]) == 1.0  # a name that is a common word tells nothing


def test_support_is_likeness_and_subject_alike() -> None:
    assert support(likeness(1.0, 0.5), 1.0) == 1.0
    assert support(likeness(0.75, 0.5), 1.0) == 0.75
    assert support(likeness(0.75, 0.5), 0.0) == 0.25
    assert support(likeness(0.2, 0.5), 0.0) == 0.0
