"""The decision on two statements: the later one says the same, replaces the earlier one, challenges it, or neither."""

from __future__ import annotations

import pytest

from engram.models.pair_reader import PairJudgement
from engram.rules.pairs import (
    PairWeights,
    Relation,
    change_places,
    concern_others,
    least_cosine,
    may_be_outdated,
    promise,
    relation,
    replaced,
    same_figures,
    shown,
)
from engram.types import Memory, Replacement

WEIGHTS = PairWeights(same=0.8, replaces=0.7, challenges=0.4)


@pytest.mark.parametrize(
    ("same", "replaces", "expected"),
    [
        (0.9, 0.05, Relation.SAME),
        (0.1, 0.8, Relation.REPLACES),
        (0.1, 0.5, Relation.CHALLENGES),
        (0.3, 0.3, Relation.NEITHER),
        (0.0, 0.0, Relation.NEITHER),
    ],
)
def test_a_pair_has_one_relation(same: float, replaces: float, expected: Relation) -> None:
    assert relation(PairJudgement(same, replaces), "I live in Rome", "home is Rome these days", WEIGHTS) is expected


def test_statements_with_different_numbers_are_never_the_same() -> None:
    sure = PairJudgement(0.99, 0.0)
    assert relation(sure, "rent is 900", "the rent is 950", WEIGHTS) is Relation.NEITHER
    assert relation(sure, "rent is 900", "the rent is 900", WEIGHTS) is Relation.SAME


def test_statements_that_differ_in_a_telling_word_are_never_the_same() -> None:
    sure = PairJudgement(0.99, 0.0)
    assert relation(sure, "Milk is sold on Mondays", "Milk is bought on Mondays", WEIGHTS) is Relation.NEITHER
    assert relation(sure, "Milk is sold on Mondays", "Milk is really sold on Mondays", WEIGHTS) is Relation.SAME


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("at 5", "at 5", True), ("at 5", "at 6", False), ("two dogs", "2 dogs", True), ("I use C", "I use C#", False)],
)
def test_figures_differ_where_both_have_some(one: str, other: str, expected: bool) -> None:
    assert same_figures(one, other) is expected


def test_a_pinned_memory_is_challenged_at_most() -> None:
    new = Memory(text="the office moved out of town last week", id="n")
    old, pinned = Memory(text="our office is in Porto", id="o"), Memory(text="office in Porto, always", id="p", pinned=True)
    sure = [(one, Replacement(one.id, True, "because")) for one in (old, pinned)]
    decided = replaced(new, sure, WEIGHTS)
    assert decided.superseded == (("o", "because"),)
    assert decided.challenged == (("p", "because"),)
    assert {(edge.source, edge.target, edge.kind) for edge in decided.edges} == {
        ("n", "o", "supersedes"),
        ("n", "p", "contradicts"),
    }


def test_a_statement_that_differs_in_a_word_is_challenged_rather_than_superseded() -> None:
    new = Memory(text="the swelling is in my right ankle", id="n")
    old = Memory(text="the swelling is in my left ankle", id="o")
    decided = replaced(new, [(old, Replacement("o", True, "because"))], WEIGHTS)
    assert (decided.superseded, decided.challenged) == ((), (("o", "because"),))
    assert decided.edges[0].kind == "outdates"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("I owe Marek 80", "Marek owes me 80", True),
        ("We moved from Mongo to Postgres", "We moved from Postgres to Mongo", True),
        ("On Mondays I swim", "I swim on Mondays", False),
        ("Ana is my sister", "my sister is Ana", False),
        ("Kwame takes nights", "nights are Kwame's", False),
    ],
)
def test_people_and_things_that_change_places_are_told(one: str, other: str, expected: bool) -> None:
    assert change_places(one, other) is expected


def test_the_gate_follows_the_background_of_the_encoder() -> None:
    assert least_cosine(PairWeights(least_likeness=0.5), 0.0) == 0.5
    assert least_cosine(PairWeights(least_likeness=0.5), 0.6) == pytest.approx(0.8)


def test_the_model_reads_the_words_with_what_they_carry_behind_the_name_of_another_speaker() -> None:
    text = "Ana: She works nights [my sister]"
    memory = Memory(text=text, speaker="Ana", words_at=(5, 21))
    assert shown(memory) == text
    assert shown(Memory(text="The user: I work nights", speaker="user", words_at=(10, 23))) == "I work nights"


@pytest.mark.parametrize(
    ("earlier", "later", "expected"),
    [
        ("My mom's birthday is on May 3", "My dad's birthday is on May 13", True),
        ("My mom's birthday is on May 3", "My mother's birthday is on May 4", False),
        ("My left knee hurts", "My right knee is fine", True),
        ("I teach on Mondays", "I don't teach on Fridays", True),
        ("I teach on Mondays", "I teach on Fridays now", False),
        ("I work at Acme", "Melanie Hart works at Initech", True),
        ("I live with Ana", "Ana moved out", False),
    ],
)
def test_statements_about_two_people_sides_or_times_are_told(earlier: str, later: str, expected: bool) -> None:
    assert concern_others(earlier, later) is expected
    judged = PairJudgement(same=0.0, replaces=0.99)
    assert (relation(judged, earlier, later, WEIGHTS) is Relation.NEITHER) is expected


def test_pairs_that_share_words_figures_and_a_plan_promise_most() -> None:
    later = Memory(text="The PCI audit is on April 21 now")
    plan = Memory(text="The PCI audit is on April 14", category="commitment")
    event = Memory(text="The PCI audit went well in April 2024", category="moment")
    other = Memory(text="Lisa paints the garden fence", category="fact")
    odds = [promise(earlier, later) for earlier in (plan, event, other)]
    assert odds == sorted(odds, reverse=True)
    assert odds[0] > 0.5 > odds[2]
    assert promise(other, later, of_slot=True) > promise(other, later)


@pytest.mark.parametrize("category", ["moment", "event"])
def test_an_event_is_not_outdated_but_by_a_correction(category: str) -> None:
    event = Memory(text="We moved the API to Fly.io on Tuesday", category=category)
    assert not may_be_outdated(event, Memory(text="The platform team owns the API now"))
    assert may_be_outdated(event, Memory(text="No, it was on Wednesday", category="correction"))
