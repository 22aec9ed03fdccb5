"""Values of times, the patterns of their words, and steps in the calendar. Pure."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from engram.values.frozen import frozen

PAST, FUTURE = -1, 1

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)

NOWHERE = "nowhere"  # the grain of words that name a day that there is not

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)

MONTH_JOINED = MONTH.replace(r"\b", "")  # October2

WEEKDAY = (
    r"(?P<weekday>mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?"
    r"|fri(?:day)?|sat(?:urday)?|sun(?:day)?)\b\.?"
)

NTH = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\d:])"

YEAR = r"(?P<year>[12]\d{3})(?!\d)"

UNIT = r"(?P<unit>second|sec|minute|min|hour|hr|h|day|week|weekend|fortnight|month|quarter|year|yr|decade|century|centurie)s?\b"

COUNT = r"(?P<count>\d{1,4}|an?(?=\s)|few|a few|several|a couple(?: of)?|couple(?: of)?|half an?)"

WHICH = r"(?P<which>last|past|previous|prior|next|coming|upcoming|following|this|current|same|the|my)"

_LENGTH = rf"{COUNT}\s*(?:(?:more|short|long)\s+)?{UNIT}"

_JOIN = r"\s*(?:,\s*and\s+|,|\s+and\s+|\s)\s*"

_LENGTHS = rf"(?:{_LENGTH.replace('?P<count>', '?:').replace('?P<unit>', '?:')})"

DURATION = rf"(?P<duration>{_LENGTHS}(?:{_JOIN}{_LENGTHS})*)"

PART = r"(?:(?P<edge>early|late|mid)[\s-]*)?(?P<part>morning|noon|afternoon|evening|night|am|pm|a\.m\.|p\.m\.)\b"

HOURS = {
    "morning": (8, 12), "am": (8, 12), "a.m.": (8, 12), "noon": (12, 13), "afternoon": (12, 16), "pm": (12, 16),
    "p.m.": (12, 16), "evening": (16, 20), "night": (20, 24),
}  # fmt: skip

ORDER = r"(?P<order>1st|2nd|3rd|4th|5th|last|final)"


@frozen
class Span:
    """A time with its two ends.

    grain: the unit of the words that named it. sure: they also name its year (a month), its week (a weekday) or that it is to
    come ("in two days").
    """

    start: datetime
    end: datetime
    grain: str
    sure: bool = True


@frozen
class Frame:
    """The moment from which a time is read, the direction to lean, and the year and month of a range's other end."""

    now: datetime
    lean: int
    year: int | None = None
    month: int | None = None

    @property
    def today(self) -> datetime:
        return self.now.replace(hour=0, minute=0, second=0, microsecond=0)


def one_day(start: datetime, *, sure: bool = True) -> Span:
    return Span(start, start + DAY, "day", sure)


def month_span(frame: Frame, year: int, month: int, months: int = 1, *, sure: bool = True) -> Span:
    return Span(first_of(frame, year, month), first_of(frame, year, month + months), "month", sure)


def first_of(frame: Frame, year: int, month: int) -> datetime:
    return frame.today.replace(year=year + (month - 1) // 12, month=(month - 1) % 12 + 1, day=1)


def year_span(frame: Frame, year: int, years: int = 1, *, sure: bool = True) -> Span:
    return Span(first_of(frame, year, 1), first_of(frame, year + years, 1), "year", sure)


def week_of(day: datetime) -> Span:
    start = day - day.weekday() * DAY
    return Span(start, start + 7 * DAY, "week")


def month_number(match: re.Match[str]) -> int:
    word = match["month"]
    return int(word) if word.isdigit() else _MONTHS.index(word[:3]) + 1


def weekday_number(match: re.Match[str]) -> int:
    return WEEKDAYS.index(match["weekday"][:3])


def full_year(word: str) -> int:
    return int(word) if len(word) > 2 else int(word) + (2000 if int(word) <= 40 else 1900)


def yearless(month: int, day: int, frame: Frame) -> Span | None:
    if frame.year is not None:
        return one_day(frame.today.replace(year=frame.year, month=month, day=day), sure=False)
    year = frame.today.year
    for step in range(-1, 9):
        tried = year + (step if frame.lean > 0 else -step)
        if (month, day) == (2, 29) and (tried % 4 or (tried % 100 == 0 and tried % 400)):
            continue
        start = frame.today.replace(year=tried, month=month, day=day)
        if (start >= frame.today) if frame.lean > 0 else (start < frame.today):
            return one_day(start, sure=False)
    return None


_HERE = ("this", "current", "same", "the", "my", "")


def step_of(which: str) -> int:
    return -1 if which in ("last", "past", "previous", "prior") else 0 if which in _HERE else 1


def nearest_year(month: int, frame: Frame) -> int:
    """The year of the last such month that has begun, or of the next that has not."""
    if frame.year is not None:
        return frame.year
    here = frame.today.year
    return here - (month > frame.today.month) if frame.lean < 0 else here + (month < frame.today.month)


def whole_unit(frame: Frame, unit: str, step: int) -> Span | None:
    today = frame.today
    if unit == "day":
        return one_day(today + step * DAY)
    if unit == "week":
        return week_of(today + 7 * step * DAY)
    if unit == "weekend":
        start = week_of(today + 7 * step * DAY).start + 5 * DAY
        return Span(start, start + 2 * DAY, "day")
    if unit == "month":
        return month_span(frame, today.year, today.month + step)
    if unit == "quarter":
        return month_span(frame, today.year, (today.month - 1) // 3 * 3 + 1 + 3 * step, 3)
    if unit in ("year", "yr"):
        return year_span(frame, today.year + step)
    if unit == "decade":
        return year_span(frame, today.year // 10 * 10 + 10 * step, 10)
    return None


_STEP = re.compile(_LENGTH)

_SECONDS = {"s": 1, "m": 60, "h": 3600}


@frozen
class _Length:
    months: int = 0
    days: int = 0
    seconds: int = 0


def length_of(text: str) -> _Length:
    """Return the sum of the lengths that a text names: "1 year and 2 months", "week"."""
    months = days = seconds = 0
    for match in _STEP.finditer(text if text[:1].isdigit() or " " in text else f"1 {text}"):
        count, unit = _counted(match["count"]), match["unit"]
        if unit.startswith(("sec", "min", "h")):
            half = match["count"].startswith("half")
            seconds += _SECONDS[unit[0]] // 2 if half else count * _SECONDS[unit[0]]
        elif unit in ("day", "week", "weekend", "fortnight"):
            days += count * {"day": 1, "fortnight": 14}.get(unit, 7)
        else:
            months += count * {"month": 1, "quarter": 3, "decade": 120, "century": 1200, "centurie": 1200}.get(unit, 12)
    return _Length(months, days, seconds)


def _counted(word: str) -> int:
    if word.isdigit():
        return int(word)
    return 3 if "few" in word else 4 if word == "several" else 2 if "couple" in word else 1


def moved(start: datetime, by: _Length, way: int) -> datetime:
    month = start.month - 1 + way * by.months
    year, month = start.year + month // 12, month % 12 + 1
    day = start.day
    longest = (first_of(Frame(start, PAST), year, month + 1) - DAY).day
    return start.replace(year=year, month=month, day=min(day, longest)) + way * timedelta(days=by.days, seconds=by.seconds)


def point_at(at: datetime, by: _Length) -> Span:
    return Span(at, at, "time") if by.seconds else one_day(at)


def run_of(frame: Frame, step: int, by: _Length, said: str = "") -> Span | None:
    if not step:
        return None
    if by.seconds:
        other = moved(frame.now, by, step)
        return Span(min(frame.now, other), max(frame.now, other), "time")
    if "decade" in said or "centur" in said:
        span = 100 if "centur" in said else 10
        here = frame.today.year // span * span
        years = by.months // 12
        return year_span(frame, here + span if step > 0 else here - years, years)
    begin = frame.today + (DAY if step > 0 else 0 * DAY)
    other = moved(begin, by, step)
    return Span(min(begin, other), max(begin, other), "day")


TO = r"\s*(?:to|until|till|through|thru|and|-|–|til)\s*"

OF_MONTH = rf"(?:(?:of|in)\s+)?(?:(?:the\s+)?{WHICH}\s+month|{MONTH}(?:,?\s+(?:of\s+)?{YEAR})?)"

SEP = r"\s*[-/.\s]\s*"

LEAD = rf"(?:on\s+)?(?:(?:{WEEKDAY.replace('?P<weekday>', '?:')})\s*,?\s+)?(?:the\s+)?"
