"""The parts of a score by the lifecycle of a memory and by its feeling."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from recall.minds import texts

from engram.engine import Engram
from engram.recall.fusion import ArmResult, Ranking, fuse_calibrated
from engram.recall.plan import Query, plan
from engram.recall.recall_weights import RecallWeights
from engram.recall.scoring import AFFECT, LIFECYCLE, CandidateFacts, agreement, score, state_value
from engram.settings import Settings
from engram.store.ports import Filter
from engram.types import Affect, Memory, Stage, Status

NOW = datetime(2026, 2, 1, tzinfo=UTC)
PLAIN = Memory(text="It stands.", key=1, learned_at=NOW, confidence=0.8)
SETTINGS = Settings()
WEIGHTS = RecallWeights()


def scored(ranking: Ranking, memories: dict[int, Memory], question: str, weights: RecallWeights = WEIGHTS) -> Ranking:
    planned = plan(Query(text=question, now=NOW), SETTINGS, weights)
    return score(ranking, planned, CandidateFacts(memories=memories), SETTINGS)


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
    made = scored(ranking, memories, "Where is it?")
    assert made.keys.tolist() == [2, 3, 1]
    assert made.parts[LIFECYCLE].tolist() == pytest.approx([0.15, -0.15, 0.0])
    off = scored(ranking, memories, "Where is it?", RecallWeights(lifecycle_weight=0.0, affect_weight=0.0))
    assert off is ranking


def test_a_memory_that_feels_as_the_question_does_ranks_higher() -> None:
    glad, sad = Affect(valence=0.8, arousal=0.5), Affect(valence=-0.8, arousal=0.5)
    assert agreement(glad, glad) > 0.0 == agreement(glad, sad)
    arm = ArmResult("vectors", np.array([2, 1], np.int64), np.array([2.0, 2.0], np.float32))
    ranking = fuse_calibrated([arm], {"vectors": 1.0})
    memories = {2: replace(PLAIN, key=2, affect=sad), 1: replace(PLAIN, key=1, affect=glad)}
    assert scored(ranking, memories, "What a wonderful, happy day that was!").keys.tolist() == [1, 2]
    assert AFFECT not in scored(ranking, memories, "Where is it?").parts


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
