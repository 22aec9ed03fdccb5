"""Inference (K11): from confident premises, by transitive relations, without cycles; conclusions end with their premises."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hand_clock import HandClock
from hypothesis import given
from hypothesis import strategies as st
from rules.stories import open_story

from engram.engine import Engram
from engram.rules.inference import LEAST, Relation, composed, infer, supports_inference
from engram.rules.lifecycle import Verification, verification
from engram.types import Edge, Kind, Memory, Source, Status


def rel(source: str, kind: str, target: str, confidence: float = 0.9) -> Relation:
    return Relation(source, kind, target, confidence, f"{source}>{target}")


def inferred_triples(*relations: Relation, about: str | None = None) -> list[tuple[str, str, str]]:
    return [(one.source, one.kind, one.target) for one in infer(relations, about)]


def test_part_of_is_transitive() -> None:
    found = infer([rel("valve", "part of", "pump"), rel("pump", "is part of", "plant", 0.8)])
    assert [(one.source, one.kind, one.target) for one in found] == [("valve", "part of", "plant")]
    assert found[0].premises == ("valve>pump", "pump>plant")
    assert LEAST < found[0].confidence < 0.8


def test_different_relations_compose() -> None:
    assert inferred_triples(rel("ana", "lives in", "porto"), rel("porto", "located in", "portugal")) == [
        ("ana", "lives in", "portugal")
    ]
    assert composed("located in", "lives in") is None


@pytest.mark.parametrize("kind", ["likes", "manages", "reports to", "knows", "married to", "uses"])
def test_relations_that_are_not_transitive_infer_nothing(kind: str) -> None:
    assert inferred_triples(rel("a", kind, "b"), rel("b", kind, "c")) == []


def test_most_relations_do_not_compose_through_a_person() -> None:
    assert inferred_triples(rel("book", "belongs to", "tom"), rel("tom", "belongs to", "chess club")) == []
    assert inferred_triples(rel("tom", "depends on", "ann"), rel("ann", "depends on", "insulin")) == []
    assert inferred_triples(rel("Ann", "uses", "api"), rel("api", "depends on", "redis")) == []
    assert inferred_triples(rel("shop", "uses", "api"), rel("api", "depends on", "redis")) == [("shop", "depends on", "redis")]
    assert inferred_triples(rel("ann", "older than", "tom"), rel("tom", "older than", "carl")) == [("ann", "older than", "carl")]


def test_premises_must_be_confident_and_chains_short() -> None:
    assert inferred_triples(rel("a", "part of", "b", 0.7), rel("b", "part of", "c")) == []
    chain = [rel(str(n), "part of", str(n + 1), 0.99) for n in range(10)]
    assert {target for _, _, target in inferred_triples(*chain, about="0")} == {"2", "3", "4", "5"}


def test_stated_facts_and_cycles_are_not_inferred() -> None:
    assert inferred_triples(rel("a", "part of", "b"), rel("b", "part of", "c"), rel("a", "part of", "c")) == []
    assert inferred_triples(rel("a", "part of", "b"), rel("b", "part of", "a"), rel("a", "part of", "a")) == []


@given(
    st.lists(
        st.builds(
            rel,
            st.sampled_from("abcdef"),
            st.sampled_from(["part of", "depends on", "likes", "lives in", "located in"]),
            st.sampled_from("abcdef"),
            st.floats(0, 1),
        ),
        max_size=14,
    )
)
def test_every_conclusion_is_new_confident_and_has_premises(known: list[Relation]) -> None:
    sure = {one.premise: one.confidence for one in sorted(known, key=lambda one: one.confidence)}
    for one in infer(known):
        assert one.source != one.target
        assert supports_inference(one.kind)
        assert not any((r.source, r.kind, r.target) == (one.source, one.kind, one.target) for r in known)
        assert LEAST < one.confidence <= min(sure[premise] for premise in one.premises)
        assert len(one.premises) >= 2


# ── in a vault ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with open_story(tmp_path, HandClock()) as mem:
        yield mem


def test_beliefs_include_conclusions_only_on_request(mem: Engram) -> None:
    first, second = mem.learn("the parser", "is part of", "the compiler"), mem.learn("compiler", "is part of", "toolchain")
    mem.learn("the toolchain", "likes", "nobody")
    found = [one for one in mem.beliefs("parser", inferred=True) if one.status == "inferred"]
    assert [(one.predicate, one.object, one.memory, one.premises) for one in found] == [
        ("part of", "toolchain", "", (first.id, second.id))
    ]
    assert all(one.status == "held" for one in mem.beliefs("parser"))


def test_a_fact_from_text_is_a_premise_and_its_conclusion_ends_with_it(mem: Engram) -> None:
    mem.observe(user="The parser is part of the compiler.")
    said = mem.observe(user="The compiler is part of the toolchain.").ids[0]

    def following() -> list[str]:
        return [one.object for one in mem.beliefs("the parser", inferred=True) if one.status == "inferred"]

    assert following() == ["toolchain"]
    mem.forget(said)
    assert following() == []
    mem.restore(said)
    assert following() == ["toolchain"]


def test_edges_are_premises_too(mem: Engram) -> None:
    a, b, c = (mem.remember(f"Note {name}").id for name in ("one", "two", "three"))
    mem.relate(a, b, "part_of")
    mem.relate(b, c, "part_of")
    assert {one.memory.id: one.inferred for one in mem.traverse(a)} == {b: "", c: "part_of"}
    assert {one.memory.id: one.inferred for one in mem.traverse(c)} == {b: "", a: ""}


def test_a_stored_conclusion_is_inferred_and_retired_with_any_premise(mem: Engram) -> None:
    store, reader = mem._vault.store, mem.reader

    def concluded(*premises: str) -> str:
        draft = Memory(text=f"It follows from {premises}.", kind=Kind.FACT, source=Source.INFERRED, scope=reader.scope)
        kept = store.memories.add(reader, [draft])[0]
        store.edges.put(reader, [Edge(kept.id, premise, "inferred_from") for premise in premises])
        assert verification(kept) is Verification.SYSTEM_INFERRED
        return kept.id

    one, two = mem.remember("The valve is part of the pump").id, mem.remember("The pump is part of the plant").id
    first = concluded(one, two)
    second = concluded(first)
    mem.feedback(two, False, correction="The pump is part of the boiler")
    assert [mem.get(name).status for name in (first, second)] == [Status.INVALIDATED] * 2
    assert mem.get(one).status is Status.ACTIVE
    third = concluded(one)
    mem.forget(one, erase=True)
    assert mem._vault.store.memories.get(reader, [third]) == []


def test_inference_on_a_dense_graph_is_bounded() -> None:
    """Sixty entities in a total order have five million paths of five premises."""
    names = [f"n{number:02}" for number in range(60)]
    known = [Relation(a, "depends on", b, 1.0, f"{a}{b}") for number, a in enumerate(names) for b in names[number + 1 :]]
    known.remove(Relation("n00", "depends on", "n59", 1.0, "n00n59"))
    assert [(one.target, len(one.premises)) for one in infer(known, "n00")] == [("n59", 2)]
