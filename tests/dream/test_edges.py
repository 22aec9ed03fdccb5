"""Memories that are close in meaning and stand in no link get one at rest (K10)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dream.vaults import desk_of, rows
from hand_clock import HandClock

from engram.capture.embeddings import SPACE
from engram.dream.edges import LINK, SIMILAR, Near, insights, latent
from engram.dream.runner import run
from engram.engine import Engram
from engram.index.vectors.live import LiveIndex
from engram.rules.edges import sure_at
from engram.settings import Settings
from engram.types import Edge, Memory, Scope
from engram.values.dreams import PassReport

DAY = 86_400
PAIR = ("Grandmother grows lemon trees on her sunny balcony", "Grandmother waters lemon trees on her sunny balcony every evening")


@pytest.fixture
def mem(filled: Engram) -> Engram:
    return filled


def rest(mem: Engram) -> PassReport:
    return run(desk_of(mem), [LINK], None, verb="dream")


def linked(mem: Engram, memory: str) -> list[Edge]:
    return [edge for edge in mem._vault.store.edges(mem.reader, [memory]) if edge.kind == SIMILAR]


def pair(mem: Engram, clock: HandClock) -> tuple[str, str]:
    older = mem.remember(PAIR[0]).id
    clock.advance(DAY)
    return older, mem.remember(PAIR[1]).id


def test_two_that_are_close_are_linked_modestly_and_the_link_fades(mem: Engram, clock: HandClock) -> None:
    older, newer = pair(mem, clock)
    rest(mem)
    (edge,) = linked(mem, newer)
    assert (edge.source, edge.target) == (newer, older)
    assert edge.confidence == 0.5
    assert 0.0 < edge.weight <= 1.0
    later = clock.now().replace(year=clock.now().year + 1)
    assert sure_at(edge, later, mem._vault.live.now) < mem._vault.live.now.edge_floor  # nobody follows it any more


def test_what_was_said_in_one_breath_and_what_is_linked_already_is_left_alone(mem: Engram, clock: HandClock) -> None:
    older, newer = (mem.remember(text).id for text in PAIR)
    rest(mem)
    assert not linked(mem, newer)
    clock.advance(DAY)
    third = mem.remember("Grandmother sells lemon trees on her sunny balcony").id
    mem.relate(third, older)
    mem.relate(newer, third, "part_of")
    rest(mem)
    assert not linked(mem, third)


def test_a_second_run_changes_nothing_and_an_undo_puts_all_back(mem: Engram, clock: HandClock) -> None:
    pair(mem, clock)
    before = rows(mem._vault.store)
    done = rest(mem)
    known = rows(mem._vault.store)
    assert not rest(mem).ids
    assert rows(mem._vault.store) == known != before
    mem._vault.store.undo_pass(mem.reader, done.pass_id)
    assert rows(mem._vault.store) == before


def test_a_link_that_faded_goes_leaves_its_place_to_another_and_comes_back_with_an_undo(mem: Engram, clock: HandClock) -> None:
    older, newer = pair(mem, clock)
    mem.settings.set(dream_links=1)
    rest(mem)
    (edge,) = linked(mem, newer)
    clock.advance(100 * DAY)
    assert not rest(mem).ids, "it is sure enough still"
    clock.advance(100 * DAY)
    third = mem.remember("Grandmother sells lemon trees on her sunny balcony each morning").id
    before = rows(mem._vault.store)
    done = rest(mem)
    assert done.changes["links.unlinked"] == (newer,)
    assert edge not in linked(mem, newer)
    assert {(one.source, one.target) for one in linked(mem, third)} <= {(third, older), (third, newer)}
    assert linked(mem, third), "the places are free"
    mem._vault.store.undo_pass(mem.reader, done.pass_id)
    assert rows(mem._vault.store) == before
    for number in range(9):
        clock.advance(200 * DAY)
        rest(mem)
        assert len(linked(mem, third)) <= 1, number


def test_a_pass_before_the_vectors_are_at_hand_leaves_what_is_new_for_the_next(mem: Engram, clock: HandClock) -> None:
    _, newer = pair(mem, clock)
    loading = LiveIndex(mem._vault.store, mem.reader, SPACE, mem._vault.embedder.dimensions, mem._vault.live)
    run(replace(desk_of(mem), index=loading), [LINK], None, verb="dream")
    assert not linked(mem, newer)
    rest(mem)
    assert linked(mem, newer)


def test_scopes_are_not_joined(mem: Engram, clock: HandClock) -> None:
    mem.remember(PAIR[0])
    clock.advance(DAY)
    other = Memory(text=PAIR[1], scope=Scope(agent="rex", channel="lab"))
    store, reader = mem._vault.store, replace(mem.reader, scope=other.scope)
    made = store.add(reader, [other])[0]
    mem.backfill()
    run(desk_of(mem, reader), [LINK], None, verb="dream")
    assert not [edge for edge in store.edges(reader, [made.id]) if edge.kind == SIMILAR]


def test_without_vectors_it_waits_for_them(mem: Engram, clock: HandClock) -> None:
    pair(mem, clock)
    desk = desk_of(mem)
    assert not run(replace(desk, index=None), [LINK], None, verb="dream").ids
    assert rest(mem).counts["links.linked"]


# ── the rules ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def note(number: int, **more: object) -> Memory:
    return Memory(text=f"Note {number}", id=f"M{number}", key=number, session=f"s{number}", **more)  # type: ignore[arg-type]


def test_no_memory_has_more_than_its_share_of_links() -> None:
    notes = [note(number) for number in range(10)]
    near = {one.id: [Near(other, 5.0, 0.9) for other in notes if other.id != one.id] for one in notes}
    made = latent(notes, near, [], (), Settings())
    counts = [sum(one.id in (edge.source, edge.target) for edge in made) for one in notes]
    assert max(counts) == Settings().dream_links
    assert latent(notes, near, made, (), Settings()) == []


def test_what_is_far_flagged_or_itself_gets_no_link() -> None:
    a, b, bad = note(1), note(2), note(3, flagged=True)
    near = {a.id: [Near(a, 9.0, 1.0), Near(b, 2.4, 0.8), Near(bad, 9.0, 0.9)]}
    assert latent([a], near, [], (), Settings()) == []


def test_what_belongs_to_three_others_at_once_matters_more() -> None:
    memory = note(1, importance=0.5)
    edges = [Edge(memory.id, f"M{number}", SIMILAR) for number in (2, 3, 4)]
    assert [one.importance for one in insights([memory], edges)] == [0.6]
    assert insights([memory], edges[:2]) == []
    assert insights([replace(memory, importance=0.95)], edges) == []
