"""What a statement says, as subject, predicate, object."""

from __future__ import annotations

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.beliefs import Claim, Epistemic, Ruling, disagree, ruling, status
from engram.text.facts import Fact, facts, same
from engram.text.person import third_person

PAIRS = list(csv.DictReader((Path(__file__).parent.parent / "labelled" / "updates.csv").read_text(encoding="utf-8").splitlines()))
NOW = datetime(2024, 5, 15, tzinfo=UTC)


def kept(words: str) -> str:
    return third_person(words, "the user") or f"The user: {words}"


def test_updates_are_told_from_what_only_looks_like_one() -> None:
    assert len(PAIRS) >= 120
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


def test_the_newer_wins_unless_it_is_much_less_sure() -> None:
    old = Claim(Fact("ana", "lives in", "rome"), 0.8, NOW)
    later = NOW + timedelta(days=1)
    assert ruling(Claim(Fact("ana", "lives in", "oslo"), 0.6, later), old) is Ruling.OUTDATED
    assert ruling(Claim(Fact("ana", "lives in", "oslo"), 0.4, later), old) is Ruling.CONTESTED
    assert ruling(Claim(Fact("ana", "lives in", "oslo"), 0.9, NOW - timedelta(days=1)), old) is Ruling.STANDS
    assert ruling(Claim(Fact("eva", "lives in", "oslo"), 0.9, later), old) is Ruling.STANDS


def test_how_a_fact_is_held() -> None:
    assert status(0.8, []) is Epistemic.HELD
    assert status(0.8, [0.7]) is Epistemic.CONTESTED
    assert status(0.4, [0.9]) is Epistemic.RETRACTED


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    assert all(fact.subject and fact.object for fact in facts(text))
