"""Slots of plain statements whose value is of a known type."""

from __future__ import annotations

import pytest

from engram.rules.contradiction import disagree
from engram.text.english.facts import facts
from engram.types import Fact


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("the budget for the offsite is 8k", Fact("budget for the offsite", "is", "8k")),
        ("our timeout to the payment provider is 5s", Fact("user's timeout to the payment provider", "is", "5s")),
        ("The password reset link lasts 24 hours.", Fact("password reset link", "lasts", "24 hours")),
        ("The staging box has 64 GB of RAM.", Fact("staging box", "has ram", "64 gb")),
        ("The bakery opens at 7:30 now.", Fact("bakery", "opens", "7:30")),
        ("The office is in Lisbon.", Fact("office", "is in", "lisbon")),
        ("The API is written in Rust.", Fact("api", "written in", "rust")),
        ("Our CI runs on Buildkite.", Fact("user's ci", "runs on", "buildkite")),
        ("The president is Hanna Weiss.", Fact("president", "name", "hanna weiss")),
    ],
)
def test_the_slot_of_a_plain_statement(text: str, fact: Fact) -> None:
    assert facts(text) == (fact,)


@pytest.mark.parametrize(
    "text",
    [
        "The office is 5 minutes from the station.",
        "The office is in trouble.",
        "The office was in Lisbon.",
        "The office might be in Lisbon.",
        "Is the office in Lisbon?",
        "The talk is in German.",
        "The cat is Lovely.",
        "my phone is at 5 percent",
    ],
)
def test_what_has_no_typed_value_has_no_slot(text: str) -> None:
    assert facts(text) == ()


@pytest.mark.parametrize(
    ("one", "other", "cannot_both_be"),
    [
        ("The office is in Lisbon.", "The office is in Porto.", True),
        ("The office is in Lisbon.", "The office is in Portugal.", False),
        ("The office is in Lisbon.", "The warehouse is in Porto.", False),
        ("the link lasts 24 hours", "the link lasts 2 hours", True),
        ("our loan is €250,000", "our loan is 250k euros", False),
        ("the hike starts at noon", "the hike starts at 12 pm", False),
        ("the hike starts at 9", "the hike starts at 9 am", False),
        ("the hike starts at 9 am", "the hike starts at 9 pm", True),
        ("the bar exam is on 03 June", "the bar exam is on june 3rd", False),
        ("the site is written in Ruby", "the site is written in Postgres", False),
        ("the site is written in Ruby", "the site is written in Elixir", True),
        ("the shop opens at 9", "the shop closes at 6", False),
    ],
)
def test_two_values_of_a_slot_exclude_each_other_by_their_types(one: str, other: str, cannot_both_be: bool) -> None:
    pairs = [(new, old) for new in facts(other) for old in facts(one)]
    assert pairs
    assert any(disagree(new, old) for new, old in pairs) is cannot_both_be
