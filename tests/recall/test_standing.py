"""What a memory gains or loses by where it stands in its life, and by what it feels like."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from recall.minds import texts

from engram.engine import Engram
from engram.recall.fusion import ArmResult, calibrated
from engram.recall.recall_weights import RecallWeights
from engram.recall.standing import AFFECT, LIFECYCLE, alike, standing_of, weighed
from engram.settings import Settings
from engram.store.protocol import Filter
from engram.types import Affect, Memory, Stage, Status

NOW = datetime(2026, 2, 1, tzinfo=UTC)
PLAIN = Memory(text="It stands.", key=1, learned_at=NOW, confidence=0.8)


def test_what_was_confirmed_gains_and_what_is_disputed_faded_or_guessed_loses() -> None:
    def stands(memory: Memory, later: timedelta = timedelta(0)) -> float:
        return standing_of(memory, NOW + later, Settings())

    assert stands(replace(PLAIN, helpful=1)) > stands(PLAIN) == 0.0
    guess, old = stands(replace(PLAIN, confidence=0.1)), stands(replace(PLAIN, category="episode"), timedelta(days=900))
    assert stands(replace(PLAIN, unhelpful=2)) < guess < 0.0 > old
    assert stands(replace(PLAIN, status=Status.CHALLENGED, helpful=3)) == -1.0
    assert stands(replace(PLAIN, pinned=True), timedelta(days=900)) == 0.0  # what is protected does not fade


def test_of_two_that_are_as_near_the_confirmed_one_stands_first_and_nothing_else_moves() -> None:
    arm = ArmResult("vectors", np.array([3, 2, 1], np.int64), np.array([2.0, 2.0, 1.0], np.float32))
    fused = calibrated([arm], {"vectors": 1.0})
    memories = {3: replace(PLAIN, key=3, unhelpful=1), 2: replace(PLAIN, key=2, helpful=1)}
    made = weighed(fused, memories, "Where is it?", NOW, RecallWeights(), Settings())
    assert made.keys.tolist() == [2, 3, 1]
    assert made.parts[LIFECYCLE].tolist() == pytest.approx([0.15, -0.15, 0.0])
    off = weighed(fused, memories, "Where is it?", NOW, RecallWeights(lifecycle_weight=0.0, affect_weight=0.0), Settings())
    assert off is fused


def test_what_feels_as_the_question_does_comes_sooner_to_mind() -> None:
    glad, sad = Affect(valence=0.8, arousal=0.5), Affect(valence=-0.8, arousal=0.5)
    assert alike(glad, glad) > 0.0 == alike(glad, sad)
    arm = ArmResult("vectors", np.array([2, 1], np.int64), np.array([2.0, 2.0], np.float32))
    fused = calibrated([arm], {"vectors": 1.0})
    memories = {2: replace(PLAIN, key=2, affect=sad), 1: replace(PLAIN, key=1, affect=glad)}
    happy = weighed(fused, memories, "What a wonderful, happy day that was!", NOW, RecallWeights(), Settings())
    assert happy.keys.tolist() == [1, 2]
    assert AFFECT not in weighed(fused, memories, "Where is it?", NOW, RecallWeights(), Settings()).parts


def test_a_judgement_moves_the_next_answer(mem: Engram) -> None:
    for hall in ("north", "south"):
        mem.remember(f"The boat is kept in the {hall} hall.")
    first, second = texts(mem.recall("Where is the boat kept?", limit=2))
    other = next(hit.memory for hit in mem.recall("Where is the boat kept?", limit=2) if hit.memory.text == second)
    mem.feedback(other.id, True)
    hits = mem.recall("Where is the boat kept?", limit=2)
    assert texts(hits) == [second, first]
    assert any("where it stands" in note for note in hits[0].why.notes)


def test_what_has_faded_is_left_out_only_where_that_is_asked_for(mem: Engram) -> None:
    old = mem.remember("The parade of geese passed the mill.", category="episode")
    later = mem._vault.env.now() + timedelta(days=900)
    question = "Which geese passed the mill?"
    assert texts(mem.recall(question, limit=3, now=later)) == [old.text]
    fresh = Filter(fresh=True)
    assert texts(mem.recall(question, limit=3, now=later, filters=fresh)) == []
    assert texts(mem.recall(question, limit=3, filters=fresh)) == [old.text]
    told = mem.explain(question, old.id, now=later, filters=fresh)
    assert (told.stage, "faded" in told.reason) == (Stage.FILTER, True)
