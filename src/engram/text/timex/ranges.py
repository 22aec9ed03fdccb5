"""From one time to another: what one end leaves open, the other closes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engram.frozen import replace
from engram.text.timex.days import days_at, nth
from engram.text.timex.frame import (
    DAY,
    FUTURE,
    MONTH,
    NTH,
    TO,
    WEEKDAY,
    WEEKDAYS,
    WHICH,
    YEAR,
    Frame,
    Span,
    first_of,
    month_number,
    step_of,
    week_of,
    weekday_number,
    yearless,
)
from engram.text.timex.hours import moments_at

_FROM = re.compile(r"(?:from|between|in)\s+(?:the\s+)?")

_UNTIL = re.compile(r"\s*(?:,\s*)?(?:to|until|till|through|thru|and|-|–|til)\s*(?:the\s+)?")

_BARE = re.compile(NTH)

_DAYS_OF_MONTH = re.compile(
    rf"(?:(?:from|between)\s+)?(?:the\s+)?(?P<low>\d{{1,2}})(?:st|nd|rd|th)?{TO}(?:the\s+)?(?P<high>\d{{1,2}})(?:st|nd|rd|th)?"
    rf"\s*(?:of\s+)?(?:{WHICH}\s+month|{MONTH}(?:,?\s*(?:of\s+)?{YEAR})?)"
)

_MONTH_DAYS = re.compile(
    rf"{MONTH}\s*(?:from\s+|between\s+)?(?P<low>\d{{1,2}})(?:st|nd|rd|th)?{TO}(?P<high>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+{YEAR})?(?![\d/:])"
)

_WEEKDAYS_OF_WEEK = re.compile(
    rf"{WHICH}\s+week,?\s+(?:from|between)\s+{WEEKDAY}{TO}{WEEKDAY.replace('?P<weekday>', '?P<other>')}"
)


def ranges_at(text: str, at: int, frame: Frame) -> Iterator[tuple[Span, int]]:
    for pattern, rule in ((_DAYS_OF_MONTH, _days_of_month), (_MONTH_DAYS, _days_of_month), (_WEEKDAYS_OF_WEEK, _days_of_week)):
        match = pattern.match(text, at)
        try:
            meant = rule(match, frame) if match is not None else None
        except (ValueError, OverflowError):
            meant = None
        if match is not None and meant is not None:
            yield meant, match.end()
    opening = _FROM.match(text, at)
    yield from _from_to(text, opening.end() if opening is not None else at, frame, opened=opening is not None)


def _days_of_month(match: re.Match[str], frame: Frame) -> Span | None:
    low, high = int(match["low"]), int(match["high"])
    which = match.groupdict().get("which")
    if which:
        first = first_of(frame, frame.today.year, frame.today.month + step_of(which))
        return Span(first.replace(day=low), first.replace(day=high), "day") if low < high else None
    month = month_number(match)
    if match["year"]:
        year = int(match["year"])
    else:
        begin = yearless(month, low, frame)
        if begin is None:
            return None
        year = begin.start.year
    first = first_of(frame, year, month)
    return Span(first.replace(day=low), first.replace(day=high), "day", bool(match["year"])) if low < high else None


def _days_of_week(match: re.Match[str], frame: Frame) -> Span:
    start = week_of(frame.today + 7 * step_of(match["which"]) * DAY).start
    one, two = weekday_number(match), WEEKDAYS.index(match["other"][:3])
    return Span(start + one * DAY, start + two * DAY, "day")


def _singles(text: str, at: int, frame: Frame) -> list[tuple[Span, int]]:
    return sorted([*moments_at(text, at, frame), *days_at(text, at, frame)], key=lambda found: -found[1])


def _from_to(text: str, at: int, frame: Frame, *, opened: bool) -> Iterator[tuple[Span, int]]:
    for one, middle in (*_singles(text, at, frame), *_bare_day(text, at, frame, opened)):
        joint = _UNTIL.match(text, middle)
        if joint is None or joint.end() == middle or (not opened and joint.group().strip() == "and"):
            continue
        for two, over in _singles(text, joint.end(), frame):
            made = _joined(text, at, middle, joint.end(), over, one, two, frame)
            if made is not None:
                yield made, over
                break


def _bare_day(text: str, at: int, frame: Frame, opened: bool) -> list[tuple[Span, int]]:
    """A number that is a day only because of the range's other end."""
    match = _BARE.match(text, at) if opened else None
    return [] if match is None else [(Span(frame.today, frame.today, "number", sure=False), match.end())]


def _joined(text: str, at: int, middle: int, then: int, over: int, one: Span, two: Span, frame: Frame) -> Span | None:
    """What one end leaves open, the other closes: the year, the month, which of two years is meant."""
    if one.grain == "number":
        if two.grain != "day":
            return None
        near = replace(frame, year=two.start.year, month=two.start.month)
        match = _BARE.match(text, at, middle)
        found = None if match is None else nth(match, near)
        return None if found is None else Span(found.start, two.start, "day", two.sure)
    if one.sure and not two.sure and one.grain in ("time", "day"):
        again = next(
            (s for s, end in _singles(text, then, replace(frame, lean=FUTURE, now=max(frame.now, one.start))) if end == over), two
        )
        two = again
    elif two.sure and not one.sure:
        for year in (two.start.year, two.start.year - 1):
            again = next((s for s, end in _singles(text, at, replace(frame, year=year)) if end == middle), one)
            if again.start < two.start:
                one = again
                break
    elif not one.sure and not two.sure and one.start > two.start:
        again = next((s for s, end in _singles(text, at, replace(frame, year=two.start.year)) if end == middle), one)
        later = next((s for s, end in _singles(text, then, replace(frame, year=one.start.year)) if end == over), two)
        one, two = (again, two) if again.start < two.start else (one, later)
    start = (
        one.start.replace(hour=0, minute=0, second=0, microsecond=0) if two.grain != "time" and one.grain == "time" else one.start
    )
    end = (
        two.start.replace(hour=0, minute=0, second=0, microsecond=0) if one.grain != "time" and two.grain == "time" else two.start
    )
    return Span(start, end, two.grain, one.sure and two.sure) if start < end else None
