"""The job that stores conclusions (K11), always as INFERRED."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dream.vaults import context_of, rows

from engram.dream.inference import INFER
from engram.dream.runner import run
from engram.engine import Engram
from engram.recall.score import state_value
from engram.rules.inference import Inferred, conclusion_sentence
from engram.rules.lifecycle import Verification, verification
from engram.types import Memory, Source, Status
from engram.values.dreams import PassReport

CHAIN = ("The parser is part of the compiler.", "The compiler is part of the toolchain.")
FOLLOWS = "The parser is part of the toolchain."


def run_inference(mem: Engram) -> PassReport:
    return run(context_of(mem), [INFER], None, verb="dream")


def conclusions(mem: Engram) -> list[Memory]:
    return [one for one in mem.list() if one.source is Source.INFERRED]


def remember_all(mem: Engram, *texts: str) -> list[str]:
    return [mem.remember(text).id for text in texts]


def test_a_conclusion_is_stored_with_its_premises_and_lower_confidence(mem: Engram) -> None:
    first, second = remember_all(mem, *CHAIN)
    run_inference(mem)
    (made,) = conclusions(mem)
    assert made.text == FOLLOWS
    assert verification(made) is Verification.SYSTEM_INFERRED
    assert 0.7 < made.confidence < min(mem.get(first).confidence, mem.get(second).confidence)
    links = mem._vault.store.edges.of(mem.reader, [made.id])
    assert {(edge.target, edge.kind) for edge in links} == {(first, "inferred_from"), (second, "inferred_from")}
    assert [hit.memory.id for hit in mem.recall("Is the parser part of the toolchain?", limit=3)].index(made.id) > -1


def test_a_later_premise_completes_a_chain_at_any_position(mem: Engram) -> None:
    for order in (CHAIN, CHAIN[::-1]):
        ids = remember_all(mem, order[0])
        run_inference(mem)
        assert not conclusions(mem)
        ids += remember_all(mem, order[1])
        run_inference(mem)
        assert [one.text for one in conclusions(mem)] == [FOLLOWS]
        mem.forget(*ids, erase=True)
        assert not mem.list()


@pytest.mark.parametrize("fall", ["forget", "erase", "update", "correct", "outdate"])
def test_a_conclusion_is_retired_with_any_premise(mem: Engram, fall: str) -> None:
    said = "Ana lives in Porto and has two lovely cats that she adores."
    premise, _ = remember_all(mem, said, "Porto is located in Portugal.")
    run_inference(mem)
    assert [one.text for one in conclusions(mem)] == ["Ana lives in Portugal."]
    match fall:
        case "forget":
            mem.forget(premise)
        case "erase":
            mem.forget(premise, erase=True)
        case "update":
            mem.update(premise, text="Ana has two cats.")
        case "correct":
            mem.feedback(premise, False, correction="Ana lives in Madrid.")
        case _:
            mem.remember("Ana lives in Madrid.")
            assert mem.get(premise).status is Status.ACTIVE  # the premise is not merged into its conclusion
    assert not conclusions(mem)
    run_inference(mem)
    assert not conclusions(mem)


def test_premises_must_be_confident_stated_and_of_one_scope(mem: Engram) -> None:
    store = mem._vault.store
    unsure = Memory(text=CHAIN[1], confidence=0.6, scope=mem.reader.scope)
    elsewhere = Memory(text=CHAIN[1], confidence=0.9, scope=replace(mem.reader.scope, channel="lab"))
    remember_all(mem, CHAIN[0])
    store.memories.add(mem.reader, [unsure])
    store.memories.add(replace(mem.reader, scope=elsewhere.scope), [elsewhere])
    run_inference(mem)
    assert not conclusions(mem)


def test_nothing_is_inferred_from_conclusions_or_cycles(mem: Engram) -> None:
    remember_all(mem, *CHAIN, "The toolchain is part of the parser.")
    run_inference(mem)
    made = {one.text for one in conclusions(mem)}
    assert not any(" ".join(text.split()[:2]).lower() == " ".join(text.rstrip(".").split()[-2:]).lower() for text in made)
    known = rows(mem._vault.store)
    for _ in range(3):
        assert not run_inference(mem).ids
    assert rows(mem._vault.store) == known


def test_a_second_run_adds_nothing_and_an_undo_removes_the_conclusions(mem: Engram) -> None:
    remember_all(mem, *CHAIN)
    before = rows(mem._vault.store)
    done = run_inference(mem)
    known = rows(mem._vault.store)
    assert not run_inference(mem).ids
    assert rows(mem._vault.store) == known != before
    mem._vault.store.dreams.undo(mem.reader, done.pass_id)
    assert not conclusions(mem)
    assert rows(mem._vault.store) == before


def test_a_forgotten_conclusion_does_not_come_back(mem: Engram) -> None:
    remember_all(mem, *CHAIN)
    run_inference(mem)
    mem.forget(conclusions(mem)[0].id)
    mem.pin(remember_all(mem, *CHAIN)[0])  # a premise changes, so the job visits it again
    run_inference(mem)
    assert not conclusions(mem)


def test_a_conclusion_that_a_user_states_becomes_theirs_and_stays(mem: Engram) -> None:
    premise, _ = remember_all(mem, *CHAIN)
    run_inference(mem)
    made = conclusions(mem)[0].id
    assert mem.remember(FOLLOWS).id == made
    assert mem.get(made).source is Source.USER
    assert [one.memory for one in mem.beliefs("parser") if one.object == "toolchain"] == [made]
    mem.forget(premise)
    assert mem.get(made).status is Status.ACTIVE


def test_inference_is_bounded_per_page(mem: Engram) -> None:
    remember_all(mem, *(f"Part{n} is part of Box{n}." for n in range(6)), *(f"Box{n} is part of Shelf{n}." for n in range(6)))
    context = context_of(mem)
    run(replace(context, limits=replace(context.limits, dream_inferences=3)), [INFER], None, verb="dream")
    assert len(conclusions(mem)) == 3


@pytest.mark.parametrize(
    ("one", "told", "said"),
    [
        (Inferred("parser", "part of", "toolchain", 0.8, ()), CHAIN, FOLLOWS),
        (
            Inferred("user", "lives in", "portugal", 0.8, ()),
            ("I live in Porto", "Porto is located in Portugal."),
            "The user lives in Portugal.",
        ),
        (
            Inferred("ana", "member of", "eu", 0.8, ()),
            ("Ana is a member of X.", "X is part of the EU."),
            "Ana is a member of the EU.",
        ),
        (Inferred("api", "depends on", "c++", 0.8, ()), ("the API depends on x", "x depends on C++."), "The API depends on C++."),
        (Inferred("ben", "older than", "cy", 0.8, ()), ("Ben is older than Al", "Al is older than Cy"), "Ben is older than Cy."),
    ],
)
def test_a_conclusion_uses_the_words_of_its_premises(one: Inferred, told: tuple[str, ...], said: str) -> None:
    assert conclusion_sentence(one, told) == said


def test_conclusions_rank_below_statements(mem: Engram) -> None:
    remember_all(mem, *CHAIN)
    run_inference(mem)
    now, settings = mem._vault.env.now(), mem._vault.live.now
    (made,) = conclusions(mem)
    assert state_value(made, now, settings) < state_value(replace(made, source=Source.USER), now, settings)
    assert state_value(replace(made, helpful=1), now, settings) > 0.0  # unless feedback was helpful
