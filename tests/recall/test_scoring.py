"""The weights of the arms, and the parts of a score by speaker and session."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import numpy as np
import pytest

from engram.recall.arms import attainable
from engram.recall.fusion import ArmResult, Ranking, fuse_calibrated, fuse_reciprocal_ranks
from engram.recall.plan import Plan, Query, plan
from engram.recall.recall_weights import RecallWeights
from engram.recall.scoring import CandidateFacts, asks_assistant, assistant_part, match_scores, score, session_part, word_weight
from engram.recall.trust import about, likeness, support
from engram.settings import Settings
from engram.store.ports import Heard

SETTINGS = Settings()
WEIGHTS = RecallWeights()


def planned(question: str, weights: RecallWeights = WEIGHTS) -> Plan:
    return plan(Query(text=question, now=datetime(2026, 2, 1, tzinfo=UTC)), SETTINGS, weights)


def ranked(*scores: float) -> Ranking:
    """Return the candidates 1, 2, 3 … with these scores, which must fall."""
    keys = np.arange(1, len(scores) + 1, dtype=np.int64)
    return fuse_calibrated([ArmResult("words", keys, np.array(scores, np.float32))], {"words": 1.0})


def scored(ranking: Ranking, traits: list[Heard], weights: RecallWeights = WEIGHTS) -> Ranking:
    return score(ranking, planned("Where is it?", weights), CandidateFacts(traits=traits), SETTINGS)


def test_feedback_moves_the_weight_of_vectors_within_bounds() -> None:
    query = Query(text="Where is it?", now=datetime(2026, 2, 1, tzinfo=UTC))
    assert plan(query, SETTINGS).vector_weight == 0.75
    assert plan(query, SETTINGS, vector_shift=0.1).vector_weight == pytest.approx(0.85)
    assert plan(query, Settings(vector_weight=1.0), vector_shift=0.1).vector_weight == 1.0


def test_a_word_is_worth_its_rarity() -> None:
    assert attainable([1], 1000) == pytest.approx(2.2 * math.log(999.5 / 1.5))
    assert attainable([1, 1], 1000) == pytest.approx(2 * attainable([1], 1000))
    assert attainable([900], 1000) < 0.001  # in nearly every memory: tells nothing, and costs nothing
    assert attainable([0], 1000) == 0.0


def test_words_count_less_where_the_best_match_holds_little_of_the_question() -> None:
    whole, half, little = (word_weight(0.25, best, 10.0, WEIGHTS) for best in (9.0, 2.75, 1.0))
    assert whole == 0.25
    assert little == pytest.approx(0.1)
    assert little < half < whole
    assert word_weight(0.25, 3.0, 0.0, WEIGHTS) == 0.25


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
def test_a_question_for_the_assistants_words_is_recognized(question: str) -> None:
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
def test_another_question_does_not_ask_for_the_assistants_words(question: str) -> None:
    assert not asks_assistant(question)


def test_the_assistants_words_lose_unless_they_are_asked_for() -> None:
    speakers = ["assistant", "Ann", ""]
    assert assistant_part(speakers, "Where is my bicycle?", WEIGHTS).tolist() == [-1.0, 0.0, 0.0]
    assert assistant_part(speakers, "What did you say of my bicycle?", WEIGHTS).tolist() == [0.0, 0.0, 0.0]


def test_a_session_with_more_good_candidates_lifts_them() -> None:
    scores = np.array([3.0, 2.0, 2.0, 1.0], np.float32)
    made = session_part(scores, ["one", "two", "two", ""], WEIGHTS)
    assert made.tolist() == pytest.approx([0.5 * 3 / 4, 0.5, 0.5, 0.0])


def test_without_sessions_or_with_bad_candidates_only_nothing_is_lifted() -> None:
    assert session_part(np.array([3.0, 2.0], np.float32), ["", ""], WEIGHTS).tolist() == [0.0, 0.0]
    assert session_part(np.array([-1.0, -2.0], np.float32), ["one", "two"], WEIGHTS).tolist() == [0.0, 0.0]
    assert session_part(np.empty(0, np.float32), [], WEIGHTS).tolist() == []


def test_the_order_follows_speaker_and_session() -> None:
    traits = [Heard("assistant", "one"), Heard("user", "two"), Heard("user", "one")]
    ranking = scored(ranked(3.0, 2.9, 2.5), traits, RecallWeights(beside_weight=0.0))
    assert ranking.keys.tolist() == [2, 3, 1]
    assert ranking.parts["assistant"].tolist() == [0.0, 0.0, -1.0]
    assert ranking.scores.tolist() == pytest.approx([sum(part[at] for part in ranking.parts.values()) for at in range(3)])
    assert match_scores(ranking).tolist() == pytest.approx([2.9, 2.5, 3.0])


def test_candidates_without_traits_stay_below_in_their_order() -> None:
    traits = [Heard("assistant", "one"), Heard("user", "one")]
    ranking = scored(ranked(3.0, 2.9, 2.8, 2.7), traits, RecallWeights(session_weight=0.0))
    assert ranking.keys.tolist() == [2, 1, 3, 4]
    assert all(high >= low for high, low in zip(ranking.scores, ranking.scores[1:], strict=False))


def test_no_candidates_and_scores_from_ranks_are_left_alone() -> None:
    assert not len(scored(ranked(), []).keys)
    arm = ArmResult("words", np.array([1, 2], np.int64), np.array([3.0, 2.9], np.float32))
    by_rank = fuse_reciprocal_ranks([arm], {"words": 1.0})
    assert scored(by_rank, [Heard("assistant"), Heard("user")]) is by_rank


def said(speaker: str, text: str) -> tuple[str, frozenset[str]]:
    return speaker, frozenset(text.lower().split())


def test_an_answer_is_about_the_person_the_question_names() -> None:
    people = ["Ann", "Bob Stone", "assistant"]
    by_ann, naming_ann, of_bob = said("Ann", "Ann sails"), said("Bob Stone", "Ann sails"), said("Bob Stone", "Bob Stone sails")
    asked = {"ann", "sail"}
    assert about(asked, people, [by_ann] * 5) == 1.0
    assert about(asked, people, [naming_ann] * 5) == 0.5
    assert about(asked, people, [of_bob] * 5) == 0.0
    assert about(asked, people, [by_ann, of_bob]) > about(asked, people, [of_bob, by_ann])
    assert about({"stone", "sail"}, people, [of_bob]) == 1.0


def test_a_question_that_names_nobody_is_about_anyone() -> None:
    assert about({"sails"}, ["Ann", "Bob"], [said("Bob", "Bob sails")]) == 1.0
    assert about({"assistant", "say"}, ["assistant"], [said("user", "Hm")]) == 1.0
    assert about({"ann", "sail"}, ["Ann"], []) == 1.0
    rain = planned("Will it rain?").content_terms
    assert about(rain, ["Will"], [said("Bob", "It rains")]) == 1.0  # a name that is a common word tells nothing


def test_support_is_likeness_and_subject_alike() -> None:
    assert support(likeness(1.0, 0.5), 1.0) == 1.0
    assert support(likeness(0.75, 0.5), 1.0) == 0.75
    assert support(likeness(0.75, 0.5), 0.0) == 0.25
    assert support(likeness(0.2, 0.5), 0.0) == 0.0
