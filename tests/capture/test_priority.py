"""How much a turn promises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.capture.priority import Level, scan


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Remember that the staging key rotates on Mondays.", "remember"),
        ("Actually, no, the meeting is at five.", "correction"),
        ("I meant Tuesday.", "correction"),
        ("I really prefer tabs over spaces.", "preference"),
        ("I don’t eat meat, my favourite food is soup.", "preference"),
        ("We decided to move to Postgres.", "decision"),
        ("I'll send you the report by Friday.", "commitment"),
        ("My name is Ann.", "identity"),
    ],
)
def test_what_must_not_be_lost_is_high(text: str, reason: str) -> None:
    signal = scan(text)
    assert signal.level is Level.HIGH
    assert reason in signal.reasons


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("I moved to Oslo.", "first-person"),
        ("The invoice is 1,250 euros.", "number"),
        ("It happened last week.", "date"),
        ("The bug is in parse_args of cli.py.", "identifier"),
        ("The contact is called Marta.", "name"),
    ],
)
def test_facts_names_and_numbers_are_medium(text: str, reason: str) -> None:
    signal = scan(text)
    assert signal.level is Level.MEDIUM
    assert reason in signal.reasons


@pytest.mark.parametrize(
    "text", ["Hi!", "Thanks a lot!", "Wow, that's great!", "How are you?", "ok", "👍", "", "Bye! Talk soon."]
)
def test_small_talk_is_nothing(text: str) -> None:
    assert scan(text).level is Level.NONE


def test_other_statements_are_low() -> None:
    assert scan("The river flows south.").level is Level.LOW


def test_an_assistant_is_never_urgent() -> None:
    assert scan("I prefer to say: remember that.", "assistant").level is Level.LOW


@given(st.text(max_size=200), st.sampled_from(["user", "assistant", "Ann"]))
def test_every_turn_has_a_signal_with_a_reason(text: str, speaker: str) -> None:
    assert scan(text, speaker).reasons
