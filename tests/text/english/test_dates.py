"""What time expressions mean, to the point."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.english.dates import read
from engram.text.english.dates.frame import FUTURE, PAST
from engram.text.english.numerals import digits

NOW = datetime(2024, 5, 15, 14, 30)  # a Wednesday


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("text", "past", "future"),
    [
        ("We signed it on 3 March", "2024-03-03", "2025-03-03"),
        ("It broke on Monday", "2024-05-13", "2024-05-20"),
        ("see you the 9th", "2024-05-09", "2024-06-09"),
        ("released 2021-08-30", "2021-08-30", "2021-08-30"),
        ("the twenty-first of June nineteen eighty four", "1984-06-21", "1984-06-21"),
        ("the last Friday of next month", "2024-06-28", "2024-06-28"),
        ("three weeks ago", "2024-04-24", "2024-04-24"),
        ("1 year and 2 months ago", "2023-03-15", "2023-03-15"),
        ("two days before yesterday", "2024-05-12", "2024-05-12"),
        ("at noon on 12/24/2023", "2023-12-24T12:00", "2023-12-24T12:00"),
        ("tomorrow evening at 7", "2024-05-16T19:00", "2024-05-16T19:00"),
        ("half past nine on Tuesday", "2024-05-14T09:30", "2024-05-21T09:30"),
        ("in 3 hours", "2024-05-15T17:30", "2024-05-15T17:30"),
        ("Feb 29", "2024-02-29", "2028-02-29"),
    ],
)
def test_a_point_in_time(text: str, past: str, future: str) -> None:
    for lean, meant in ((PAST, past), (FUTURE, future)):
        found = read(text, NOW, lean)
        assert found is not None
        assert found[0] == moment(meant)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("from 4 to 9 June 2023", "2023-06-04", "2023-06-09"),
        ("between January 2nd and March 4th, 2022", "2022-01-02", "2022-03-04"),
        ("early last week", "2024-05-06", "2024-05-09"),
        ("the third quarter of 2021", "2021-07-01", "2021-10-01"),
        ("in the nineteen eighties", "1980-01-01", "1990-01-01"),
        ("the past two weeks", "2024-05-01", "2024-05-15"),
        ("rest of the month", "2024-05-15", "2024-05-31"),
        ("in the summer of 2022", "2022-06-01", "2022-09-01"),
        ("last winter", "2023-12-01", "2024-03-01"),
        ("week 3 was quiet", "2024-01-15", "2024-01-22"),
        ("this Friday between 1 and 4 pm", "2024-05-17T13:00", "2024-05-17T16:00"),
        ("yesterday morning", "2024-05-14T08:00", "2024-05-14T12:00"),
        ("the weekend after next", "2024-06-01", "2024-06-03"),
        ("within 2 hours", "2024-05-15T14:30", "2024-05-15T16:30"),
    ],
)
def test_a_stretch_of_time(text: str, start: str, end: str) -> None:
    found = read(text, NOW)
    assert found is not None
    assert found[:2] == (moment(start), moment(end))


@pytest.mark.parametrize("text", ["no time is named here", "2/30/2023", "the fifth Friday of last month", "a second opinion", ""])
def test_what_names_no_time(text: str) -> None:
    assert read(text, NOW) is None


@pytest.mark.parametrize(
    ("words", "figures"),
    [
        ("nineteen oh one", "1901"),
        ("two thousand and eighteen", "2018"),
        ("twenty second", "22nd"),
        ("the sixties", "the 60s"),
        ("one hundred and five", "105"),
        ("30 second", "30 second"),
        ("may twenty-first nineteen ten", "may 21st 1910"),
    ],
)
def test_number_words_are_digits(words: str, figures: str) -> None:
    assert digits(words) == figures


PIECES = [
    "last",
    "next",
    "5",
    "of",
    "May",
    "Friday",
    "week",
    "to",
    "from",
    "2023",
    "pm",
    "-",
    "the",
    "days",
    "ago",
    "early",
    "at",
]
TALK = st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join)


@given(st.text(max_size=60) | TALK, st.datetimes(), st.sampled_from([PAST, FUTURE]))
def test_an_end_is_never_before_its_start(text: str, now: datetime, lean: int) -> None:
    found = read(text, now, lean)
    assert found is None or found[1] - found[0] >= timedelta(0)
