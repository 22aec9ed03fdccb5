"""Links and names that lead from the first candidates to related memories."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recall.vaults import OWNER, open_engram, store_of, texts

from engram.engine import Engram
from engram.recall.activation import spread
from engram.recall.arms import GRAPH
from engram.recall.plan import analyze, hops
from engram.recall.weights import RecallWeights
from engram.rules.edges import confidence_at
from engram.types import Edge, Kind, Memory
from engram.values.edges import LASTING, EdgeWeights
from engram.values.query import Filter, Hop

LABELLED = Path(__file__).parent.parent / "labelled"
NOW = datetime(2026, 2, 1, tzinfo=UTC)


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((LABELLED / name).read_text(encoding="utf-8").splitlines()))


def steps(links: Mapping[int, list[tuple[int, float]]]) -> object:
    return lambda front: [Hop(here, there, "related_to", sure) for here in front for there, sure in links.get(here, [])]


# ── the rule ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_activation_falls_with_every_link_and_the_strongest_path_counts() -> None:
    links = {1: [(2, 1.0), (3, 0.5)], 2: [(3, 1.0)], 3: [(4, 1.0)]}
    made = spread({1: 1.0}, steps(links), RecallWeights(graph_threshold=0.05), hops=3, most=100)  # type: ignore[arg-type]
    levels = dict(zip(made.keys.tolist(), made.levels.tolist(), strict=True))
    assert levels == pytest.approx({2: 0.6, 3: 0.36, 4: 0.216})
    assert made.paths[4].start == 1
    assert len(made.paths[4].by) == 3
    near = spread({1: 1.0}, steps(links), RecallWeights(), hops=1, most=100)  # type: ignore[arg-type]
    assert near.keys.tolist() == [2, 3]
    faint = spread({1: 1.0}, steps(links), RecallWeights(graph_threshold=0.5), hops=3, most=100)  # type: ignore[arg-type]
    assert faint.keys.tolist() == [2]


def test_a_start_is_reached_from_another_and_never_from_itself() -> None:
    links = {1: [(2, 1.0)], 2: [(1, 1.0)]}
    made = spread({1: 1.0, 2: 0.5}, steps(links), RecallWeights(), hops=3, most=100)  # type: ignore[arg-type]
    assert dict(zip(made.keys.tolist(), made.levels.tolist(), strict=True)) == pytest.approx({1: 0.3, 2: 0.6})
    alone = spread({1: 1.0}, steps({1: [(1, 1.0), (2, 1.0)], 2: [(1, 1.0)]}), RecallWeights(), hops=5, most=100)  # type: ignore[arg-type]
    assert alone.keys.tolist() == [2]


def test_pagerank_ranks_a_memory_with_many_paths_higher() -> None:
    links = {1: [(9, 1.0), (8, 1.0)], 2: [(9, 1.0), (7, 1.0)], 3: [(9, 1.0)]}
    starts = {1: 1.0, 2: 1.0, 3: 1.0}
    plain = spread(starts, steps(links), RecallWeights(), hops=2, most=100)  # type: ignore[arg-type]
    ranked = spread(starts, steps(links), RecallWeights(graph_rank=True), hops=2, most=100)  # type: ignore[arg-type]
    assert plain.levels.tolist() == pytest.approx([0.6] * 3)
    assert ranked.keys.tolist()[0] == 9
    assert ranked.levels[0] == pytest.approx(0.6)
    assert ranked.levels[1] < ranked.levels[0]


@given(st.dictionaries(st.integers(1, 9), st.lists(st.tuples(st.integers(1, 9), st.floats(0, 1)), max_size=6)), st.booleans())
def test_no_graph_raises_activation_above_that_of_the_start(links: dict[int, list[tuple[int, float]]], rank: bool) -> None:
    made = spread({1: 1.0}, steps(links), RecallWeights(graph_rank=rank), hops=5, most=100)  # type: ignore[arg-type]
    assert all(0.0 < level <= 0.6 + 1e-6 for level in made.levels.tolist())
    assert 1 not in made.keys.tolist()


def test_links_are_followed_for_questions_about_causes_connections_and_entities() -> None:
    weights = RecallWeights()
    asked = {
        text: hops(analyze(text, NOW), weights) for text in ("Why did it fail?", "How is Ada related to Tom?", "What is it?")
    }
    assert list(asked.values()) == [3, 2, 0]
    assert hops(analyze("Everything about Ada", NOW), weights) == 2
    assert hops(analyze("What is it?", NOW), RecallWeights(graph_always=True)) == 2
    assert hops(analyze("Why did it fail?", NOW), RecallWeights(graph_weight=0.0)) == 0


# ── in a vault ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def linked(tmp_path: Path) -> Iterator[Engram]:
    """Chains of causes, and people who know people."""
    with open_engram(tmp_path / "linked") as mem:
        for row in rows("chains.csv"):
            found, then, last = (mem.remember(row[name]).id for name in ("found", "then", "last"))
            mem.relate(found, then, "caused_by")
            mem.relate(then, last, "caused_by")
        for row in rows("connections.csv"):
            for name in ("first", "second", "third"):
                mem.remember(row[name])
        yield mem


def test_causes_are_found_over_their_links_and_connections_over_names(linked: Engram) -> None:
    causes = [(row["question"], {row["then"], row["last"]}) for row in rows("chains.csv")]
    between = [(row["question"], {row["second"]}) for row in rows("connections.csv")]
    assert _found(linked, causes) >= 0.9
    assert _found(linked, between) >= 0.5
    linked.settings.tune(RecallWeights(graph_weight=0.0))
    assert _found(linked, causes) <= 0.2
    assert _found(linked, between) <= 0.1


def _found(mem: Engram, asked: list[tuple[str, set[str]]]) -> float:
    return sum(len(answer & set(texts(mem.recall(question, limit=5)))) / len(answer) for question, answer in asked) / len(asked)


def test_a_hit_names_the_links_that_led_to_it(linked: Engram) -> None:
    row = rows("chains.csv")[0]
    hits = linked.recall(row["question"], limit=5)
    root = next(hit for hit in hits if hit.memory.text == row["last"])
    assert any(signal.arm == GRAPH and signal.rank for signal in root.why.signals)
    assert f"reached over caused_by, then caused_by from {hits[0].memory.id}" in root.why.notes
    told = linked.explain(row["question"], root.memory.id, limit=5)
    assert told.recalled
    assert "caused_by" in str(told)


def test_why_brings_the_third_cause_and_names_the_path(full: Engram) -> None:
    crash, disk, logs, edit = (
        full.remember(text).id
        for text in (
            "The nightly import crashed on Sunday",
            "A worker ran out of space",
            "Rotation had been switched off",
            "Somebody edited crontab",
        )
    )
    for cause, effect in ((disk, crash), (logs, disk), (edit, logs)):
        full.relate(cause, effect, "causes")
    answer = full.recall("Why did the nightly import crash on Sunday?")
    assert answer[0].memory.id == crash
    assert {disk, logs, edit} <= {hit.memory.id for hit in answer}
    (third,) = (hit for hit in answer if hit.memory.id == edit)
    assert f"reached over causes, then causes, then causes from {crash}" in str(third.why)
    plain = full.recall("When was the nightly import on Sunday?")
    assert edit not in {hit.memory.id for hit in plain}, "only a question for causes follows them"


def test_links_do_not_lead_to_memories_that_the_reader_may_not_see(tmp_path: Path) -> None:
    with open_engram(tmp_path / "vault") as rex, open_engram(tmp_path / "vault", agent="eva") as eva:
        owner = rex.as_reader(OWNER)
        mine = rex.remember("The greenhouse burned down.")
        theirs = eva.remember("A candle was left burning by Ada.")
        further = rex.remember("Ada sells candles.")
        owner.relate(mine.id, theirs.id, "caused_by")
        owner.relate(theirs.id, further.id, "caused_by")
        question = "Why did the greenhouse burn down?"
        assert theirs.text in texts(owner.recall(question, limit=5))
        seen = texts(rex.recall(question, limit=5))
        assert theirs.text not in seen
        assert all("caused_by" not in note for hit in rex.recall(question, limit=5) for note in hit.why.notes)
        store = store_of(rex)
        assert store.edges.linked(rex.reader, [mine.key, theirs.key], NOW, most=10) == []
        assert store.edges.sharing_entities(rex.reader, [theirs.key, further.key], fan=10, most=10) == []
        assert [one.there for one in store.edges.naming(rex.reader, ["Ada"], most=10)] == [further.key]
        assert store.edges.passing(rex.reader, [mine.key, theirs.key], Filter()) == {mine.key}


def test_links_do_not_lead_to_retired_or_filtered_memories(mem: Engram) -> None:
    effect, cause, other = (mem.remember(text) for text in ("The lamp broke.", "A cat jumped on it.", "Wires were old."))
    mem.relate(effect.id, cause.id, "caused_by")
    mem.relate(effect.id, other.id, "caused_by")
    assert {cause.text, other.text} <= set(texts(mem.recall("Why did the lamp break?", limit=5)))
    mem.forget(cause.id)
    assert cause.text not in texts(mem.recall("Why did the lamp break?", limit=5))
    only = mem.recall("Why did the lamp break?", limit=5, filters=Filter(kinds=(Kind.EPISODE,)))
    assert texts(only) == []


def test_a_thousand_links_at_one_memory_are_bounded_and_the_surest_are_followed(mem: Engram) -> None:
    store = store_of(mem)
    hub, cause = mem.remember("The merger was announced."), mem.remember("Margins fell.")
    crowd = store.memories.add(
        mem.reader, [Memory(text=f"Desk {number} moved.", scope=mem.reader.scope) for number in range(1000)]
    )
    store.edges.put(mem.reader, [Edge(hub.id, one.id, "related_to", confidence=0.5) for one in crowd])
    mem.relate(hub.id, cause.id, "caused_by")
    found = store.edges.linked(mem.reader, [hub.key], mem._vault.env.now(), most=50)
    assert len(found) == 50
    assert found[0].there == cause.key
    assert cause.text in texts(mem.recall("Why was the merger announced?", limit=3))


def test_a_name_in_too_many_memories_is_not_followed(mem: Engram) -> None:
    first = mem.remember("Ada paints doors.")
    for number in range(12):
        mem.remember(f"Ada bought {number} brushes.")
    store = store_of(mem)
    assert store.edges.sharing_entities(mem.reader, [first.key], fan=12, most=50) == []
    assert len(store.edges.sharing_entities(mem.reader, [first.key], fan=13, most=50)) == 12


@pytest.mark.parametrize("kind", ["related_to", min(LASTING)])
@pytest.mark.parametrize(("confidence", "days"), [(1.0, 10), (0.9, 60), (0.5, 200), (0.21, 31), (0.15, 0), (0.05, 400)])
def test_the_store_computes_the_confidence_of_a_link_as_the_rule_does(
    mem: Engram, kind: str, confidence: float, days: int
) -> None:
    one, other = mem.remember("The first of two."), mem.remember("The second one.")
    store_of(mem).edges.put(mem.reader, [Edge(one.id, other.id, kind, confidence=confidence)])
    edge = store_of(mem).edges.of(mem.reader, [one.id])[0]
    assert isinstance(edge, Edge)
    assert edge.created_at is not None
    later = edge.created_at + timedelta(days=days)
    sure = confidence_at(edge, later, EdgeWeights())
    found = store_of(mem).edges.linked(mem.reader, [one.key], later, most=5)
    assert [step.sure for step in found] == ([pytest.approx(sure)] if sure >= EdgeWeights().edge_floor else [])
