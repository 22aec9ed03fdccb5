"""Times as they are named."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.dates import began, relative_end, resolve

SAID = datetime(2023, 6, 9, 19, 55, tzinfo=UTC)  # a Friday


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("I did it today.", "2023-06-09", "2023-06-10"),
        ("I went yesterday", "2023-06-08", "2023-06-09"),
        ("It was the day before yesterday", "2023-06-07", "2023-06-08"),
        ("last night was fun", "2023-06-08T18:00", "2023-06-09T06:00"),
        ("Dinner tonight!", "2023-06-09T18:00", "2023-06-10T06:00"),
        ("this morning I ran", "2023-06-09T05:00", "2023-06-09T12:00"),
        ("I moved three years ago", "2020-06-09", "2021-06-09"),
        ("a couple of months ago", "2023-04-09", "2023-05-09"),
        ("2 weeks ago we met", "2023-05-26", "2023-05-27"),
        ("ten days ago", "2023-05-30", "2023-05-31"),
        ("I painted it last year", "2022-01-01", "2023-01-01"),
        ("the school event last week", "2023-05-29", "2023-06-05"),
        ("We go camping next month", "2023-07-01", "2023-08-01"),
        ("last weekend we hiked", "2023-06-03", "2023-06-05"),
        ("I ran a race last Saturday", "2023-06-03", "2023-06-04"),
        ("Tuesday last week we ate out", "2023-05-30", "2023-05-31"),
        ("On Friday I met him", "2023-06-02", "2023-06-03"),
        ("I'll go on Friday", "2023-06-16", "2023-06-17"),
        ("We met in March", "2023-03-01", "2023-04-01"),
        ("I will start in March", "2024-03-01", "2024-04-01"),
        ("In March 2021 it snowed", "2021-03-01", "2021-04-01"),
        ("on 3 May 2023", "2023-05-03", "2023-05-04"),
        ("May 3rd, 2023 was warm", "2023-05-03", "2023-05-04"),
        ("due 2023-05-03", "2023-05-03", "2023-05-04"),
        ("on 03/14/2022", "2022-03-14", "2022-03-15"),
        ("in 2019 I moved", "2019-01-01", "2020-01-01"),
        ("two weeks from now I leave", "2023-06-23", "2023-06-24"),
        ("last summer we sailed", "2022-06-01", "2022-09-01"),
        ("I was born on 29 February", "2020-02-29", "2020-03-01"),
        ("It is due on Wednesday, January 28th, 2026", "2026-01-28", "2026-01-29"),
        ("I met him on the 15th of last month", "2023-05-15", "2023-05-16"),
        ("We sailed in the summer of 2022", "2022-06-01", "2022-09-01"),
        ("It happened two days before yesterday", "2023-06-06", "2023-06-07"),
        ("My birthday is in March", "2024-03-01", "2024-04-01"),
        ("from Monday to Friday I worked", "2023-06-05", "2023-06-10"),
        ("They scheduled it for next Friday", "2023-06-16", "2023-06-17"),
    ],
)
def test_a_time_is_resolved_against_the_moment_it_was_said(text: str, start: str, end: str) -> None:
    assert resolve(text, SAID) == (day(start), day(end))


@pytest.mark.parametrize(
    "text",
    [
        "I may go",
        "wait a second",
        "we march for peace",
        "every Monday I swim",
        "on Mondays I swim",
        "I have lived here for two years",
        "on 05/06/2022",  # two orders are in use
        "the first Friday was fun",
        "31 February 2020",
        "I swam every Monday, Wednesday and Friday",
        "I saw the 1971 film",
        "In the end three of us stayed",
        "I sat in the sun",
        "no time at all",
        "",
    ],
)
def test_what_is_not_sure_is_no_time(text: str) -> None:
    assert resolve(text, SAID) is None


def test_the_time_zone_is_that_of_the_moment() -> None:
    east = timezone(timedelta(hours=9))
    found = resolve("I went yesterday", datetime(2023, 6, 9, 1, tzinfo=east))
    assert found is not None
    assert found[0] == datetime(2023, 6, 8, tzinfo=east)
    assert resolve("I went yesterday", datetime(2023, 6, 9)) == (datetime(2023, 6, 8), datetime(2023, 6, 9))


@pytest.mark.parametrize("said", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC)])
@pytest.mark.parametrize("text", ["yesterday", "tomorrow", "900 years ago", "next year", "next week", "in 900 years I will"])
def test_the_ends_of_time_are_no_error(text: str, said: datetime) -> None:
    resolve(text, said)


WORDS = [
    "I went",
    "will",
    "last",
    "next",
    "this",
    "week",
    "month",
    "year",
    "Friday",
    "May",
    "3",
    "2023",
    "ago",
    "in",
    "two",
    "-",
    "of",
]
EXPRESSIONS = st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)


@given(st.text(max_size=80) | EXPRESSIONS, st.datetimes())
def test_a_range_has_a_width(text: str, said: datetime) -> None:
    found = resolve(text, said)
    assert found is None or found[0] < found[1]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("Been playing it for a month now", "2023-05-09"),
        ("I've been at it for two years, with ups and downs", "2021-06-09"),
        ("We have rented here for a year and a half now", "2021-12-09"),
        ("She has been ill for two and a half weeks", "2023-05-22"),
        ("I have lived here since 2016", "2016-01-01"),
        ("He has worked there since March", "2023-03-01"),
        ("I've lived here since June 12, 2015.", "2015-06-12"),
        ("I've been sober since March 3, 2021", "2021-03-03"),
        ("Sober since March 3, 2021", "2021-03-03"),
        ("I've had a cough for the past two weeks", "2023-05-26"),
        ("He has had the car for 1.5 years", "2021-12-09"),
        ("He's on leave since yesterday", "2023-06-08"),
        ("She has been away since last Monday", "2023-05-29"),  # of last week, as everywhere
    ],
)
def test_since_when_something_goes_on(text: str, start: str) -> None:
    assert began(text, SAID) == day(start)


@pytest.mark.parametrize(
    "text",
    [
        "I stayed for two weeks",
        "We are going for three days",
        "I have been busy since we last talked",
        "I had a dog for two years",
        "I have to stay for two weeks",
        "I have photos from 2019",
        "I've been practising for 30 minutes every day",
        "He moved out since Monday",
        "for ages",
        "since 2016",
        "",
    ],
)
def test_what_is_over_or_not_sure_goes_on_since_no_time(text: str) -> None:
    assert began(text, SAID) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("One of us went there twenty-two days ago, alone", "One of us went there twenty-two days ago"),
        ("I saw her last week.", "I saw her last week"),
        ("I saw her this week", None),
        ("I saw her on 3 May 2023", None),
    ],
)
def test_the_end_of_relative_words_is_a_place_in_the_text_as_written(text: str, words: str | None) -> None:
    end = relative_end(text, SAID)
    assert (None if end is None else text[:end]) == words


def test_times_nested_by_the_word_are_no_error() -> None:
    assert resolve("mid " * 500, SAID) is None
