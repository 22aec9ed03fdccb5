"""Timeline buckets and peaks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.rules.knowledge import buckets

START = datetime(2024, 3, 4, 15, 30, tzinfo=UTC)  # a Monday


def test_no_moments_give_no_buckets() -> None:
    assert buckets([]) == ("", ())


@pytest.mark.parametrize(("days", "width", "pieces"), [(0, "day", 1), (30, "day", 31), (60, "week", 9), (400, "month", 14)])
def test_buckets_widen_with_the_length_of_the_timeline(days: int, width: str, pieces: int) -> None:
    got, made = buckets([START, START + timedelta(days=days)])
    assert (got, len(made)) == (width, pieces)


def test_decades_are_counted_by_year() -> None:
    width, made = buckets([datetime(1990, 5, 1, tzinfo=UTC), START])
    assert (width, len(made), made[0].start.year, made[-1].count) == ("year", 35, 1990, 1)


def test_a_peak_exceeds_the_mean_by_one_standard_deviation() -> None:
    moments = [START + timedelta(days=day) for day in (0, 2, 4, 6, 6, 6, 6, 8)]
    _, made = buckets(moments)
    assert [one.start.day for one in made if one.peak] == [10]
    _, even = buckets([START + timedelta(days=day) for day in range(5)])
    assert not any(one.peak for one in even)


@given(st.lists(st.datetimes(), min_size=1, max_size=20))
def test_every_moment_is_in_one_bucket_and_buckets_are_contiguous(moments: list[datetime]) -> None:
    _, made = buckets(moments)
    assert sum(one.count for one in made) == len(moments)
    assert all(one.end == after.start for one, after in pairwise(made))
    assert made[0].start <= min(moments)
