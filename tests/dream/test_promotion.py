"""The job that moves memories between layers by their use (M13)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from dream.vaults import context_of, rows
from hand_clock import HandClock

from engram.dream.promotion import PROMOTE
from engram.dream.runner import run
from engram.engine import Engram
from engram.rules.lifecycle import LAYER, Layer, layer_of
from engram.types import Kind, Memory, Reader, Scope
from engram.values.dreams import PassReport

DAY = 86_400


def run_promotion(mem: Engram, reader: Reader | None = None) -> PassReport:
    return run(context_of(mem, reader), [PROMOTE], None, verb="consolidate")


def event(mem: Engram, text: str = "We shipped the parser in Berlin", **more: Any) -> Memory:
    draft = Memory(text=text, kind=Kind.EPISODE, category="moment", scope=mem.reader.scope, importance=0.8, **more)
    return mem._vault.store.memories.add(mem.reader, [draft])[0]


def use(mem: Engram, memory: Memory, times: int = 5) -> None:
    for _ in range(times):
        assert [hit.memory.id for hit in mem.recall(memory.text, limit=1)] == [memory.id]


def layer(mem: Engram, memory: Memory) -> Layer:
    return layer_of(mem.get(memory.id))


def test_an_often_used_event_is_promoted_to_semantic(mem: Engram, clock: HandClock) -> None:
    asked, other = event(mem), event(mem, "We had soup for lunch")
    run_promotion(mem)
    assert layer(mem, asked) is Layer.EPISODIC
    use(mem, asked)
    clock.advance(2 * DAY)  # use is not in the change log, so the memory is visited by its date
    report = run_promotion(mem)
    assert report.changes["promote.placed"] == (asked.id,)
    assert layer(mem, asked) is Layer.SEMANTIC
    assert layer(mem, other) is Layer.EPISODIC


def test_a_faded_event_is_demoted_and_does_not_oscillate(mem: Engram, clock: HandClock) -> None:
    memory = event(mem)
    use(mem, memory)
    run_promotion(mem)
    assert layer(mem, memory) is Layer.SEMANTIC
    clock.advance(2000 * DAY)
    assert run_promotion(mem).counts["promote.placed"] == 1
    assert layer(mem, memory) is Layer.EPISODIC
    kept = rows(mem._vault.store)
    for _ in range(3):
        clock.advance(5000 * DAY)
        assert not run_promotion(mem).ids
    assert rows(mem._vault.store) == kept


def test_a_working_memory_is_promoted_to_episodic(mem: Engram, clock: HandClock) -> None:
    thought = event(mem, attributes={LAYER: "working"})
    run_promotion(mem)
    assert layer(mem, thought) is Layer.WORKING
    clock.advance(31 * 60)
    run_promotion(mem)
    assert layer(mem, thought) is Layer.EPISODIC


def test_a_pinned_memory_keeps_its_layer(mem: Engram, clock: HandClock) -> None:
    memory = event(mem)
    mem.pin(memory.id)
    use(mem, memory)
    run_promotion(mem)
    clock.advance(2 * DAY)
    assert not run_promotion(mem).ids
    assert layer(mem, memory) is Layer.EPISODIC


def test_a_second_run_changes_nothing_and_an_undo_restores_everything(mem: Engram) -> None:
    memory = event(mem)
    use(mem, memory)
    mem.gaps()  # writes the pending access counts
    before = rows(mem._vault.store)
    done = run_promotion(mem)
    kept = rows(mem._vault.store)
    assert not run_promotion(mem).ids
    assert rows(mem._vault.store) == kept != before
    mem._vault.store.dreams.undo(mem.reader, done.pass_id)
    assert rows(mem._vault.store) == before


def test_events_of_another_agent_are_not_promoted(mem: Engram) -> None:
    memory = event(mem)
    use(mem, memory)
    assert not run_promotion(mem, Reader(Scope(agent="kim"))).ids
    assert layer(mem, memory) is Layer.EPISODIC


@pytest.mark.parametrize("days", [0, 1, 40, 400])
def test_memories_that_may_move_are_rechecked_at_twice_their_age(mem: Engram, clock: HandClock, days: int) -> None:
    memory = event(mem)
    clock.advance(days * DAY)
    run_promotion(mem)
    store, now = mem._vault.store, clock.now()
    later = timedelta(days=max(days, 1))
    assert not store.dreams.due(mem.reader, "promote", now + later - timedelta(minutes=1), 10)
    assert [one.id for one in store.dreams.due(mem.reader, "promote", now + later, 10)] == [memory.id]
