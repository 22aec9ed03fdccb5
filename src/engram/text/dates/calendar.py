"""Steps in the calendar that every language shares: a time with its two ends, and the units around a moment. Pure.

Weeks begin on Monday. The end of a time is not included. A function raises `ValueError` or `OverflowError` for a day that the
calendar does not have.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from engram.values.frozen import frozen, replace

DAY = timedelta(days=1)

PARTS = {"dawn": (3, 8), "morning": (5, 12), "noon": (11, 14), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""Hours of the parts of a day, as wide as people use the words; the night lasts until six."""

SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
"""First month of each season on the northern half of the globe."""

FIRST_YEAR, LAST_YEAR = 1600, 2199
"""Years that date a statement; other numbers of four digits mostly count things."""

_THIRDS = {"begin": 0, "mid": 1, "end": 2}
_WEEK_THIRDS = ((0, 3), (1, 4), (3, 7))  # days
_MONTH_THIRDS = ((0, 10), (9, 20), (20, 0))  # days; 0 is the end of the month
_YEAR_THIRDS = ((1, 4), (5, 9), (10, 13))  # months


@frozen
class Time:
    """A time as the words of one language name it.

    grain: the unit of the words. sure: the words also say which year, month or week is meant. relative: they count from the day
    they were said. day: the month (0 if not named) and the day, where another end of a range can give the year. edge: the part
    of a longer time that was named (begin, mid, end).
    """

    first: datetime
    until: datetime
    grain: str
    sure: bool = True
    relative: bool = False
    day: tuple[int, int] | None = None
    edge: str = ""


@frozen
class Length:
    """A length of time and the unit that was named last."""

    months: int = 0
    days: int = 0
    seconds: int = 0
    unit: str = "day"


def length_of(count: float, unit: str) -> Length | None:
    """Return the length of so many units; None for a unit that has no length, as "weekend"."""
    months = {"month": 1, "quarter": 3, "half_year": 6, "year": 12, "decade": 120, "century": 1200}.get(unit)
    if months is not None:
        whole = int(count * months)
        return Length(months=whole, days=round((count * months - whole) * 30), unit=unit)
    days = {"day": 1, "week": 7, "fortnight": 14, "weekend": 7}.get(unit)
    if days is not None:
        return Length(days=round(count * days), unit=unit)
    seconds = {"hour": 3600, "minute": 60, "second": 1}.get(unit)
    return None if seconds is None else Length(seconds=round(count * seconds), unit=unit)


def midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def first_of(at: datetime, year: int, month: int) -> datetime:
    """Return the first day of a month; months beyond 1 to 12 count on into other years."""
    return midnight(at).replace(year=year + (month - 1) // 12, month=(month - 1) % 12 + 1, day=1)


def day_of(at: datetime, year: int, month: int, day: int) -> datetime:
    return midnight(at).replace(year=year, month=month, day=day)


def moved(start: datetime, by: Length, way: int) -> datetime:
    """Return the moment that lies so long before (-1) or after (1) another; the 31st becomes the last day of a shorter month."""
    if by.months:
        first = first_of(start, start.year, start.month + way * by.months)
        last = (first_of(first, first.year, first.month + 1) - DAY).day
        start = start.replace(year=first.year, month=first.month, day=min(start.day, last))
    return start + way * timedelta(days=by.days, seconds=by.seconds)


def one_day(first: datetime, *, sure: bool = True, relative: bool = False, day: tuple[int, int] | None = None) -> Time:
    return Time(first, first + DAY, "day", sure, relative, day)


def week_of(day: datetime, *, relative: bool = False) -> Time:
    monday = midnight(day) - day.weekday() * DAY
    return Time(monday, monday + 7 * DAY, "week", relative=relative)


def months_from(at: datetime, year: int, month: int, months: int = 1, *, grain: str = "month", sure: bool = True) -> Time:
    return Time(first_of(at, year, month), first_of(at, year, month + months), grain, sure)


def unit_at(at: datetime, unit: str, step: int) -> Time | None:
    """Return the whole unit so many steps from the one that holds a moment; None for hours and less."""
    today = midnight(at)
    if unit == "day":
        return one_day(today + step * DAY, relative=True)
    if unit in ("week", "fortnight"):
        weeks = 2 if unit == "fortnight" else 1
        monday = week_of(today + 7 * weeks * step * DAY).first
        return Time(monday, monday + 7 * weeks * DAY, "week", relative=True)
    if unit == "weekend":
        saturday = week_of(today + 7 * step * DAY).first + 5 * DAY
        return Time(saturday, saturday + 2 * DAY, "weekend", relative=True)
    months = {"month": 1, "quarter": 3, "half_year": 6, "year": 12, "decade": 120}.get(unit)
    if months is None:
        return None
    begin = ((today.year * 12 + today.month - 1) // months + step) * months
    first, until = first_of(at, 0, begin + 1), first_of(at, 0, begin + months + 1)
    return Time(first, until, unit, relative=True)


def next_day(at: datetime, month: int, day: int, lean: int) -> datetime | None:
    """Return the next (1) or the last (-1) such day of the year; today counts."""
    today = midnight(at)
    for step in range(9):  # 29 February is at most eight years away
        try:
            first = today.replace(year=today.year + step * lean, month=month, day=day)
        except ValueError:
            if day > 29 or today.year + step * lean < 1:
                return None
            continue
        if (first >= today) if lean > 0 else (first <= today):
            return first
    return None


def next_nth(at: datetime, day: int, lean: int) -> datetime | None:
    """Return the next (1) or the last (-1) day of any month that has this number; today counts."""
    today = midnight(at)
    for step in range(4):
        first = first_of(today, today.year, today.month + step * lean)
        found = first + (day - 1) * DAY
        if found.month == first.month and ((found >= today) if lean > 0 else (found <= today)):
            return found
    return None


def next_weekday(at: datetime, weekday: int, lean: int) -> datetime:
    """Return the next (1) or the last (-1) such weekday; today is neither."""
    today = midnight(at)
    ahead = (weekday - today.weekday()) % 7
    return today + ((ahead or 7) if lean > 0 else ahead - 7) * DAY


def weekday_of_week(at: datetime, weekday: int, step: int) -> datetime:
    return week_of(midnight(at) + 7 * step * DAY).first + weekday * DAY


def weekday_and_nth(at: datetime, weekday: int, day: int, lean: int) -> datetime | None:
    """Return the nearest day that is both, as "Friday 15", in the direction of the tense if one is within half a year."""
    today, found = midnight(at), []
    for months in range(-12, 13):
        first = first_of(today, today.year, today.month + months)
        start = first + (day - 1) * DAY
        if start.month == first.month and start.weekday() == weekday:
            found.append(start)
    ahead = [start for start in found if 0 <= (start - today).days * lean < 183]
    return min(ahead or found, key=lambda start: abs(start - today), default=None)


def on_weekday(at: datetime, dated: Time, weekday: int) -> Time:
    """Return a date without a year as the last or the next one, whichever is this weekday; as it is if neither or both are."""
    month, day = dated.day or (0, 0)
    days = [first for lean in (-1, 1) if (first := next_day(at, month, day, lean)) is not None and first.weekday() == weekday]
    if len({*days}) != 1:
        return dated
    shift = days[0] - midnight(dated.first)
    return replace(dated, first=dated.first + shift, until=dated.until + shift)


def month_year(at: datetime, month: int, lean: int) -> int:
    """Return the year of the next such month that is not over, or of the last that has begun."""
    return at.year + (month < at.month) if lean > 0 else at.year - (month > at.month)


def season_at(at: datetime, season: str, lean: int) -> Time:
    """Return the season that is not over (1) or has begun (-1), nearest to a moment."""
    month = SEASONS[season]
    years = (at.year - 1, at.year, at.year + 1)
    all_of = [months_from(at, year, month, 3, grain="season", sure=False) for year in years]
    return next(s for s in all_of if s.until > at) if lean > 0 else next(s for s in reversed(all_of) if s.first <= at)


def week_number(at: datetime, number: int, year: int) -> Time:
    """Return a week by its ISO number: the first week of a year is the one with the first Thursday."""
    if not 1 <= number <= 53:
        raise ValueError("no such week")
    return week_of(day_of(at, year, 1, 4) + 7 * (number - 1) * DAY)


def easter(at: datetime, year: int) -> datetime:
    """Return Easter Sunday of the Gregorian calendar (the anonymous algorithm of 1876)."""
    century, golden = year // 100, year % 19
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    shift = (32 + 2 * (century % 4) + 2 * (year % 100 // 4) - epact - year % 4) % 7
    late = (golden + 11 * epact + 22 * shift) // 451
    month, day = divmod(epact + shift - 7 * late + 114, 31)
    return day_of(at, year, month, day + 1)


def nth_weekday(at: datetime, year: int, month: int, weekday: int, order: int) -> datetime:
    """Return the first (1) to fifth or the last (-1) such weekday of a month."""
    first = first_of(at, year, month)
    over = first_of(at, year, month + 1)
    found = first + (weekday - first.weekday()) % 7 * DAY
    if order < 0:
        while found + 7 * DAY < over:
            found += 7 * DAY
        return found
    found += 7 * (order - 1) * DAY
    if not first <= found < over:
        raise ValueError("a month has no fifth such day")
    return found


def edge_of(whole: Time, edge: str) -> Time | None:
    """Return the beginning, the middle or the end of a week, a month, a season or a year; None of anything else."""
    third = _THIRDS[edge]
    first, until = whole.first, whole.until
    if whole.grain == "week":
        low, high = _WEEK_THIRDS[third]
        first, until = whole.first + low * DAY, whole.first + high * DAY
    elif whole.grain == "month":
        low, high = _MONTH_THIRDS[third]
        first, until = whole.first + low * DAY, whole.first + high * DAY if high else whole.until
    elif whole.grain == "year":
        low, high = _YEAR_THIRDS[third]
        first, until = first_of(whole.first, whole.first.year, low), first_of(whole.first, whole.first.year, high)
    elif whole.grain in ("season", "quarter", "half_year", "decade"):
        step = (whole.until - whole.first) / 3
        first = midnight(whole.first + third * step)
        until = whole.until if third == 2 else midnight(whole.first + (third + 1) * step)
    else:
        return None
    return Time(first, until, whole.grain, whole.sure, whole.relative, None, edge)


def part_of(day: Time, part: str) -> Time:
    """Return a part of a day: its evening, its morning."""
    low, high = PARTS[part]
    first, until = day.first + timedelta(hours=low), day.first + timedelta(hours=high)
    return Time(first, until, "part", day.sure, day.relative, day.day)


def day_named(at: datetime, lean: int, year: int | None, month: int, day: int) -> Time:
    """Return a day of a month, in the nearest year that way if none is given."""
    if year:
        return one_day(day_of(at, year, month, day), day=(month, day))
    first = next_day(at, month, day, lean)
    if first is None:
        raise ValueError("no such day")
    return one_day(first, sure=False, day=(month, day))


def day_of_month(month: Time, day: int) -> Time:
    """Return a day of a month that is counted from now: "the 3rd of next month"."""
    return one_day(month.first.replace(day=day), relative=True, day=(month.first.month, day))


def which_month(at: datetime, month: int, which: int) -> Time:
    """Return last (-1), this (0) or next (1) year's month: "last May"."""
    year = at.year
    if which < 0:
        year -= month >= at.month
    elif which > 0:
        year += month <= at.month
    return replace(months_from(at, year, month), relative=True)


def which_weekday(at: datetime, weekday: int, step: int) -> Time:
    """Return a weekday of last (-1), this (0) or next (1) week."""
    return one_day(weekday_of_week(at, weekday, step), relative=True)


def which_season(at: datetime, season: str, step: int) -> Time:
    """Return the last (-1), this (0) or the next (1) season of a name."""
    now = season_at(at, season, -1)
    if step < 0:
        year = now.first.year - (now.until > at)
    else:
        year = season_at(at, season, 1).first.year + (step > 0 and now.until > at)
    return replace(season_of(at, season, year), relative=True)


def season_of(at: datetime, season: str, year: int) -> Time:
    """Return the season that begins in a year."""
    return months_from(at, year, SEASONS[season], 3, grain="season")


def stretch(at: datetime, length: Length, step: int) -> Time:
    """Return so long a time before now, or from tomorrow on."""
    now = at if length.seconds else midnight(at) + (DAY if step > 0 else 0 * DAY)
    other = moved(now, length, 1 if step > 0 else -1)
    return Time(min(now, other), max(now, other), "range", relative=True)


def sum_of(one: Length, two: Length | None) -> Length:
    """Return two lengths as one, in the unit of the second."""
    return one if two is None else Length(one.months + two.months, one.days + two.days, one.seconds + two.seconds, two.unit)


def away(at: datetime, length: Length, way: int) -> Time:
    """Return the time that lies so long before or after now: a day for days and weeks, else as wide as the unit.

    Half a year and a year and a half are as wide as a month, half a month as a day.
    """
    if length.seconds:
        moment = moved(at, length, way)
        return Time(moment, moment + DAY / 24, "hour", relative=True)
    first = moved(midnight(at), length, way)
    unit = length.unit if length.unit in ("month", "year", "quarter", "half_year", "decade") else "day"
    width = length_of(1, unit) or Length(days=1)
    if width.months and (length.days or length.months % width.months):
        unit, width = ("day", Length(days=1)) if length.days else ("month", Length(months=1))
    return Time(first, moved(first, width, 1), unit, relative=True)


def fraction_of_year(at: datetime, lean: int, order: int, months: int, year: int | None) -> Time:
    """Return the nth quarter or half of a year, of the nearest year that way if none is given."""
    grain = "quarter" if months == 3 else "half_year"
    if year is not None:
        return months_from(at, year, (order - 1) * months + 1, months, grain=grain)
    this = months_from(at, at.year, (order - 1) * months + 1, months, grain=grain, sure=False)
    step = -1 if lean < 0 and this.first > at else 1 if lean > 0 and this.until <= at else 0
    return months_from(at, at.year + step, (order - 1) * months + 1, months, grain=grain, sure=False)


def around_easter(at: datetime, lean: int, year: int | None, days: int) -> Time:
    """Return the feast so many days after Easter, the nearest one that way if no year is given."""
    if year is not None:
        return one_day(easter(at, year) + days * DAY)
    today = midnight(at)
    feasts = [easter(at, at.year + step) + days * DAY for step in (-1, 0, 1)]
    near = [feast for feast in feasts if ((feast - today) * lean).days >= 0]
    return one_day(min(near, key=lambda feast: abs(feast - today)), sure=False)


def day_of_holiday(at: datetime, holiday: tuple[int, int], step: int) -> Time:
    """Return last (-1) or next (1) year's holiday: a month and a day, or 0 and the days after Easter."""
    if not holiday[0]:
        return around_easter(at, 0, at.year + step, holiday[1])
    first = next_day(midnight(at) + (DAY if step > 0 else -DAY), *holiday, 1 if step > 0 else -1)
    if first is None:
        raise ValueError("no such day")
    return one_day(first)


def nth_of_month(at: datetime, month: Time, order: int, unit: str | None, weekday: int | None) -> Time:
    """Return the nth, or with -1 the last, weekday, day, weekend or week of a month."""
    year, number = month.first.year, month.first.month
    if weekday is not None:
        found = one_day(nth_weekday(at, year, number, weekday, order))
    elif unit == "day":
        found = one_day(month.until - DAY if order < 0 else day_of(at, year, number, order))
    elif unit == "weekend":
        saturday = nth_weekday(at, year, number, 5, order)
        found = Time(saturday, saturday + 2 * DAY, "weekend")
    else:
        found = week_of(month.until - 4 * DAY if order < 0 else month.first + (3 + 7 * (order - 1)) * DAY)
    return replace(found, sure=month.sure, relative=month.relative)
