"""When much happened (R4, §39): moments counted by day, week, month or year, and the peaks among them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import fmean, pstdev

from engram.known import Bucket

_WIDTHS = (("day", timedelta(days=31)), ("week", timedelta(days=182)), ("month", timedelta(days=5 * 365)))
"""The longest time that is told by days, by weeks and by months; what is longer is told by years."""


def buckets(moments: Sequence[datetime]) -> tuple[str, tuple[Bucket, ...]]:
    """All the time between the first and the last, in pieces, and how long those are; empty ones are among them.

    A peak has more than the mean and one standard deviation. Where all have as much there is none.
    """
    if not moments:
        return "", ()
    first, last = min(moments), max(moments)
    width = next((name for name, longest in _WIDTHS if last - first <= longest), "year")
    counted = Counter(_start(moment, width) for moment in moments)
    starts = [_start(first, width)]
    while (after := _next(starts[-1], width)) is not None and after <= _start(last, width):
        starts.append(after)
    counts = [counted[start] for start in starts]
    high = fmean(counts) + pstdev(counts)
    made = tuple(
        Bucket(start, _next(start, width) or last, count, peak=count > high) for start, count in zip(starts, counts, strict=True)
    )
    return width, made


def _start(moment: datetime, width: str) -> datetime:
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if width == "week":
        return day - timedelta(days=min(day.weekday(), day.toordinal() - 1))  # the first week of all has no Monday
    if width == "month":
        return day.replace(day=1)
    return day.replace(month=1, day=1) if width == "year" else day


def _next(start: datetime, width: str) -> datetime | None:
    """When the next one begins; None at the end of time."""
    try:
        if width == "month":
            return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        return start.replace(year=start.year + 1) if width == "year" else start + timedelta(days=7 if width == "week" else 1)
    except (ValueError, OverflowError):
        return None
