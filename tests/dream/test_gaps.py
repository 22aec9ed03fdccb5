"""The job that records questions about fields that an entity lacks and its peers have (K6)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dream.vaults import context_of, rows

from engram.dream.gaps import GAPS
from engram.dream.runner import run
from engram.engine import Engram
from engram.rules.gaps import missing_fields, question_for, question_in
from engram.types import Scope
from engram.values.dreams import PassReport

SERVICES = ("Atlas", "Borealis", "Corvus")


def run_gaps(mem: Engram) -> PassReport:
    return run(context_of(mem), [GAPS], None, verb="dream")


def store_services(mem: Engram) -> None:
    """Store three services with a known owner and port, and one without an owner."""
    for number, name in enumerate(SERVICES):
        mem.learn(name, "port", str(8000 + number))
        mem.learn(name, "owner", f"Team {number}")
    mem.learn("Draco", "port", "9000")


def open_gaps(mem: Engram) -> list[str]:
    return [gap.text for gap in mem._vault.store.gaps.select(mem.reader, limit=10)]


def test_a_missing_field_is_asked_for_once_until_it_is_known(mem: Engram) -> None:
    store_services(mem)
    assert run_gaps(mem).counts["gaps.asked"] == 1
    assert open_gaps(mem) == ["Who owns Draco?"]
    before = rows(mem._vault.store)
    assert not run_gaps(mem).ids
    assert rows(mem._vault.store) == before
    mem.learn("Draco", "owner", "Team 9")
    mem._vault.store.gaps.put(mem.reader, "Who owns Draco?", answered=True)
    assert not run_gaps(mem).ids
    assert not open_gaps(mem)


def test_a_recorded_gap_is_offered_like_any_open_question(mem: Engram) -> None:
    store_services(mem)
    run_gaps(mem)
    assert "Ask, if it fits" not in mem.context("Let us go on with the deployment plan.", model="gpt-4").text
    window = mem.context("Let us deploy Draco today.", model="gpt-4")
    assert "Ask, if it fits: Who owns Draco?" in window.text


def test_two_peers_are_too_few_and_peers_of_another_scope_do_not_count(mem: Engram) -> None:
    for name in SERVICES[:2]:
        mem.learn(name, "port", "1")
        mem.learn(name, "owner", "Ana")
    mem.learn("Draco", "port", "9000")
    assert not run_gaps(mem).ids
    lab = replace(mem.reader, scope=Scope(agent="rex", channel="lab"))
    mem._vault.store.memories.add(lab, [replace(mem.list()[0], id="", key=0, scope=lab.scope, text="Corvus is owned by Kim.")])
    assert not run_gaps(mem).ids


@pytest.mark.parametrize(
    ("own", "peers", "lacks"),
    [
        ({"port"}, [{"port", "owner"}] * 3, ["owner"]),
        ({"port"}, [{"port", "owner"}] * 2, []),
        ({"port"}, [{"port", "owner"}] * 3 + [{"port"}] * 2, []),
        ({"port", "owner"}, [{"port", "owner"}] * 9, []),
    ],
)
def test_a_field_is_missing_only_if_most_peers_have_it(own: set[str], peers: list[set[str]], lacks: list[str]) -> None:
    assert missing_fields(own, peers) == lacks


@pytest.mark.parametrize(
    ("field", "name", "question"),
    [
        ("owner", "the billing service", "Who owns the billing service?"),
        ("birthday", "Ana", "What is the birthday of Ana?"),
        ("birthday", "the user", "What is the user's birthday?"),
        ("lives in", "Ana", "Where does Ana live?"),
        ("feels about tea", "Ana", ""),
        ("number of cats", "Ana", ""),
        ("is a", "Ana", ""),
    ],
)
def test_a_missing_field_is_asked_for_in_a_whole_sentence_or_not_at_all(field: str, name: str, question: str) -> None:
    assert question_for(field, name) == question
    assert not question or question_in(question)


def test_a_sensitive_fact_is_not_missing(mem: Engram) -> None:
    store_services(mem)
    told = mem.learn("Draco", "owner", "Kim")
    mem.update(told.id, tier="confidential")
    run_gaps(mem)
    assert not open_gaps(mem)
