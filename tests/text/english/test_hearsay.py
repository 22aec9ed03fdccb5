"""Reports told from statements: whose words they are, and how strong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.english.facts import facts
from engram.text.english.hearsay import Report, report
from engram.types import Strength


@pytest.mark.parametrize(
    ("sentence", "words", "teller"),
    [
        ("Tom says that the office is in Porto.", "the office is in Porto.", "Tom"),
        ("my neighbour told me the bakery opens at 8", "the bakery opens at 8", "my neighbour"),
        ("I heard from Joan that Maya works at Globex.", "Maya works at Globex.", "Joan"),
        ("I was told that Piotr owns the billing service.", "Piotr owns the billing service.", ""),
        ("Apparently, the deadline is May 10.", "the deadline is May 10.", ""),
        ("According to Joan the flight leaves at 15:05.", "the flight leaves at 15:05.", "Joan"),
        ("Rumour has it that the budget is 25k.", "the budget is 25k.", ""),
        ("The office is in Porto, according to Tom.", "The office is in Porto", "Tom"),
        ("The bakery opens at 8, apparently.", "The bakery opens at 8", ""),
    ],
)
def test_a_report_is_told_from_its_frame(sentence: str, words: str, teller: str) -> None:
    assert report(sentence) == Report(words, teller, Strength.HEARSAY)


def test_a_guess_of_the_speaker_is_hypothetical() -> None:
    assert report("I guess the app is written in Java.") == Report("the app is written in Java.", "", Strength.HYPOTHETICAL)
    assert report("The app is in Java, I think.").strength is Strength.HYPOTHETICAL


@pytest.mark.parametrize(
    "sentence", ["The office is in Porto.", "I told Tom about it.", "I said so.", "We heard.", "My sister says hi."]
)
def test_a_statement_is_no_report_of_a_fact(sentence: str) -> None:
    assert facts(sentence) == () or facts(sentence)[0].strength is None


def test_the_fact_of_a_report_has_its_teller_and_its_strength() -> None:
    (fact,) = facts("Tom says that the office is in Porto.")
    assert (fact.subject, fact.predicate, fact.object) == ("office", "is in", "porto")
    assert (fact.strength, fact.teller) == (Strength.HEARSAY, "tom")


@given(st.text(max_size=200))
def test_any_sentence_can_be_read(sentence: str) -> None:
    assert report(sentence).words in sentence
