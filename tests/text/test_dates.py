"""The door to times: places in the text, roles, time zones, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.dates import began, find, read, relative_end, resolve
from engram.text.dates.lexicon import TABLES

SAID = datetime(2026, 2, 18, 10, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "language", "words", "role"),
    [
        ("Abgabe bis Freitag", "de", "bis Freitag", "until"),
        ("the slides are due by Friday", "en", "by Friday", "by"),
        ("seit Montag krank", "de", "seit Montag", "since"),
        ("absents du 3 au 9 mai", "fr", "du 3 au 9 mai", "range"),
        ("jeden Montag Chor", "de", "jeden Montag", "every"),
        ("我下周一去上海", "zh", "下周一", "on"),
        ("de\u0301but mars", "fr", "de\u0301but mars", "on"),
    ],
)
def test_a_time_has_its_place_in_the_text_and_its_role(text: str, language: str, words: str, role: str) -> None:
    span = find(text, SAID, language=language)[0]
    assert (text[span.start : span.end], span.role) == (words, role)


def test_the_language_is_recognised_if_it_is_not_given() -> None:
    assert resolve("Ich war gestern beim Zahnarzt", SAID) == resolve("I was at the dentist yesterday", SAID)


def test_a_language_without_a_table_is_read_for_dates_that_begin_with_the_year() -> None:
    assert resolve("termin 2026-05-03 o 11", SAID, language="pl") == (
        datetime(2026, 5, 3, tzinfo=UTC),
        datetime(2026, 5, 4, tzinfo=UTC),
    )
    assert resolve("w zeszły piątek", SAID, language="pl") is None


def test_the_time_zone_is_that_of_the_moment() -> None:
    east = timezone(timedelta(hours=9))
    found = resolve("昨日病院に行った", datetime(2026, 2, 18, 1, tzinfo=east), language="ja")
    assert found is not None
    assert found[0] == datetime(2026, 2, 17, tzinfo=east)


def test_a_question_in_another_language_names_its_time() -> None:
    found = read("Was habe ich letzte Woche gekauft?", SAID)
    assert found is not None
    assert found[:2] == (datetime(2026, 2, 9, tzinfo=UTC), datetime(2026, 2, 16, tzinfo=UTC))


def test_since_when_something_goes_on_in_another_language() -> None:
    assert began("ich wohne seit zwei Jahren hier", SAID, language="de") == datetime(2024, 2, 18, tzinfo=UTC)
    assert began("er kommt am Montag", SAID, language="de") is None


def test_the_end_of_relative_words_is_a_place_in_the_text() -> None:
    assert relative_end("hier on a mangé", SAID, language="fr") == len("hier")
    assert relative_end("le 3 mai on mange", SAID, language="fr") is None


@given(st.text(max_size=60), st.sampled_from(sorted(TABLES)), st.sampled_from(["past", "now", "future", "none"]), st.datetimes())
def test_any_text_at_any_moment_gives_a_range_or_none(text: str, language: str, tense: str, at: datetime) -> None:
    found = resolve(text, at, language=language, tense=tense)
    assert found is None or found[0] < found[1]


WORDS = {
    "en": "last next 3 May Friday weeks ago in from to until every end of 2026 two the 31st month",
    "de": "nächsten letzte 3. Mai Freitag Wochen vor in vom bis jeden Ende 2026 zwei Monat am 31.",
    "zh": "下 上 周 3 月 日 号 五 到 从 前 后 每 年 2026 底 第 一 个",
}


@given(st.data(), st.sampled_from(sorted(WORDS)), st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))
def test_any_order_of_words_for_times_is_no_error(data: st.DataObject, language: str, at: datetime) -> None:
    words = data.draw(st.lists(st.sampled_from(WORDS[language].split()), max_size=10))
    text = ("" if language == "zh" else " ").join(words)
    for span in find(text, at, language=language):
        assert 0 <= span.start < span.end <= len(text)
