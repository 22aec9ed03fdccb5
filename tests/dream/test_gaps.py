"""What is missing of a thing that its like have is asked for (K6)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from dream.vaults import desk_of, rows

from engram.dream.gaps import GAPS
from engram.dream.runner import run
from engram.engine import Engram
from engram.rules.gaps import asking_for, missing, question_in
from engram.types import Scope
from engram.values.dreams import PassReport

SERVICES = ("Atlas", "Borealis", "Corvus")


def rest(mem: Engram) -> PassReport:
    return run(desk_of(mem), [GAPS], None, verb="dream")


def known(mem: Engram) -> None:
    """Three services of which owner and port are known, and one without an owner."""
    for number, name in enumerate(SERVICES):
        mem.learn(name, "port", str(8000 + number))
        mem.learn(name, "owner", f"Team {number}")
    mem.learn("Draco", "port", "9000")


def asked(mem: Engram) -> list[str]:
    return [gap.text for gap in mem._vault.store.gaps(mem.reader, limit=10)]


def test_what_its_like_have_is_asked_for_once_and_gone_when_it_is_told(mem: Engram) -> None:
    known(mem)
    assert rest(mem).counts["gaps.asked"] == 1
    assert asked(mem) == ["Who owns Draco?"]
    before = rows(mem._vault.store)
    assert not rest(mem).ids
    assert rows(mem._vault.store) == before
    mem.learn("Draco", "owner", "Team 9")
    mem._vault.store.wondered(mem.reader, "Who owns Draco?", answered=True)
    assert not rest(mem).ids
    assert not asked(mem)


def test_it_is_offered_as_any_open_question_is(mem: Engram) -> None:
    known(mem)
    rest(mem)
    window = mem.context("Let us go on with the deployment plan.", model="gpt-4")
    assert "Ask, if it fits: Who owns Draco?" in window.text


def test_two_are_no_kind_and_another_scope_has_no_like_here(mem: Engram) -> None:
    for name in SERVICES[:2]:
        mem.learn(name, "port", "1")
        mem.learn(name, "owner", "Ana")
    mem.learn("Draco", "port", "9000")
    assert not rest(mem).ids
    lab = replace(mem.reader, scope=Scope(agent="rex", channel="lab"))
    mem._vault.store.add(lab, [replace(mem.list()[0], id="", key=0, scope=lab.scope, text="Corvus is owned by Kim.")])
    assert not rest(mem).ids


@pytest.mark.parametrize(
    ("own", "peers", "lacks"),
    [
        ({"port"}, [{"port", "owner"}] * 3, ["owner"]),
        ({"port"}, [{"port", "owner"}] * 2, []),
        ({"port"}, [{"port", "owner"}] * 3 + [{"port"}] * 2, []),
        ({"port", "owner"}, [{"port", "owner"}] * 9, []),
    ],
)
def test_only_what_most_of_several_have_is_missing(own: set[str], peers: list[set[str]], lacks: list[str]) -> None:
    assert missing(own, peers) == lacks


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
def test_it_is_asked_for_in_whole_sentences_or_not_at_all(field: str, name: str, question: str) -> None:
    assert asking_for(field, name) == question
    assert not question or question_in(question)


def test_what_was_told_closely_or_in_the_past_is_not_missing(mem: Engram) -> None:
    known(mem)
    told = mem.learn("Draco", "owner", "Kim")
    mem.update(told.id, tier="confidential")
    rest(mem)
    assert not asked(mem)
