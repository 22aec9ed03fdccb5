"""The weights of the arms, and every part of a score."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from recall.vaults import texts

from engram.engine import Engram
from engram.env import to_micros
from engram.recall.arms import attainable
from engram.recall.fusion import ArmResult, Ranking, fuse_calibrated, fuse_reciprocal_ranks
from engram.recall.plan import Intent, Plan, Query, QueryAnalysis, plan
from engram.recall.score import (
    AFFECT,
    LIFECYCLE,
    CandidateFacts,
    agreement,
    asks_assistant,
    assistant_part,
    beside_part,
    match_scores,
    score,
    session_part,
    state_value,
    substance_part,
    time_part,
    word_weight,
)
from engram.recall.weights import RecallWeights
from engram.settings import Settings
from engram.types import Affect, Memory, Stage, Status
from engram.values.query import CandidateTraits, Filter

NOW = datetime(2026, 2, 1, tzinfo=UTC)
PLAIN = Memory(text="It stands.", key=1, learned_at=NOW, confidence=0.8)
SETTINGS = Settings()
WEIGHTS = RecallWeights(assistant_discount=1.0)
FULL = RecallWeights(substance_weight=1.0, time_weight=2.0, beside_weight=0.5)


def planned(question: str, weights: RecallWeights = WEIGHTS) -> Plan:
    return plan(Query(text=question, now=NOW), SETTINGS, weights)


def ranked(*scores: float) -> Ranking:
    """Return the candidates 1, 2, 3 … with these scores, which must fall."""
    keys = np.arange(1, len(scores) + 1, dtype=np.int64)
    return fuse_calibrated([ArmResult("words", keys, np.array(scores, np.float32))], {"words": 1.0})


def at(day: str) -> int:
    return to_micros(datetime.fromisoformat(day).replace(tzinfo=UTC))


def scored(ranking: Ranking, traits: list[CandidateTraits], weights: RecallWeights = WEIGHTS) -> Ranking:
    return score(ranking, planned("Where is it?", weights), CandidateFacts(traits=traits), SETTINGS)


def scored_by_memory(ranking: Ranking, memories: dict[int, Memory], question: str, weights: RecallWeights = WEIGHTS) -> Ranking:
    return score(ranking, planned(question, weights), CandidateFacts(memories=memories), SETTINGS)


def test_feedback_moves_the_weight_of_vectors_within_bounds() -> None:
    query = Query(text="Where is it?", now=NOW)
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
    traits = [CandidateTraits("assistant", "one"), CandidateTraits("user", "two"), CandidateTraits("user", "one")]
    ranking = scored(ranked(3.0, 2.9, 2.5), traits, RecallWeights(beside_weight=0.0, assistant_discount=1.0))
    assert ranking.keys.tolist() == [2, 3, 1]
    assert ranking.parts["assistant"].tolist() == [0.0, 0.0, -1.0]
    assert ranking.scores.tolist() == pytest.approx([sum(part[at] for part in ranking.parts.values()) for at in range(3)])
    assert match_scores(ranking).tolist() == pytest.approx([2.9, 2.5, 3.0])


def test_candidates_without_traits_stay_below_in_their_order() -> None:
    traits = [CandidateTraits("assistant", "one"), CandidateTraits("user", "one")]
    ranking = scored(ranked(3.0, 2.9, 2.8, 2.7), traits, RecallWeights(session_weight=0.0))
    assert ranking.keys.tolist() == [2, 1, 3, 4]
    assert all(high >= low for high, low in zip(ranking.scores, ranking.scores[1:], strict=False))


def test_no_candidates_and_scores_from_ranks_are_left_alone() -> None:
    assert not len(scored(ranked(), []).keys)
    arm = ArmResult("words", np.array([1, 2], np.int64), np.array([3.0, 2.9], np.float32))
    by_rank = fuse_reciprocal_ranks([arm], {"words": 1.0})
    assert scored(by_rank, [CandidateTraits("assistant"), CandidateTraits("user")]) is by_rank


# ── substance, time, neighbourhood ───────────── ─────────────────────────────────────────────────────────────────────────


def test_a_dated_statement_gains_more_if_the_question_asks_when() -> None:
    traits = [CandidateTraits(happened=at("2024-01-01")), CandidateTraits(happened=at("2024-01-01"), until=at("2024-01-02"))]
    plain = substance_part(traits, QueryAnalysis(), FULL)
    asked = substance_part(traits, QueryAnalysis(Intent.TEMPORAL, asks_when=True), FULL)
    assert plain[1] > plain[0]
    assert asked[1] - asked[0] > plain[1] - plain[0]


def test_a_statement_that_says_since_when_gains_if_the_question_asks_when() -> None:
    made = substance_part([CandidateTraits(), CandidateTraits(lasts=True)], QueryAnalysis(Intent.TEMPORAL, asks_when=True), FULL)
    assert made[1] > made[0]


def test_statements_with_names_gain_if_the_question_asks_for_a_name() -> None:
    made = substance_part(
        [CandidateTraits(named=0), CandidateTraits(named=1), CandidateTraits(named=3)], QueryAnalysis(asks_name=True), FULL
    )
    assert made[0] < made[1] < made[2]
    assert substance_part([CandidateTraits(named=3)], QueryAnalysis(), FULL).tolist() == [0.0]


def test_an_event_of_the_time_asked_about_ranks_above_a_statement_of_that_time_and_that_above_a_near_one() -> None:
    march = (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC))
    happened = CandidateTraits(happened=at("2024-03-05"), until=at("2024-03-06"))
    said, near, far = (CandidateTraits(happened=at(day)) for day in ("2024-03-20", "2024-04-10", "2022-01-01"))
    made = time_part([happened, said, near, far, CandidateTraits()], march, FULL)
    assert made[0] == pytest.approx(2.0)
    assert made[0] > made[1] > made[2] > made[3] == made[4] == 0.0


def test_an_event_without_duration_fits_the_time_around_it() -> None:
    march = (datetime(2024, 3, 1, tzinfo=UTC), datetime(2024, 4, 1, tzinfo=UTC))
    moment = at("2024-03-05")
    assert time_part([CandidateTraits(happened=moment, until=moment)], march, FULL)[0] > 0.0


def test_a_candidate_gains_from_a_better_one_said_beside_it_in_the_same_session() -> None:
    keys = np.array([10, 50, 12, 11, 90], np.int64)
    scores = np.array([4.0, 3.0, 1.0, 1.0, 1.0], np.float32)
    made = beside_part(keys, scores, ["a", "b", "a", "c", ""], FULL)
    assert made.tolist() == pytest.approx([0.5 * 0.9**2 * 1.0, 0.0, 0.5 * 0.9**2 * 4.0, 0.0, 0.0])
    assert beside_part(keys, -scores, ["a"] * 5, FULL).tolist() == [0.0] * 5
    assert beside_part(keys, scores, [""] * 5, FULL).tolist() == [0.0] * 5  # what was kept one by one was said nowhere
    assert len(beside_part(keys[:0], scores[:0], [], FULL)) == 0


# ── lifecycle and affect ───────────────────────────────────────────────────────────────────────────────────────────────


def test_a_confirmed_memory_gains_and_a_disputed_faded_or_guessed_one_loses() -> None:
    def value(memory: Memory, later: timedelta = timedelta(0)) -> float:
        return state_value(memory, NOW + later, Settings())

    assert value(replace(PLAIN, helpful=1)) > value(PLAIN) == 0.0
    guess, old = value(replace(PLAIN, confidence=0.1)), value(replace(PLAIN, category="episode"), timedelta(days=900))
    assert value(replace(PLAIN, unhelpful=2)) < guess < 0.0 > old
    assert value(replace(PLAIN, status=Status.CHALLENGED, helpful=3)) == -1.0
    assert value(replace(PLAIN, pinned=True), timedelta(days=900)) == 0.0  # what is protected does not fade


def test_of_two_equal_matches_the_confirmed_one_ranks_first_and_nothing_else_moves() -> None:
    arm = ArmResult("vectors", np.array([3, 2, 1], np.int64), np.array([2.0, 2.0, 1.0], np.float32))
    ranking = fuse_calibrated([arm], {"vectors": 1.0})
    memories = {3: replace(PLAIN, key=3, unhelpful=1), 2: replace(PLAIN, key=2, helpful=1)}
    made = scored_by_memory(ranking, memories, "Where is it?")
    assert made.keys.tolist() == [2, 3, 1]
    assert made.parts[LIFECYCLE].tolist() == pytest.approx([0.15, -0.15, 0.0])
    off = scored_by_memory(ranking, memories, "Where is it?", RecallWeights(lifecycle_weight=0.0, affect_weight=0.0))
    assert off is ranking


def test_a_memory_that_feels_as_the_question_does_ranks_higher() -> None:
    glad, sad = Affect(valence=0.8, arousal=0.5), Affect(valence=-0.8, arousal=0.5)
    assert agreement(glad, glad) > 0.0 == agreement(glad, sad)
    arm = ArmResult("vectors", np.array([2, 1], np.int64), np.array([2.0, 2.0], np.float32))
    ranking = fuse_calibrated([arm], {"vectors": 1.0})
    memories = {2: replace(PLAIN, key=2, affect=sad), 1: replace(PLAIN, key=1, affect=glad)}
    assert scored_by_memory(ranking, memories, "What a wonderful, happy day that was!").keys.tolist() == [1, 2]
    assert AFFECT not in scored_by_memory(ranking, memories, "Where is it?").parts


def test_feedback_changes_the_order_of_the_next_answer(mem: Engram) -> None:
    for hall in ("north", "south"):
        mem.remember(f"The boat is kept in the {hall} hall.")
    first, second = texts(mem.recall("Where is the boat kept?", limit=2))
    other = next(hit.memory for hit in mem.recall("Where is the boat kept?", limit=2) if hit.memory.text == second)
    mem.feedback(other.id, True)
    hits = mem.recall("Where is the boat kept?", limit=2)
    assert texts(hits) == [second, first]
    assert any("confirmed, disputed or faded" in note for note in hits[0].why.notes)


def test_a_faded_memory_is_left_out_only_if_fresh_ones_are_asked_for(mem: Engram) -> None:
    old = mem.remember("The parade of geese passed the mill.", category="episode")
    later = mem._vault.env.now() + timedelta(days=900)
    question = "Which geese passed the mill?"
    assert texts(mem.recall(question, limit=3, now=later)) == [old.text]
    fresh = Filter(fresh=True)
    assert texts(mem.recall(question, limit=3, now=later, filters=fresh)) == []
    assert texts(mem.recall(question, limit=3, filters=fresh)) == [old.text]
    told = mem.explain(question, old.id, now=later, filters=fresh)
    assert (told.stage, "faded" in told.reason) == (Stage.FILTER, True)
