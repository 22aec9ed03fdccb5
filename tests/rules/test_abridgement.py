"""Shorter forms of a memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.rules.abridgement import KEY_FACT_WORDS, SUMMARY_BYTES, TAG_WORDS, tiers
from engram.text.tokens import count

LONG = "Ann moved from Oslo to Lisbon in March 2021, because her company opened an office there, and she has stayed ever since. "


def test_a_short_text_is_its_own_summary() -> None:
    assert tiers("Ann owns a boat.") == ("Ann owns a boat.", "Ann owns a boat.", "Ann owns boat")


def test_a_long_text_keeps_whole_sentences() -> None:
    summary, _, _ = tiers(LONG * 10)
    assert len(summary.encode()) <= SUMMARY_BYTES
    assert summary.endswith("ever since.")


def test_the_key_fact_ends_at_a_clause() -> None:
    assert tiers(LONG)[1] == "Ann moved from Oslo to Lisbon in March 2021"


def test_the_tag_holds_names_and_numbers_in_order() -> None:
    assert tiers(LONG)[2] == "Ann Oslo Lisbon March 2021"


def test_the_key_fact_omits_the_question_it_answers() -> None:
    assert tiers('Ann painted a lake last year. (asked: "Is this yours?")')[1] == "Ann painted a lake last year."


def test_a_caption_alone_is_kept() -> None:
    assert "lighthouse" in tiers("Ann: [shares an image: a lighthouse at night]")[1]


@pytest.mark.parametrize("text", ["我" * 900, "слово " * 400, "x" * 2_000, "مرحبا بالعالم " * 90])
def test_other_scripts_and_endless_words_fit_too(text: str) -> None:
    summary, key_fact, tag = tiers(text)
    assert len(summary.encode()) <= SUMMARY_BYTES
    assert summary
    assert key_fact
    assert tag


@given(st.text(max_size=1_200))
def test_no_tier_is_longer_than_the_one_above(text: str) -> None:
    summary, key_fact, tag = tiers(text)
    assert len(summary.encode("utf-8", "surrogatepass")) <= SUMMARY_BYTES
    assert len(tag) <= len(key_fact) <= len(summary) <= max(len(text), 1)
    assert len(tag.split()) <= max(TAG_WORDS, 1)
    assert len(key_fact.split()) <= KEY_FACT_WORDS


def test_the_summary_of_an_answer_omits_its_question() -> None:
    assert tiers('Carla has got two red bicycles. (asked: "What do you have?")')[0] == "Carla has got two red bicycles."
    assert tiers('Carla: two (asked: "How many?")')[0] == 'Carla: two (asked: "How many?")'


def test_the_summary_of_a_long_text_is_shorter_and_has_its_names_and_numbers() -> None:
    text = (
        "The assistant: That is a lovely idea for a weekend away with the whole family. Here is what I would do:\n"
        "1. **Train**: Take the 8:15 from Porto to Braga, which costs 3.40 euros.\n"
        "It is a nice ride. Have fun and enjoy the time that you spend together! [Weekend]"
    )
    summary = tiers(text)[0]
    assert "Take the 8:15 from Porto to Braga, which costs 3.40 euros." in summary
    assert summary.startswith("The assistant: ")
    assert "Here is what" not in summary
    assert count(summary) <= 0.6 * count(text)


def test_one_long_sentence_is_cut_with_a_mark() -> None:
    text = (
        "Ann moved from Oslo to Lisbon in March 2021, because her company opened an office there that needed somebody, and she"
        " has stayed ever since although the summers are hot"
    )
    assert tiers(text)[0] == "Ann moved from Oslo to Lisbon in March 2021…"
