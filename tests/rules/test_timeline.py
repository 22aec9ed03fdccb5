"""When much happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.rules.knowledge import buckets

START = datetime(2024, 3, 4, 15, 30, tzinfo=UTC)  # a Monday


def test_nothing_happened_at_no_time() -> None:
    assert buckets([]) == ("", ())


@pytest.mark.parametrize(("days", "width", "pieces"), [(0, "day", 1), (30, "day", 31), (60, "week", 9), (400, "month", 14)])
def test_the_longer_the_time_the_wider_the_pieces(days: int, width: str, pieces: int) -> None:
    got, made = buckets([START, START + timedelta(days=days)])
    assert (got, len(made)) == (width, pieces)


def test_decades_are_told_by_years() -> None:
    width, made = buckets([datetime(1990, 5, 1, tzinfo=UTC), START])
    assert (width, len(made), made[0].start.year, made[-1].count) == ("year", 35, 1990, 1)


def test_a_peak_is_more_than_the_mean_and_a_deviation() -> None:
    moments = [START + timedelta(days=day) for day in (0, 2, 4, 6, 6, 6, 6, 8)]
    _, made = buckets(moments)
    assert [one.start.day for one in made if one.peak] == [10]
    _, even = buckets([START + timedelta(days=day) for day in range(5)])
    assert not any(one.peak for one in even)


@given(st.lists(st.datetimes(), min_size=1, max_size=20))
def test_every_moment_is_in_one_piece_and_the_pieces_follow_each_other(moments: list[datetime]) -> None:
    _, made = buckets(moments)
    assert sum(one.count for one in made) == len(moments)
    assert all(one.end == after.start for one, after in pairwise(made))
    assert made[0].start <= min(moments)
