"""Strength and importance (K3, K4), lifecycle (M9) and layers (M8, M13) of memories."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st
from recall.vaults import open_engram
from rules.stories import open_story

from engram.errors import InvalidQuery
from engram.recall.plan import narrowed
from engram.rules.lifecycle import (
    Layer,
    Lifecycle,
    MemorySort,
    RetentionPolicy,
    Verification,
    above,
    archive_reason,
    below,
    demotion,
    in_mode,
    layer_of,
    lifecycle_state,
    promotion,
    sort_of,
)
from engram.rules.strength import base_level, forgetting_curve, half_life, importance, retention, steadiness, strength
from engram.settings import Settings
from engram.types import Affect, Kind, Memory, Mode, Source, Status
from engram.values.query import Filter

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = Settings()


def kept(**fields: Any) -> Memory:
    return Memory(**{"text": "a", "learned_at": START, "accessed_at": None, "confidence": 0.8, **fields})


def after(days: float) -> datetime:
    return START + timedelta(days=days)


# ── strength ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["l2", "huber", "elastic"])
def test_every_forgetting_curve_starts_at_one_and_falls(mode: str) -> None:
    left = [forgetting_curve(age / 10, mode) for age in range(200)]
    assert left[0] == 1.0
    assert all(a >= b >= 0.0 for a, b in pairwise(left))


def test_retention_is_half_after_a_half_life_and_the_curves_differ_after_it() -> None:
    assert forgetting_curve(1.0, "l2") == forgetting_curve(1.0, "huber") == 0.5
    assert forgetting_curve(1.001, "huber") == pytest.approx(forgetting_curve(1.001, "l2"), abs=1e-5)  # no kink
    assert forgetting_curve(8.0, "elastic") == 0.0 < forgetting_curve(8.0, "l2") < forgetting_curve(8.0, "huber")
    assert forgetting_curve(0.2, "elastic") > 0.85


def test_source_use_and_affect_lengthen_the_half_life() -> None:
    said = kept(source=Source.USER)
    assert half_life(said, SETTINGS) == 30.0
    assert half_life(kept(source=Source.INFERRED), SETTINGS) == pytest.approx(10.0)  # three times as fast
    assert half_life(replace(said, accesses=10), SETTINGS) > 45.0
    assert half_life(replace(said, affect=Affect(arousal=1.0)), SETTINGS) == 60.0
    assert retention(replace(said, accessed_at=after(30)), after(30), SETTINGS) == 1.0  # used just now


@given(
    st.integers(0, 10_000),
    st.floats(0, 1),
    st.floats(0, 5000),
    st.floats(0, 1),
    st.sampled_from(list(Source)),
    st.sampled_from(["l2", "huber", "elastic"]),
)
def test_strength_and_importance_stay_within_bounds(
    uses: int, weight: float, days: float, arousal: float, source: Source, mode: str
) -> None:
    used, felt = START if uses else None, Affect(arousal=arousal)
    memory = kept(accesses=uses, importance=weight, source=source, accessed_at=used, affect=felt)
    settings = replace(SETTINGS, retention_mode=mode)
    for figure in (strength, retention, importance):
        assert 0.0 <= figure(memory, after(days), settings) <= 1.0  # type: ignore[operator]
    told = lifecycle_state(memory, after(days), settings)
    assert 0.0 <= told.heat <= 1.0
    assert 0.0 <= told.decay <= 1.0


_AGES = st.floats(0, 3000)
_USES = st.integers(0, 1000)


@given(_AGES, _AGES, _USES, _USES, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["l2", "huber", "elastic"]))
def test_time_lowers_strength_and_use_and_affect_raise_it(
    one: float, other: float, few: int, many: int, calm: float, stirred: float, mode: str
) -> None:
    settings = replace(SETTINGS, retention_mode=mode)
    sooner, later = sorted((one, other))
    few, many = sorted((few, many))
    calm, stirred = sorted((calm, stirred))
    memory = kept(accesses=few, accessed_at=START, affect=Affect(arousal=calm))
    for figure in (retention, strength):
        left = figure(memory, after(later), settings)
        assert figure(memory, after(sooner), settings) >= left
        assert figure(replace(memory, accesses=many), after(later), settings) >= left - 1e-12
        assert figure(replace(memory, affect=Affect(arousal=stirred)), after(later), settings) >= left - 1e-12


@given(_AGES)
def test_the_forgetting_curves_are_ordered(age: float) -> None:
    half_lives = age / 30
    assert forgetting_curve(half_lives, "elastic") <= forgetting_curve(half_lives, "l2") + 1e-12
    assert forgetting_curve(half_lives, "l2") <= forgetting_curve(half_lives, "huber") + 1e-12


@given(st.sampled_from(list(Source)), _USES)
def test_a_users_own_words_have_the_longest_half_life(source: Source, uses: int) -> None:
    said = half_life(kept(source=Source.USER, accesses=uses), SETTINGS)
    assert half_life(kept(source=source, accesses=uses), SETTINGS) <= said


def test_a_pinned_memory_does_not_fade() -> None:
    assert strength(kept(pinned=True), after(5000), SETTINGS) == 1.0
    assert strength(kept(), after(5000), SETTINGS) < 0.1


@pytest.mark.parametrize(
    "more",
    [
        {"importance": 0.9},
        {"accesses": 20, "accessed_at": START},
        {"accessed_at": after(59), "accesses": 1},
        {"source": Source.USER},
        {"corroborations": 3},
        {"helpful": 2},
        {"affect": Affect(arousal=0.5)},
    ],
)
def test_each_part_of_importance_raises_it(more: dict[str, Any]) -> None:
    plain = kept(source=Source.ASSISTANT)
    assert importance(replace(plain, **more), after(60), SETTINGS) > importance(plain, after(60), SETTINGS)
    assert importance(plain, after(60), SETTINGS, layer_boost=0.9) > importance(plain, after(60), SETTINGS)


def test_the_base_level_rises_with_use_and_falls_with_time() -> None:
    once, often = kept(), kept(accesses=9, accessed_at=after(8))
    assert base_level(once, after(1)) > base_level(once, after(10))
    assert base_level(often, after(10)) > base_level(once, after(10))
    assert base_level(kept(accesses=9, accessed_at=after(9.9)), after(10)) > base_level(often, after(10))
    assert steadiness(often, after(10)) == pytest.approx(0.8)
    assert steadiness(once, after(10)) == 0.0


# ── standing ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fields", "days", "lifecycle", "verification", "policy"),
    [
        ({}, 1, Lifecycle.ACTIVE, Verification.UNVERIFIED, RetentionPolicy.DURABLE),
        ({"confidence": 0.3}, 1, Lifecycle.CANDIDATE, Verification.UNVERIFIED, RetentionPolicy.EPHEMERAL),
        ({"confidence": 0.3, "corroborations": 1}, 1, Lifecycle.VALIDATED, Verification.USER_CONFIRMED, RetentionPolicy.DURABLE),
        ({"helpful": 1, "source": Source.IMPORT}, 1, Lifecycle.VALIDATED, Verification.USER_CONFIRMED, RetentionPolicy.DURABLE),
        ({"source": Source.INFERRED}, 1, Lifecycle.ACTIVE, Verification.SYSTEM_INFERRED, RetentionPolicy.DURABLE),
        ({"unhelpful": 1}, 1, Lifecycle.ACTIVE, Verification.DISPUTED, RetentionPolicy.DURABLE),
        ({"status": Status.CHALLENGED}, 1, Lifecycle.ACTIVE, Verification.DISPUTED, RetentionPolicy.DURABLE),
        ({"category": "moment"}, 400, Lifecycle.STALE, Verification.UNVERIFIED, RetentionPolicy.DURABLE),
        ({}, 400, Lifecycle.ACTIVE, Verification.UNVERIFIED, RetentionPolicy.DURABLE),
        ({"pinned": True}, 400, Lifecycle.ACTIVE, Verification.UNVERIFIED, RetentionPolicy.PROTECTED),
        ({"category": "decision"}, 400, Lifecycle.ACTIVE, Verification.UNVERIFIED, RetentionPolicy.PROTECTED),
        ({"status": Status.SUPERSEDED}, 1, Lifecycle.ARCHIVED, Verification.UNVERIFIED, RetentionPolicy.DURABLE),
    ],
)
def test_lifecycle_verification_and_retention_policy_of_a_memory(
    fields: dict[str, Any], days: float, lifecycle: Lifecycle, verification: Verification, policy: RetentionPolicy
) -> None:
    told = lifecycle_state(kept(**fields), after(days), SETTINGS)
    assert (told.lifecycle, told.verification, told.policy) == (lifecycle, verification, policy)


def test_heat_follows_use_and_decay_follows_time() -> None:
    fresh, old = lifecycle_state(kept(), after(0), SETTINGS), lifecycle_state(kept(), after(200), SETTINGS)
    assert fresh.heat > old.heat
    assert fresh.decay == 0.0 < old.decay
    assert lifecycle_state(kept(accesses=10, accessed_at=START), after(0), SETTINGS).heat > fresh.heat
    assert lifecycle_state(kept(unhelpful=1), after(0), SETTINGS).heat < fresh.heat
    assert lifecycle_state(kept(pinned=True), after(9000), SETTINGS).decay == 0.0


def test_which_memories_may_be_archived() -> None:
    guess = kept(confidence=0.2)
    assert archive_reason(guess, after(30), SETTINGS) == ""
    assert "guess" in archive_reason(guess, after(31), SETTINGS)
    assert archive_reason(replace(guess, corroborations=1), after(31), SETTINGS) == ""
    dull = kept(kind=Kind.EPISODE, category="moment", importance=0.2)
    assert archive_reason(dull, after(89), SETTINGS) == ""
    assert archive_reason(dull, after(400), SETTINGS) == "has faded"
    for spared in ({"pinned": True}, {"importance": 0.3}, {"accesses": 3}, {"kind": Kind.FACT, "category": "fact"}):
        assert archive_reason(replace(dull, **spared), after(400), SETTINGS) == ""  # type: ignore[arg-type]


# ── layers and sorts ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "category", "layer", "sort"),
    [
        (Kind.PROPOSITION, "fact", Layer.SEMANTIC, MemorySort.FACT),
        (Kind.FACT, "entity", Layer.SEMANTIC, MemorySort.FACT),
        (Kind.EPISODE, "moment", Layer.EPISODIC, MemorySort.NARRATIVE),
        (Kind.SKILL, "skill", Layer.PROCEDURAL, MemorySort.PROCEDURE),
        (Kind.PROPOSITION, "principle", Layer.PROCEDURAL, MemorySort.PROCEDURE),
        (Kind.PROPOSITION, "warning", Layer.PROCEDURAL, MemorySort.PROCEDURE),
        (Kind.PROPOSITION, "code", Layer.CODEBASE, MemorySort.FACT),
        (Kind.PROPOSITION, "a word of one's own", Layer.SEMANTIC, MemorySort.FACT),
    ],
)
def test_the_layer_of_a_memory(kind: Kind, category: str, layer: Layer, sort: MemorySort) -> None:
    memory = kept(kind=kind, category=category)
    assert (layer_of(memory), sort_of(memory)) == (layer, sort)


def test_recall_modes_select_sorts_of_memory() -> None:
    """Recall filters by kind and category, which must give the same result as the sort."""
    kinds, categories = (Kind.PROPOSITION, Kind.FACT, Kind.EPISODE), ("fact", "moment", "episode", "principle", "warning", "own")
    for mode, kind, category in product(Mode, kinds, categories):
        where = narrowed(Filter(), mode)
        passes = (not where.kinds or kind in where.kinds) and category not in where.without
        memory = kept(kind=kind, category=category)
        if (
            kind is not Kind.EPISODE or sort_of(memory) is MemorySort.NARRATIVE
        ):  # recall treats an episode as a narrative whatever its category
            assert passes is in_mode(memory, mode), (mode, kind, category)


def test_use_promotes_and_fading_demotes() -> None:
    thought = kept(attributes={"layer": "working"})
    assert promotion(thought, START + timedelta(minutes=29)) is None
    assert promotion(thought, START + timedelta(minutes=30)) is Layer.EPISODIC
    assert promotion(replace(thought, accesses=2), START) is Layer.EPISODIC
    event = kept(kind=Kind.EPISODE, category="moment", importance=0.7, accesses=5)
    assert promotion(event, START) is Layer.SEMANTIC
    assert promotion(replace(event, importance=0.69), START) is None
    assert promotion(replace(event, accesses=4), START) is None
    assert promotion(kept(accesses=99, importance=1.0), START) is None  # it is at the top
    raised = replace(event, attributes={"layer": "semantic"})
    assert demotion(raised, 0.5) is None
    assert demotion(raised, 0.1) is Layer.EPISODIC
    assert demotion(replace(raised, pinned=True), 0.1) is None
    assert (above(Layer.EPISODIC), above(Layer.SEMANTIC), below(Layer.WORKING)) == (Layer.SEMANTIC, None, None)
    assert above(Layer.PROCEDURAL) is None


def test_a_memory_moves_between_layers_and_reports_its_lifecycle(tmp_path: Path, clock: HandClock) -> None:
    with open_story(tmp_path, clock) as mem:
        event = mem.remember("The fair was rained out", kind=Kind.EPISODE, category="moment")
        assert mem.standing(event.id).layer is Layer.EPISODIC
        mem.promote(event.id)
        assert mem.standing(event.id).layer is Layer.SEMANTIC
        with pytest.raises(InvalidQuery, match="semantic"):
            mem.promote(event.id)
        mem.demote(event.id)
        assert mem.standing(event.id).layer is Layer.EPISODIC
        clock.advance(86_400 * 400)
        assert mem.standing(event.id).lifecycle is Lifecycle.STALE
        mem.pin(event.id)
        assert (mem.standing(event.id).lifecycle, mem.standing(event.id).policy) == (Lifecycle.ACTIVE, RetentionPolicy.PROTECTED)


@pytest.mark.parametrize(
    ("decision", "status"), [("challenge", "challenged"), ("dispute", "challenged"), ("invalidate", "invalidated")]
)
def test_a_review_by_hand_sets_the_status_with_a_reason_and_can_be_taken_back(tmp_path: Path, decision: str, status: str) -> None:
    with open_engram(tmp_path / "vault") as mem:
        kept = mem.remember("The office is in Lisbon")
        assert mem.review(kept.id, decision, reason="Ana says otherwise").status == status
        assert "Ana says otherwise" in mem.status_history(kept.id)[-1].reason
        confirmed = mem.review(kept.id, "confirm")
        assert confirmed.status == "active"
        assert confirmed.corroborations == 1
        assert [change.new for change in mem.status_history(kept.id)] == [status, "active"]


def test_an_unknown_review_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as mem:
        kept = mem.remember("The office is in Lisbon")
        with pytest.raises(InvalidQuery, match="confirm, challenge, dispute, invalidate"):
            mem.review(kept.id, "bless")
        assert mem.status_history(kept.id) == []
