"""What a statement says, as subject, predicate, object."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.rules.contradiction import Epistemic, FactClaim, Ruling, disagree, epistemic_status, ruling
from engram.text.english.facts import Fact, facts
from engram.text.english.object_types import clash, is_value, same

PAIRS = list(csv.DictReader((Path(__file__).parents[2] / "labelled" / "updates.csv").read_text(encoding="utf-8").splitlines()))
NOW = datetime(2024, 5, 15, tzinfo=UTC)


def kept(words: str) -> str:
    """Return the words as a memory shows them."""
    return f"The user: {words}"


def test_updates_are_told_from_what_only_looks_like_one() -> None:
    assert len(PAIRS) >= 500
    missed, eager = [], []
    for row in PAIRS:
        old, new = facts(kept(row["old"])), facts(kept(row["new"]))
        told = any(disagree(later, earlier) for later in new for earlier in old)
        if row["update"] == "1" and not told:
            missed.append(row)
        if row["update"] == "0" and told:
            eager.append(row)
    updates = sum(row["update"] == "1" for row in PAIRS)
    assert len(missed) / updates <= 0.1, missed
    assert len(eager) / (len(PAIRS) - updates) <= 0.02, eager


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("The user moved to Berlin last week.", Fact("user", "lives in", "berlin")),
        ("Ana works at Acme as a data engineer.", Fact("ana", "works at", "acme")),
        ("The user: The API runs on port 8080.", Fact("api", "port", "8080")),
        ("The user: I no longer use Vim.", Fact("user", "uses", "vim", single=False, holds=False)),
        ("The user's favorite color is green now.", Fact("user", "favorite color", "green")),
        ("The user has two kids.", Fact("user", "number of children", "2")),
        ("My new number is 0151 998-7766, the old one is dead.", Fact("user", "phone number", "01519987766")),
        ("My email address is now ann@mail.example.org.", Fact("user", "email", "ann@mail.example.org")),
        ("The API's version is 3.11.", Fact("api", "version", "3.11")),
        ("The user relocated to Graz two weeks ago.", Fact("user", "lives in", "graz")),
        ("The user: We moved from Porto to Graz.", Fact("user", "lives in", "graz")),
        ("The user doesn't work at Acme anymore.", Fact("user", "works at", "acme", holds=False)),
        ("Paulo is the user's new manager.", Fact("user", "manager", "paulo")),
        ("Ines is no longer the user's manager.", Fact("user", "manager", "ines", holds=False)),
        ("The user is not vegetarian anymore.", Fact("user", "diet", "vegetarian", holds=False)),
        ("The user: We migrated our database to MySQL.", Fact("user", "database", "mysql")),
        ("The user: The API was moved to Hetzner.", Fact("api", "runs on", "hetzner")),
        ("The user: The deadline was moved to Monday.", Fact("deadline", "scheduled", "monday")),
        ("The user is a vegetarian.", Fact("user", "diet", "vegetarian")),
        ("Prof. Moss works at Acme.", Fact("prof. moss", "works at", "acme")),
        ("Óscar Núñez joined 阿里巴巴.", Fact("óscar núñez", "works at", "阿里巴巴")),
    ],
)
def test_facts(text: str, fact: Fact) -> None:
    assert fact in facts(text, "Ana" if text.startswith("Ana") else "user")


@pytest.mark.parametrize(
    "text", ["I might move to Paris.", "I used to live in Rome.", "Do you live in Rome?", "We lived in Kiel"]
)
def test_what_is_unsure_past_or_asked_is_no_fact(text: str) -> None:
    assert facts(text) == ()


def test_a_fuller_wording_says_the_same() -> None:
    assert same("berlin", "berlin germany")
    assert not same("berlin", "bern")


@pytest.mark.parametrize(
    ("attribute", "value", "no_value"),
    [
        ("wife", "Kim", "a doctor"),
        ("boss", "Anna", "Anna's brother"),
        ("dentist", "Dr. Lang", "German"),
        ("phone", "a Pixel", "at 5 percent"),
        ("database", "postgres", "slow"),
        ("rent", "900 euros", "100 euros over"),
        ("deadline", "Friday", "in 3 days"),
        ("favorite food", "ramen", "spicy"),
    ],
)
def test_a_value_is_told_from_how_something_is(attribute: str, value: str, no_value: str) -> None:
    assert is_value(attribute, value)
    assert not is_value(attribute, no_value)


@pytest.mark.parametrize(
    ("predicate", "one", "other", "both_cannot_be"),
    [
        ("lives in", "munich", "rome", True),
        ("lives in", "munich", "germany", False),
        ("rent", "900 euros", "1000 euros", True),
        ("rent", "900 euros", "30 percent", False),
        ("deadline", "friday", "monday", True),
        ("deadline", "friday", "10 may", False),
        ("scheduled", "9 am", "tuesday", False),
        ("scheduled", "monday 9 am", "tuesday", True),
        ("runs on", "heroku", "fly", True),
        ("runs on", "heroku", "docker", False),
    ],
)
def test_only_values_of_one_sort_shut_each_other_out(predicate: str, one: str, other: str, both_cannot_be: bool) -> None:
    assert clash(predicate, one, other) is both_cannot_be
    assert clash(predicate, other, one) is both_cannot_be


@pytest.mark.parametrize(
    "text", ["I don't use vim on Windows.", "I no longer use vim at work.", "I stopped using vim for notes.", "I left Acme at 5."]
)
def test_what_is_denied_within_bounds_ends_nothing(text: str) -> None:
    assert [fact for fact in facts(text) if not fact.holds] == []


@pytest.mark.parametrize(
    "text", ["I don't use vim anymore.", "I no longer use vim.", "I stopped using vim last week.", "I left Acme in May."]
)
def test_what_is_denied_in_general_ends_it(text: str) -> None:
    assert [fact.object for fact in facts(text) if not fact.holds] in (["vim"], ["acme"])


def test_the_newer_wins_unless_it_is_much_less_sure() -> None:
    old = FactClaim(Fact("ana", "lives in", "rome"), 0.8, NOW)
    later = NOW + timedelta(days=1)
    assert ruling(FactClaim(Fact("ana", "lives in", "oslo"), 0.6, later), old) is Ruling.OUTDATED
    assert ruling(FactClaim(Fact("ana", "lives in", "oslo"), 0.4, later), old) is Ruling.CONTESTED
    assert ruling(FactClaim(Fact("ana", "lives in", "oslo"), 0.9, NOW - timedelta(days=1)), old) is Ruling.PAST
    assert ruling(FactClaim(Fact("eva", "lives in", "oslo"), 0.9, later), old) is Ruling.STANDS


def test_how_a_fact_is_held() -> None:
    assert epistemic_status(0.8, []) is Epistemic.HELD
    assert epistemic_status(0.8, [0.7]) is Epistemic.CONTESTED
    assert epistemic_status(0.4, [0.9]) is Epistemic.CONTESTED
    assert epistemic_status(0.9, [0.4]) is Epistemic.HELD


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    assert all(fact.subject and fact.object for fact in facts(text))
