"""The job that rehearses important memories, and weakens those that newer ones overlay (K10)."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from dream.vaults import context_of, rows
from hand_clock import HandClock

from engram.dream.limits import DreamLimits
from engram.dream.rehearsal import REPLAY, overlays, proposals
from engram.dream.runner import run
from engram.engine import Engram
from engram.rules.lifecycle import Lifecycle, lifecycle
from engram.rules.strength import falls_below_at, half_life, retention
from engram.settings import Settings
from engram.types import Affect, Kind, Memory, Reader, Scope
from engram.values.dreams import PassReport, Recheck, Rehearse
from engram.values.episodes import REHEARSED, rehearsal_attributes, rehearsals_of

DAY = 86_400
START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = Settings()
LIMITS = DreamLimits()


def run_rehearsal(mem: Engram, reader: Reader | None = None) -> PassReport:
    return run(context_of(mem, reader), [REPLAY], None, verb="dream")


def event(mem: Engram, text: str = "We shipped the parser in Berlin", importance: float = 0.8, **more: Any) -> Memory:
    draft = Memory(text=text, kind=Kind.EPISODE, category="moment", scope=mem.reader.scope, importance=importance, **more)
    return mem._vault.store.memories.add(mem.reader, [draft])[0]


def state(mem: Engram, memory: Memory) -> Lifecycle:
    return lifecycle(mem.get(memory.id), mem._vault.env.now(), mem._vault.live.now)


def test_important_events_are_rehearsed_and_others_fade(mem: Engram, clock: HandClock) -> None:
    matters, slight = event(mem), event(mem, "We had soup for lunch", 0.3)
    for _ in range(18):
        clock.advance(10 * DAY)
        run_rehearsal(mem)
        assert state(mem, matters) is not Lifecycle.STALE
    assert state(mem, slight) is Lifecycle.STALE
    assert REHEARSED not in mem.get(slight.id).attributes
    assert mem.get(matters.id).accesses == 0  # a rehearsal is not counted as a use


def test_rehearsals_are_spaced_further_apart_and_end(mem: Engram, clock: HandClock) -> None:
    memory, days = event(mem), []
    for day in range(0, 800, 4):
        if run_rehearsal(mem).ids:
            days.append(day)
        clock.advance(4 * DAY)
    apart = [b - a for a, b in pairwise(days)]
    assert len(days) == LIMITS.dream_rehearsals
    assert apart == sorted(apart)
    assert apart[0] < apart[-1]
    assert state(mem, memory) is Lifecycle.STALE  # not used for two years


def test_a_second_run_changes_nothing_and_an_undo_restores_everything(mem: Engram, clock: HandClock) -> None:
    event(mem)
    clock.advance(60 * DAY)
    before = rows(mem._vault.store)
    done = run_rehearsal(mem)
    known = rows(mem._vault.store)
    assert not run_rehearsal(mem).ids
    assert rows(mem._vault.store) == known != before
    mem._vault.store.dreams.undo(mem.reader, done.pass_id)
    assert rows(mem._vault.store) == before


def test_another_agents_memories_are_not_rehearsed(mem: Engram, clock: HandClock) -> None:
    event(mem)
    clock.advance(60 * DAY)
    assert not run_rehearsal(mem, Reader(Scope(agent="kim"))).ids


def test_a_users_attribute_named_like_a_rehearsal_is_kept(mem: Engram, clock: HandClock) -> None:
    memory = event(mem, attributes={REHEARSED: "on stage"})
    clock.advance(60 * DAY)
    assert not run_rehearsal(mem).ids
    assert mem.get(memory.id).attributes[REHEARSED] == "on stage"


def test_an_event_overlaid_by_a_newer_one_fades_faster(filled: Engram, clock: HandClock) -> None:
    mem = filled
    said = "The weekly planning call took an hour and ended with soup"
    older, other = event(mem, said, 0.5), event(mem, "Rain fell on the northern harbour", 0.5)
    clock.advance(20 * DAY)
    event(mem, f"{said} again", 0.5)
    mem.backfill()
    run_rehearsal(mem)
    assert mem.get(older.id).strength == 0.5
    assert mem.get(other.id).strength == 1.0
    assert not run_rehearsal(mem).ids


# ── the rules ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def kept(**fields: Any) -> Memory:
    given = {"text": "a", "id": "M1", "learned_at": START, "confidence": 0.8, "importance": 0.8, "kind": Kind.EPISODE}
    return Memory(**{**given, **fields})


def after(days: float) -> datetime:
    return START + timedelta(days=days)


def test_a_rehearsal_restores_half_and_lengthens_the_half_life() -> None:
    faded = kept()
    again = replace(faded, attributes=rehearsal_attributes(1, after(60)))
    assert retention(faded, after(60), SETTINGS) < 0.35
    assert retention(again, after(60), SETTINGS) == 0.5
    assert half_life(again, SETTINGS) > half_life(faded, SETTINGS)
    assert rehearsals_of(again) == (1, after(60))
    assert rehearsals_of(kept(attributes={REHEARSED: "3 yesterday"})) == (0, None)


@pytest.mark.parametrize("mode", ["l2", "huber", "elastic"])
def test_the_date_of_falling_below_a_retention_is_exact(mode: str) -> None:
    settings = replace(SETTINGS, retention_mode=mode)
    at = falls_below_at(kept(), 0.35, START, settings)
    assert at is not None
    assert retention(kept(), at, settings) < 0.35 <= retention(kept(), at - timedelta(hours=1), settings)
    assert falls_below_at(kept(), 0.35, at, settings) == at


@pytest.mark.parametrize(
    "memory",
    [
        kept(importance=0.5),
        kept(pinned=True),
        kept(flagged=True),
        kept(unhelpful=1),
        kept(kind=Kind.FACT),
        kept(attributes=rehearsal_attributes(8, START)),
    ],
)
def test_minor_or_unfading_memories_are_not_rehearsed(memory: Memory) -> None:
    assert proposals(memory, after(400), LIMITS, SETTINGS) == []


def test_emotional_memories_are_rehearsed_sooner() -> None:
    calm, stirring = (kept(affect=Affect(arousal=felt)) for felt in (0.0, 0.7))
    left = {memory.affect.arousal: _left_at_rehearsal(memory) for memory in (calm, stirring)}
    assert left[0.7] > left[0.0]


def _left_at_rehearsal(memory: Memory) -> float:
    (due,) = proposals(memory, START, LIMITS, SETTINGS)
    assert isinstance(due, Recheck)
    assert due.at is not None
    made = proposals(memory, due.at, LIMITS, SETTINGS)
    assert isinstance(made[0], Rehearse)
    return retention(memory, due.at, SETTINGS)


@pytest.mark.parametrize(
    ("older", "newer", "does"),
    [
        (kept(importance=0.5), kept(learned_at=after(20), importance=0.5), True),
        (kept(importance=0.5), kept(learned_at=START, importance=0.5), False),
        (kept(importance=0.5, pinned=True), kept(learned_at=after(20), importance=0.5), False),
        (kept(importance=0.5, kind=Kind.FACT), kept(learned_at=after(20), importance=0.5), False),
        (kept(importance=0.8), kept(learned_at=after(20), importance=0.5), False),
        (kept(importance=0.5, accesses=4, accessed_at=after(20)), kept(learned_at=after(20), importance=0.1), False),
        (kept(importance=0.5, strength=0.5), kept(learned_at=after(20), importance=0.5), False),
    ],
)
def test_only_a_newer_and_stronger_memory_overlays_a_minor_event(older: Memory, newer: Memory, does: bool) -> None:
    assert overlays(newer, older, after(20), LIMITS, SETTINGS) is does
