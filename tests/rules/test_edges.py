"""Edges: reinforcement, fading, traversal, and no cycles (M15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall.vaults import KEY

import engram
from engram.errors import InvalidQuery
from engram.rules.edges import confidence_at, reinforced, traverse
from engram.types import Edge, Memory
from engram.values.edges import ACYCLIC, EdgeWeights

START = datetime(2026, 1, 1, tzinfo=UTC)
WEIGHTS = EdgeWeights()


def after(days: float) -> datetime:
    return START + timedelta(days=days)


def link(source: str, target: str, kind: str = "related_to", weight: float = 1.0, confidence: float = 1.0) -> Edge:
    return Edge(source, target, kind, weight, confidence, START)


def test_an_association_keeps_its_confidence_for_a_month_then_fades_linearly() -> None:
    one = link("a", "b")
    assert [round(confidence_at(one, after(days), WEIGHTS), 3) for days in (0, 30, 60, 90, 3650)] == [1.0, 1.0, 0.9, 0.8, 0.1]


@pytest.mark.parametrize("kind", sorted(ACYCLIC | {"supersedes", "contradicts"}))
def test_edges_that_state_what_happened_do_not_fade(kind: str) -> None:
    assert confidence_at(link("a", "b", kind, confidence=0.7), after(3650), WEIGHTS) == 0.7


def test_restating_an_edge_raises_its_confidence_and_restarts_the_grace_period() -> None:
    faint = link("a", "b", confidence=0.5)
    again = reinforced(faint, link("a", "b", confidence=0.5), after(60), WEIGHTS)
    assert again.confidence == pytest.approx(0.5 - 0.1 + 0.1)
    assert (again.created_at, again.reinforced_at) == (START, after(60))
    assert confidence_at(again, after(90), WEIGHTS) == again.confidence


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 4000))
def test_the_confidence_of_an_edge_stays_between_zero_and_one(old: float, told: float, days: float) -> None:
    known = link("a", "b", confidence=old)
    assert 0.0 <= confidence_at(known, after(days), WEIGHTS) <= old
    again = reinforced(known, replace(known, confidence=told), after(days), WEIGHTS)
    assert max(told, confidence_at(known, after(days), WEIGHTS)) <= again.confidence <= 1.0


def among(*edges: Edge) -> object:
    def edges_of(ids: Sequence[str]) -> list[Edge]:
        return [edge for edge in edges if edge.source in ids or edge.target in ids]

    return edges_of


def test_traversal_takes_the_strongest_path_up_to_the_depth() -> None:
    edges = among(link("a", "b", weight=0.5), link("c", "a"), link("b", "d"), link("c", "d", weight=0.9), link("d", "e"))
    ways = traverse(["a"], edges, START, WEIGHTS, depth=2)  # type: ignore[arg-type]
    assert {there: (way.distance, way.strength) for there, way in ways.items()} == {"b": (1, 0.5), "c": (1, 1.0), "d": (2, 0.9)}
    assert "e" in traverse(["a"], edges, START, WEIGHTS, depth=3)  # type: ignore[arg-type]


def test_traversal_skips_faded_edges() -> None:
    edges = among(link("a", "b", confidence=0.19), link("a", "c", confidence=0.2), link("a", "d"))
    assert set(traverse(["a"], edges, START, WEIGHTS)) == {"c", "d"}  # type: ignore[arg-type]
    assert set(traverse(["a"], edges, after(300), WEIGHTS)) == set()  # type: ignore[arg-type]


def test_relate_and_traverse_work_on_a_vault(tmp_path: Path) -> None:
    with engram.open(tmp_path / "vault", key=KEY, settings={"model": "none"}) as mem:
        a, b, c = (mem.remember(text).id for text in ("the outage", "the bad deploy", "the hurried review"))
        mem.relate(a, b, "caused_by")
        mem.relate(b, c, "derived_from")
        with pytest.raises(InvalidQuery, match="cycle"):
            mem.relate(c, a, "caused_by")
        mem.relate(c, a)  # related_to is symmetric, so this makes no cycle
        assert {(e.source, e.target) for e in mem.edges(a)} == {(a, b), (c, a)}
        mem.relate(c, a)
        assert [e.reinforced_at is not None for e in mem.edges(a) if e.kind == "related_to"] == [True]
        far = {
            reached.memory.id: (reached.distance, reached.by) for reached in mem.traverse(a, kinds=["caused_by", "derived_from"])
        }
        assert far == {b: (1, ("caused_by",)), c: (2, ("caused_by", "derived_from"))}
        assert mem.traverse(a, depth=1, kinds=["caused_by"])[0].memory.text == "the bad deploy"


def test_a_memory_with_many_edges_lists_the_strongest(tmp_path: Path) -> None:
    with engram.open(tmp_path / "vault", key=KEY, settings={"model": "none"}) as mem:
        store = mem._vault.store
        hub, *others = store.memories.add(mem.reader, [Memory(text=f"note {number}") for number in range(1_102)])
        store.edges.put(mem.reader, [Edge(hub.id, one.id, "related_to", confidence=0.5) for one in others])
        store.edges.put(mem.reader, [Edge(others[-1].id, hub.id, "caused_by")])
        found = mem.traverse(hub.id)
        assert (len(found), found[0].memory.id) == (1000, others[-1].id)
