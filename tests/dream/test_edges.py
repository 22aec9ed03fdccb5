"""The job that links memories which are close in meaning (K10)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dream.vaults import context_of, rows
from hand_clock import HandClock

from engram.capture.embeddings import SPACE
from engram.dream.edges import LINK, SIMILAR, Neighbour, importance_gains, missing_edges
from engram.dream.limits import DreamLimits
from engram.dream.runner import run
from engram.engine import Engram
from engram.index.vectors.live import LiveIndex
from engram.rules.edges import confidence_at
from engram.types import Edge, Memory, Scope
from engram.values.dreams import PassReport
from engram.values.edges import EdgeWeights

DAY = 86_400
PAIR = ("Grandmother grows lemon trees on her sunny balcony", "Grandmother waters lemon trees on her sunny balcony every evening")


@pytest.fixture
def mem(filled: Engram) -> Engram:
    return filled


def run_links(mem: Engram) -> PassReport:
    return run(context_of(mem), [LINK], None, verb="dream")


def similarity_edges(mem: Engram, memory: str) -> list[Edge]:
    return [edge for edge in mem._vault.store.edges.of(mem.reader, [memory]) if edge.kind == SIMILAR]


def pair(mem: Engram, clock: HandClock) -> tuple[str, str]:
    older = mem.remember(PAIR[0]).id
    clock.advance(DAY)
    return older, mem.remember(PAIR[1]).id


def test_close_memories_are_linked_with_moderate_confidence_and_the_edge_fades(mem: Engram, clock: HandClock) -> None:
    older, newer = pair(mem, clock)
    run_links(mem)
    (edge,) = similarity_edges(mem, newer)
    assert (edge.source, edge.target) == (newer, older)
    assert edge.confidence == 0.5
    assert 0.0 < edge.weight <= 1.0
    later = clock.now().replace(year=clock.now().year + 1)
    assert confidence_at(edge, later, EdgeWeights()) < EdgeWeights().edge_floor  # traversal skips it from then on


def test_memories_of_one_moment_or_already_linked_get_no_edge(mem: Engram, clock: HandClock) -> None:
    older, newer = (mem.remember(text).id for text in PAIR)
    run_links(mem)
    assert not similarity_edges(mem, newer)
    clock.advance(DAY)
    third = mem.remember("Grandmother sells lemon trees on her sunny balcony").id
    mem.relate(third, older)
    mem.relate(newer, third, "part_of")
    run_links(mem)
    assert not similarity_edges(mem, third)


def test_a_second_run_changes_nothing_and_an_undo_restores_everything(mem: Engram, clock: HandClock) -> None:
    pair(mem, clock)
    before = rows(mem._vault.store)
    done = run_links(mem)
    known = rows(mem._vault.store)
    assert not run_links(mem).ids
    assert rows(mem._vault.store) == known != before
    mem._vault.store.dreams.undo(mem.reader, done.pass_id)
    assert rows(mem._vault.store) == before


def test_a_faded_edge_is_replaced_by_another_and_an_undo_restores_it(mem: Engram, clock: HandClock) -> None:
    older, newer = pair(mem, clock)
    mem.settings.tune(DreamLimits(dream_links=1, dream_probes=12))
    run_links(mem)
    (edge,) = similarity_edges(mem, newer)
    clock.advance(100 * DAY)
    assert not run_links(mem).ids, "it is sure enough still"
    clock.advance(100 * DAY)
    third = mem.remember("Grandmother sells lemon trees on her sunny balcony each morning").id
    before = rows(mem._vault.store)
    done = run_links(mem)
    assert done.changes["links.unlinked"] == (newer,)
    assert edge not in similarity_edges(mem, newer)
    assert {(one.source, one.target) for one in similarity_edges(mem, third)} <= {(third, older), (third, newer)}
    assert similarity_edges(mem, third), "the places are free"
    mem._vault.store.dreams.undo(mem.reader, done.pass_id)
    assert rows(mem._vault.store) == before
    for number in range(9):
        clock.advance(200 * DAY)
        run_links(mem)
        assert len(similarity_edges(mem, third)) <= 1, number


def test_a_pass_before_the_index_is_loaded_leaves_new_memories_for_the_next(mem: Engram, clock: HandClock) -> None:
    _, newer = pair(mem, clock)
    loading = LiveIndex(mem._vault.store, mem.reader, SPACE, mem._vault.embedder.dimensions, mem._vault.live)
    run(replace(context_of(mem), index=loading), [LINK], None, verb="dream")
    assert not similarity_edges(mem, newer)
    run_links(mem)
    assert similarity_edges(mem, newer)


def test_memories_of_different_scopes_are_not_linked(mem: Engram, clock: HandClock) -> None:
    mem.remember(PAIR[0])
    clock.advance(DAY)
    other = Memory(text=PAIR[1], scope=Scope(agent="rex", channel="lab"))
    store, reader = mem._vault.store, replace(mem.reader, scope=other.scope)
    made = store.memories.add(reader, [other])[0]
    mem.backfill()
    run(context_of(mem, reader), [LINK], None, verb="dream")
    assert not [edge for edge in store.edges.of(reader, [made.id]) if edge.kind == SIMILAR]


def test_linking_without_vectors_waits_for_them(mem: Engram, clock: HandClock) -> None:
    pair(mem, clock)
    context = context_of(mem)
    assert not run(replace(context, index=None), [LINK], None, verb="dream").ids
    assert run_links(mem).counts["links.linked"]


# ── the rules ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def note(number: int, **more: object) -> Memory:
    return Memory(text=f"Note {number}", id=f"M{number}", key=number, session=f"s{number}", **more)  # type: ignore[arg-type]


def test_no_memory_exceeds_its_limit_of_edges() -> None:
    notes = [note(number) for number in range(10)]
    near = {one.id: [Neighbour(other, 5.0, 0.9) for other in notes if other.id != one.id] for one in notes}
    made = missing_edges(notes, near, [], (), DreamLimits())
    counts = [sum(one.id in (edge.source, edge.target) for edge in made) for one in notes]
    assert max(counts) == DreamLimits().dream_links
    assert missing_edges(notes, near, made, (), DreamLimits()) == []


def test_distant_flagged_or_identical_memories_get_no_edge() -> None:
    a, b, bad = note(1), note(2), note(3, flagged=True)
    near = {a.id: [Neighbour(a, 9.0, 1.0), Neighbour(b, 2.4, 0.8), Neighbour(bad, 9.0, 0.9)]}
    assert missing_edges([a], near, [], (), DreamLimits()) == []


def test_a_memory_with_three_new_edges_gains_importance() -> None:
    memory = note(1, importance=0.5)
    edges = [Edge(memory.id, f"M{number}", SIMILAR) for number in (2, 3, 4)]
    assert [one.importance for one in importance_gains([memory], edges)] == [0.6]
    assert importance_gains([memory], edges[:2]) == []
    assert importance_gains([replace(memory, importance=0.95)], edges) == []
