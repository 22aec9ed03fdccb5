"""The job that summarizes several facts of one subject in one sentence (K1)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dream.vaults import context_of, rows

from engram.dream.runner import run
from engram.dream.summaries import GATHER, GIST
from engram.engine import Engram
from engram.errors import Conflict
from engram.rules.summaries import SourcedFact, summarize
from engram.types import Memory, Scope, Source, Status
from engram.values.dreams import PassReport, PassStatus

LIKES = ("I like jazz.", "I love Thai food.", "I like hiking.")


def run_summaries(mem: Engram) -> PassReport:
    return run(context_of(mem), [GATHER], None, verb="dream")


def stored_summaries(mem: Engram) -> list[Memory]:
    return [one for one in mem.list() if GIST in one.attributes]


def remember_all(mem: Engram, *texts: str) -> list[str]:
    return [mem.remember(text).id for text in texts]


def test_three_likes_are_summarized_in_one_sentence_linked_to_its_sources(mem: Engram) -> None:
    ids = remember_all(mem, *LIKES)
    run_summaries(mem)
    (made,) = stored_summaries(mem)
    assert made.text == "The user likes jazz, Thai food and hiking."
    assert made.source is Source.INFERRED
    assert made.confidence <= min(mem.get(one).confidence for one in ids)
    links = mem._vault.store.edges.of(mem.reader, [made.id])
    assert {(edge.target, edge.kind) for edge in links} == {(one, "inferred_from") for one in ids}
    assert [mem.get(one).status for one in ids] == [Status.ACTIVE] * 3


def test_a_fuller_summary_replaces_the_old_one(mem: Engram) -> None:
    remember_all(mem, *LIKES)
    run_summaries(mem)
    remember_all(mem, "I like chess.")
    run_summaries(mem)
    assert [one.text for one in stored_summaries(mem)] == ["The user likes jazz, Thai food, hiking and chess."]


@pytest.mark.parametrize("erase", [False, True])
def test_a_summary_is_retired_with_any_source_and_holds_nothing_erased(mem: Engram, erase: bool) -> None:
    ids = remember_all(mem, *LIKES)
    run_summaries(mem)
    mem.forget(ids[1], erase=erase)
    assert not stored_summaries(mem)
    run_summaries(mem)
    assert not stored_summaries(mem)


def test_two_facts_are_too_few_and_scopes_are_summarized_apart(mem: Engram) -> None:
    remember_all(mem, *LIKES[:2])
    lab = replace(mem.reader, scope=Scope(agent="rex", channel="lab"))
    mem._vault.store.memories.add(lab, [Memory(text=LIKES[2], scope=lab.scope, confidence=0.9)])
    run_summaries(mem)
    run(context_of(mem, lab), [GATHER], None, verb="dream")
    assert not stored_summaries(mem)


def test_a_second_run_changes_nothing_and_an_undo_removes_the_summary(mem: Engram) -> None:
    remember_all(mem, *LIKES)
    before = rows(mem._vault.store)
    done = run_summaries(mem)
    known = rows(mem._vault.store)
    assert not run_summaries(mem).ids
    assert rows(mem._vault.store) == known != before
    mem._vault.store.dreams.undo(mem.reader, done.pass_id)
    assert rows(mem._vault.store) == before


# ── the rules ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def sentences_of(*facts: tuple[str, str, str], subject: str = "atlas") -> list[str]:
    sourced = [SourcedFact(subject, predicate, thing, 0.9, f"M{number}") for number, (predicate, thing, _) in enumerate(facts)]
    return [one.text for one in summarize(sourced, {f"M{number}": text for number, (_, _, text) in enumerate(facts)})]


def test_a_summary_uses_the_words_of_its_sources() -> None:
    facts = [("depends on", name.lower(), f"Atlas depends on {name}") for name in ("Redis", "message queues", "Kafka")]
    assert sentences_of(*facts) == ["Atlas depends on Redis, message queues and Kafka."]


@pytest.mark.parametrize(
    "facts",
    [
        [("port", str(number), f"Its port is {number}") for number in range(3)],
        [("uses", "redis", "Atlas uses Redis"), ("uses", "kafka", "Atlas uses Kafka"), ("depends on", "x", "Atlas depends on X")],
        [("uses", f"tool {number}", "something else entirely") for number in range(3)],
        [("uses", f"tool {number} and more", f"Atlas uses tool {number} and more") for number in range(3)],
        [(f"feels about {what}", "like", f"I like {what}") for what in ("how it is", "the energy", "that")],
    ],
    ids=["one at a time", "of two sorts", "not in its words", "no short name", "clauses"],
)
def test_facts_that_do_not_form_a_sentence_are_not_summarized(facts: list[tuple[str, str, str]]) -> None:
    assert sentences_of(*facts) == []


def test_a_long_list_keeps_the_most_confident_facts() -> None:
    sourced = [SourcedFact("atlas", "uses", f"tool{number}", 0.5 + number / 100, f"M{number}") for number in range(9)]
    (made,) = summarize(sourced, {f"M{number}": f"Atlas uses Tool{number}" for number in range(9)})
    assert made.text == "Atlas uses Tool3, Tool4, Tool5, Tool6, Tool7 and Tool8."
    assert made.confidence == pytest.approx(0.53)


def test_replacing_a_summary_in_a_small_vault_does_not_fail_the_probes(mem: Engram) -> None:
    remember_all(mem, *LIKES)
    mem.dream()
    remember_all(mem, "I like chess.")
    report = mem.dream()
    assert report.ending is PassStatus.DONE
    assert [one.text for one in stored_summaries(mem)] == ["The user likes jazz, Thai food, hiking and chess."]


def test_a_summary_of_a_corrected_fact_never_comes_back(mem: Engram) -> None:
    ids = remember_all(mem, *LIKES)
    mem.dream()
    (first,) = stored_summaries(mem)
    remember_all(mem, "I like chess.")
    fuller = mem.dream()
    (second,) = stored_summaries(mem)
    mem.feedback(ids[0], False, correction="I hate jazz.")
    assert mem.get(second.id).status is Status.INVALIDATED
    with pytest.raises(Conflict):
        mem.restore(second.id)

    mem.undo_dream(fuller.pass_id)

    assert mem.get(first.id).status is Status.INVALIDATED
    assert not [one for one in stored_summaries(mem) if "jazz" in one.text]
    with pytest.raises(Conflict):
        mem.restore(first.id)


@pytest.mark.parametrize("limited", ["I only like chess.", "I like nobody.", "I like chess if it is quick."])
def test_limited_statements_are_not_summarized(mem: Engram, limited: str) -> None:
    remember_all(mem, "I like jazz.", "I like hiking.", limited)
    run_summaries(mem)
    assert not stored_summaries(mem)
