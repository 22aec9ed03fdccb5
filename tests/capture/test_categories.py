"""What sort of statement it is."""

from __future__ import annotations

import pytest

from engram.capture.categories import CATEGORIES, EXPLICIT, IMPLIED, INFERRED, SPECULATIVE, sort
from engram.types import Kind


@pytest.mark.parametrize(
    ("said", "category", "kind"),
    [
        ("I live in Oslo.", "fact", Kind.FACT),
        ("I prefer dark mode.", "preference", Kind.FACT),
        ("My favourite colour is blue.", "preference", Kind.FACT),
        ("I don't like mornings, never have.", "preference", Kind.FACT),
        ("Please always answer in metric units.", "principle", Kind.FACT),
        ("Actually, it's blue.", "correction", Kind.FACT),
        ("We decided to use Postgres.", "decision", Kind.FACT),
        ("My sister is a doctor.", "relationship", Kind.FACT),
        ("I'll send the report.", "commitment", Kind.FACT),
        ("It's important to test first.", "principle", Kind.FACT),
        ("I learned how to weld.", "skill", Kind.FACT),
        ("The cat is called Momo.", "entity", Kind.FACT),
        ("I'll never forget that day, it was so special!", "commitment", Kind.FACT),
        ("Our wedding was magical.", "moment", Kind.EPISODE),
        ("We deployed the new version.", "fact", Kind.EPISODE),
    ],
)
def test_statements_are_sorted(said: str, category: str, kind: Kind) -> None:
    found = sort(said)
    assert (found.category, found.kind) == (category, kind)
    assert found.category in CATEGORIES


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("I prefer tea today.", Kind.EPISODE),  # 1 a time word beats the category
        ("I prefer tea.", Kind.FACT),  # 2 the category beats what follows
        ("The server crashed. #decision", Kind.FACT),  # 3 tags, notes first
        ("The door is blue. #event", Kind.EPISODE),
        ("The server crashed.", Kind.EPISODE),  # 4 a past action
        ("The shop is usually full.", Kind.FACT),  # 5 note words
        ("Big waves in the harbour.", Kind.EPISODE),  # 6 nothing else
    ],
)
def test_the_six_steps_go_in_order(said: str, kind: Kind) -> None:
    assert sort(said).kind is kind


@pytest.mark.parametrize(
    "said",
    [
        "I am allergic to peanuts", "My phone number is 555 0134", "My birthday is 1990-05-04", "I was born on 4 May 1990.",
        "I'm John", "I'm vegan", "I'm retired.", "Our office is located in Oslo.", "Kafka is fast", "Eve plays chess",
        "I know Eve", "I own a kayak", "There's a spare key under the mat.", "I'm a nurse", "The user is allergic to nuts.",
    ],
)  # fmt: skip
def test_a_lasting_state_is_a_fact(said: str) -> None:
    assert sort(said).kind is Kind.FACT


@pytest.mark.parametrize(
    "said",
    [
        "I'm swimming in the lake", "I'm so tired", "She's really busy", "My daughter was born on 4 May, yesterday!",
        "I am allergic to peanuts, as I found out", "Kim quit last week", "The server crashed and is down",
    ],
)  # fmt: skip
def test_what_passes_or_happened_is_an_event(said: str) -> None:
    assert sort(said).kind is Kind.EPISODE


@pytest.mark.parametrize(
    ("said", "confidence"),
    [
        ("Remember that the key rotates.", EXPLICIT),
        ("I live in Oslo.", EXPLICIT),
        ("The shop is full.", IMPLIED),
        ("Maybe the shop is full.", SPECULATIVE),
        ("I think I live in Oslo.", SPECULATIVE),
    ],
)
def test_confidence_follows_the_wording(said: str, confidence: float) -> None:
    assert sort(said).confidence == confidence


def test_what_was_read_between_the_lines_is_inferred() -> None:
    assert sort("The shop is full.", inferred=True).confidence == INFERRED


def test_what_was_said_to_be_remembered_matters_most() -> None:
    assert (
        sort("Remember that the key rotates.").importance
        > sort("I prefer tea.").importance
        > sort("The shop is full.").importance
    )
