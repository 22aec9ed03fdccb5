"""How memories fade and matter (K3, K4), where they stand (M9), and which layer they are of (M8, M13)."""

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
from rules.stories import open_story

from engram.errors import InvalidQuery
from engram.recall.plan import narrowed
from engram.rules.lifecycle import (
    Keeping,
    Layer,
    Lifecycle,
    Sort,
    Verification,
    above,
    below,
    demotion,
    expired,
    included,
    layer_of,
    promotion,
    sort_of,
    standing,
)
from engram.rules.strength import base_level, half_life, importance, retention, shape, steadiness, strength
from engram.settings import Settings
from engram.store.ports import Filter
from engram.types import Affect, Kind, Memory, Mode, Source, Status

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = Settings()


def kept(**fields: Any) -> Memory:
    return Memory(**{"text": "a", "learned_at": START, "accessed_at": None, "confidence": 0.8, **fields})


def after(days: float) -> datetime:
    return START + timedelta(days=days)


# ── strength ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", ["l2", "huber", "elastic"])
def test_every_shape_begins_whole_and_only_fades(mode: str) -> None:
    left = [shape(age / 10, mode) for age in range(200)]
    assert left[0] == 1.0
    assert all(a >= b >= 0.0 for a, b in pairwise(left))


def test_half_is_left_after_a_half_life_and_the_shapes_part_from_there() -> None:
    assert shape(1.0, "l2") == shape(1.0, "huber") == 0.5
    assert shape(1.001, "huber") == pytest.approx(shape(1.001, "l2"), abs=1e-5)  # no kink
    assert shape(8.0, "elastic") == 0.0 < shape(8.0, "l2") < shape(8.0, "huber")
    assert shape(0.2, "elastic") > 0.85


def test_a_persons_words_use_and_affect_make_it_last() -> None:
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
def test_figures_stay_within_bounds(uses: int, weight: float, days: float, arousal: float, source: Source, mode: str) -> None:
    used, felt = START if uses else None, Affect(arousal=arousal)
    memory = kept(accesses=uses, importance=weight, source=source, accessed_at=used, affect=felt)
    settings = replace(SETTINGS, retention_mode=mode)
    for figure in (strength, retention, importance):
        assert 0.0 <= figure(memory, after(days), settings) <= 1.0  # type: ignore[operator]
    told = standing(memory, after(days), settings)
    assert 0.0 <= told.heat <= 1.0
    assert 0.0 <= told.decay <= 1.0


_AGES = st.floats(0, 3000)
_USES = st.integers(0, 1000)


@given(_AGES, _AGES, _USES, _USES, st.floats(0, 1), st.floats(0, 1), st.sampled_from(["l2", "huber", "elastic"]))
def test_time_only_takes_away_and_use_and_affect_only_give(
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
def test_the_shapes_lie_one_above_the_other(age: float) -> None:
    half_lives = age / 30
    assert shape(half_lives, "elastic") <= shape(half_lives, "l2") + 1e-12
    assert shape(half_lives, "l2") <= shape(half_lives, "huber") + 1e-12


@given(st.sampled_from(list(Source)), _USES)
def test_a_persons_own_word_lasts_longest(source: Source, uses: int) -> None:
    said = half_life(kept(source=Source.USER, accesses=uses), SETTINGS)
    assert half_life(kept(source=source, accesses=uses), SETTINGS) <= said


def test_what_is_pinned_does_not_fade() -> None:
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
def test_each_thing_that_speaks_for_a_memory_makes_it_matter_more(more: dict[str, Any]) -> None:
    plain = kept(source=Source.ASSISTANT)
    assert importance(replace(plain, **more), after(60), SETTINGS) > importance(plain, after(60), SETTINGS)
    assert importance(plain, after(60), SETTINGS, layer_boost=0.9) > importance(plain, after(60), SETTINGS)


def test_the_base_level_rises_with_use_and_sinks_with_time() -> None:
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
        ({}, 1, Lifecycle.ACTIVE, Verification.UNVERIFIED, Keeping.DURABLE),
        ({"confidence": 0.3}, 1, Lifecycle.CANDIDATE, Verification.UNVERIFIED, Keeping.EPHEMERAL),
        ({"confidence": 0.3, "corroborations": 1}, 1, Lifecycle.VALIDATED, Verification.USER_CONFIRMED, Keeping.DURABLE),
        ({"helpful": 1, "source": Source.IMPORT}, 1, Lifecycle.VALIDATED, Verification.USER_CONFIRMED, Keeping.DURABLE),
        ({"source": Source.INFERRED}, 1, Lifecycle.ACTIVE, Verification.SYSTEM_INFERRED, Keeping.DURABLE),
        ({"unhelpful": 1}, 1, Lifecycle.ACTIVE, Verification.DISPUTED, Keeping.DURABLE),
        ({"status": Status.CHALLENGED}, 1, Lifecycle.ACTIVE, Verification.DISPUTED, Keeping.DURABLE),
        ({"category": "moment"}, 400, Lifecycle.STALE, Verification.UNVERIFIED, Keeping.DURABLE),
        ({}, 400, Lifecycle.ACTIVE, Verification.UNVERIFIED, Keeping.DURABLE),
        ({"pinned": True}, 400, Lifecycle.ACTIVE, Verification.UNVERIFIED, Keeping.PROTECTED),
        ({"category": "decision"}, 400, Lifecycle.ACTIVE, Verification.UNVERIFIED, Keeping.PROTECTED),
        ({"status": Status.SUPERSEDED}, 1, Lifecycle.ARCHIVED, Verification.UNVERIFIED, Keeping.DURABLE),
    ],
)
def test_where_a_memory_stands(
    fields: dict[str, Any], days: float, lifecycle: Lifecycle, verification: Verification, policy: Keeping
) -> None:
    told = standing(kept(**fields), after(days), SETTINGS)
    assert (told.lifecycle, told.verification, told.policy) == (lifecycle, verification, policy)


def test_heat_follows_use_and_decay_follows_time() -> None:
    fresh, old = standing(kept(), after(0), SETTINGS), standing(kept(), after(200), SETTINGS)
    assert fresh.heat > old.heat
    assert fresh.decay == 0.0 < old.decay
    assert standing(kept(accesses=10, accessed_at=START), after(0), SETTINGS).heat > fresh.heat
    assert standing(kept(unhelpful=1), after(0), SETTINGS).heat < fresh.heat
    assert standing(kept(pinned=True), after(9000), SETTINGS).decay == 0.0


def test_what_may_be_put_away_and_what_may_not() -> None:
    guess = kept(confidence=0.2)
    assert expired(guess, after(30), SETTINGS) == ""
    assert expired(guess, after(31), SETTINGS) == "was a guess that nobody bore out"
    assert expired(replace(guess, corroborations=1), after(31), SETTINGS) == ""
    dull = kept(kind=Kind.EPISODE, category="moment", importance=0.2)
    assert expired(dull, after(89), SETTINGS) == ""
    assert expired(dull, after(400), SETTINGS) == "has faded"
    for spared in ({"pinned": True}, {"importance": 0.3}, {"accesses": 3}, {"kind": Kind.FACT, "category": "fact"}):
        assert expired(replace(dull, **spared), after(400), SETTINGS) == ""  # type: ignore[arg-type]


# ── layers and sorts ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("kind", "category", "layer", "sort"),
    [
        (Kind.PROPOSITION, "fact", Layer.SEMANTIC, Sort.FACT),
        (Kind.FACT, "entity", Layer.SEMANTIC, Sort.FACT),
        (Kind.EPISODE, "moment", Layer.EPISODIC, Sort.NARRATIVE),
        (Kind.SKILL, "skill", Layer.PROCEDURAL, Sort.PROCEDURE),
        (Kind.PROPOSITION, "principle", Layer.PROCEDURAL, Sort.PROCEDURE),
        (Kind.PROPOSITION, "warning", Layer.PROCEDURAL, Sort.PROCEDURE),
        (Kind.PROPOSITION, "code", Layer.CODEBASE, Sort.FACT),
        (Kind.PROPOSITION, "a word of one's own", Layer.SEMANTIC, Sort.FACT),
    ],
)
def test_where_a_memory_belongs(kind: Kind, category: str, layer: Layer, sort: Sort) -> None:
    memory = kept(kind=kind, category=category)
    assert (layer_of(memory), sort_of(memory)) == (layer, sort)


def test_modes_ask_for_sorts() -> None:
    """Recall narrows by kind and category, which must come to the same."""
    kinds, categories = (Kind.PROPOSITION, Kind.FACT, Kind.EPISODE), ("fact", "moment", "episode", "principle", "warning", "own")
    for mode, kind, category in product(Mode, kinds, categories):
        where = narrowed(Filter(), mode)
        passes = (not where.kinds or kind in where.kinds) and category not in where.without
        memory = kept(kind=kind, category=category)
        if kind is not Kind.EPISODE or sort_of(memory) is Sort.NARRATIVE:  # a rule that is an event is no rule to recall
            assert passes is included(memory, mode), (mode, kind, category)


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


def test_a_memory_is_moved_and_told_where_it_stands(tmp_path: Path, clock: HandClock) -> None:
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
        assert (mem.standing(event.id).lifecycle, mem.standing(event.id).policy) == (Lifecycle.ACTIVE, Keeping.PROTECTED)
