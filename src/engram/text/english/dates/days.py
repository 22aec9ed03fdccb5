"""Days, weeks, months, years and lengths of time: the patterns, each with the rule that reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime

from engram.text.english.dates.frame import (
    DAY,
    DURATION,
    FUTURE,
    LEAD,
    MONTH,
    MONTH_JOINED,
    NOWHERE,
    NTH,
    OF_MONTH,
    ORDER,
    SECOND,
    SEP,
    UNIT,
    WEEKDAY,
    WHICH,
    YEAR,
    Frame,
    Span,
    first_of,
    full_year,
    length_of,
    month_number,
    month_span,
    moved,
    nearest_year,
    one_day,
    point_at,
    run_of,
    step_of,
    week_of,
    weekday_number,
    whole_unit,
    year_span,
    yearless,
)
from engram.values.frozen import replace

_Read = Callable[[re.Match[str], Frame], Span | None]

_Wrap = Callable[[re.Match[str], Span, Frame], Span | None]


_NESTED = 3
"""Times within each other that are read, as in "the beginning of the week of 3 May": the calls would else nest by the word."""


def days_at(text: str, at: int, frame: Frame, nested: int = 0) -> Iterator[tuple[Span, int]]:
    """Yield each reading of a day, week, month, year or length that begins at this place, with its end in the text."""
    for pattern, rule in _DAYS:
        match = pattern.match(text, at)
        if match is None:
            continue
        try:
            meant = rule(match, frame)
        except (ValueError, OverflowError):  # 31 February; outside of the years that there are
            meant = Span(frame.now, frame.now, NOWHERE)
        if meant is not None:
            yield meant, match.end()
    if nested < _NESTED:
        yield from _wrapped(text, at, frame, nested)


def _wrapped(text: str, at: int, frame: Frame, nested: int) -> Iterator[tuple[Span, int]]:
    """Yield the times that are named by another time: the week of it, its beginning, two days before it."""
    for pattern, rule in _WRAPPING:
        match = pattern.match(text, at)
        if match is None:
            continue
        bare = _BARE_UNIT.match(text, match.end())
        if bare is not None and (whole := whole_unit(frame, bare.group(), 0)) is not None:
            inner = whole, bare.end()
        else:
            lean = FUTURE if rule is _for_from else frame.lean
            inside = days_at(text, match.end(), replace(frame, lean=lean), nested + 1)
            found = max(inside, key=lambda reading: reading[1], default=None)
            if found is None:
                continue
            inner = found
        try:
            meant = rule(match, inner[0], frame)
        except (ValueError, OverflowError):
            continue
        if meant is not None:
            yield meant, inner[1]


def _date(match: re.Match[str], frame: Frame) -> Span | None:
    """A day of a month, of a year if that is said."""
    month, day = month_number(match), int(match["day"])
    year = match.groupdict().get("year")
    if year:
        return one_day(frame.today.replace(year=full_year(year), month=month, day=day))
    return yearless(month, day, frame)


def _numbers(match: re.Match[str], frame: Frame) -> Span | None:
    """4/22 and 22/4, with a year or without: the month stands first where that is possible."""
    first, second, year = int(match["first"]), int(match["second"]), match.groupdict().get("year")
    month, day = (first, second) if first <= 12 else (second, first)
    if not 1 <= month <= 12:
        return None
    if year:
        return one_day(frame.today.replace(year=full_year(year), month=month, day=day))
    return yearless(month, day, frame)


def _relative(match: re.Match[str], frame: Frame) -> Span | None:
    shift = {"yesterday": -1, "today": 0, "tonight": 0}.get(match["word"], 1)
    if match["beyond"]:
        shift += -1 if "before" in match["beyond"] else 1
    return one_day(frame.today + shift * DAY)


def _now(match: re.Match[str], frame: Frame) -> Span:
    del match
    return Span(frame.now, frame.now, "time")


def _which_weekday(match: re.Match[str], frame: Frame) -> Span | None:
    if match["which"] in ("the", "my"):
        return _weekday(match, frame)
    return _weekday_of_week(match, frame)


def _weekday_of_week(match: re.Match[str], frame: Frame) -> Span | None:
    start = week_of(frame.today + 7 * step_of(match["which"]) * DAY).start
    return one_day(start + weekday_number(match) * DAY)


def _weekday(match: re.Match[str], frame: Frame) -> Span | None:
    return one_day(_nearest_weekday(match, frame), sure=False)


def _nearest_weekday(match: re.Match[str], frame: Frame) -> datetime:
    ahead = (weekday_number(match) - frame.today.weekday()) % 7
    return frame.today + ((ahead or 7) if frame.lean > 0 else ahead - 7) * DAY


def _weekday_the_nth(match: re.Match[str], frame: Frame) -> Span | None:
    """Friday the 15th: the nearest day that is both."""
    number, day = weekday_number(match), int(match["day"])
    found = []
    for months in range(-12, 13):
        first = first_of(frame, frame.today.year, frame.today.month + months)
        start = first + (day - 1) * DAY
        if start.month == first.month and start.weekday() == number:
            found.append(start)
    return one_day(min(found, key=lambda start: abs(start - frame.today))) if found else None


def nth(match: re.Match[str], frame: Frame) -> Span | None:
    """The 21st: of this month or the one beside it; of the month that the other end of a range names."""
    day = int(match["day"])
    if frame.month is not None and frame.year is not None:
        return one_day(frame.today.replace(year=frame.year, month=frame.month, day=day), sure=False)
    for step in range(4):
        first = first_of(frame, frame.today.year, frame.today.month + step * frame.lean)
        start = first + (day - 1) * DAY
        if start.month == first.month and ((start >= frame.today) if frame.lean > 0 else (start < frame.today)):
            return one_day(start, sure=False)
    return None


def _nth_of_which_month(match: re.Match[str], frame: Frame) -> Span | None:
    first = first_of(frame, frame.today.year, frame.today.month + step_of(match["which"]))
    return one_day(first.replace(day=int(match["day"])))


def _nth_weekday(match: re.Match[str], frame: Frame) -> Span | None:
    """The second Monday of next month, of September, of this month if none is said."""
    if match["month"]:
        year = int(match["year"]) if match["year"] else nearest_year(month_number(match), frame)
        first = first_of(frame, year, month_number(match))
    else:
        first = first_of(frame, frame.today.year, frame.today.month + step_of(match["which"] or "this"))
    over = first_of(frame, first.year, first.month + 1)
    start = first + (weekday_number(match) - first.weekday()) % 7 * DAY
    if match["order"] in ("last", "final"):
        while start + 7 * DAY < over:
            start += 7 * DAY
    else:
        start += 7 * (int(match["order"][0]) - 1) * DAY
    if start >= over:
        raise ValueError("a month has no fifth such day")
    return one_day(start, sure=not match["month"] or bool(match["year"]))


def _bare_month(match: re.Match[str], frame: Frame) -> Span | None:
    month, year, which = month_number(match), match.groupdict().get("year"), match.groupdict().get("which")
    if year:
        return month_span(frame, int(year), month)
    if which:
        step = step_of(which)
        passed = (month > frame.today.month) if step < 0 else (month <= frame.today.month)
        return month_span(frame, frame.today.year + (step if step == 0 or passed else 0), month)
    return month_span(frame, nearest_year(month, frame), month, sure=False)


_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}


def _season(match: re.Match[str], frame: Frame) -> Span | None:
    """Three whole months: summer 2023, last winter; of those that are not said which, the one that the lean finds."""
    month, groups = _SEASONS[match["season"]], match.groupdict()
    year = frame.today.year
    if groups.get("year"):
        year = int(groups["year"])
    else:
        way = step_of(groups["which"]) if groups.get("which") else frame.lean
        begun = first_of(frame, year, month) <= frame.today
        over = first_of(frame, year, month + 3) <= frame.today
        year += (way < 0 and not over and -1) or (way > 0 and begun and 1) or 0
    return replace(month_span(frame, year, month, 3), grain="season")


def _plain_year(match: re.Match[str], frame: Frame) -> Span | None:
    return year_span(frame, int(match["year"]))


def _decade(match: re.Match[str], frame: Frame) -> Span:
    word = match["decade"]
    if len(word) == 4:
        return year_span(frame, int(word), 10)
    century = frame.today.year // 100 * 100
    begin = century + int(word)
    if begin > frame.today.year and frame.lean < 0:
        begin -= 100
    elif begin + 10 <= frame.today.year and frame.lean > 0:
        begin += 100
    return year_span(frame, begin, 10, sure=False)


def _century(match: re.Match[str], frame: Frame) -> Span:
    return year_span(frame, (int(match["number"]) - 1) * 100, 100)


def _quarter(match: re.Match[str], frame: Frame) -> Span | None:
    half = match["letter"] == "h" or match["letter"].startswith("half")
    months = 6 if half else 3
    month = (int(match["number"][0]) - 1) * months + 1
    groups = match.groupdict()
    year = groups.get("year") or groups.get("year_before")
    if year:
        return month_span(frame, int(year), month, months)
    if groups.get("which"):
        return month_span(frame, frame.today.year + step_of(groups["which"]), month, months)
    over = first_of(frame, frame.today.year, month + months) <= frame.today
    shift = 0 if (frame.lean < 0) == over else frame.lean
    return month_span(frame, frame.today.year + shift, month, months, sure=False)


def _week_number(match: re.Match[str], frame: Frame) -> Span | None:
    """Week 31, or the third week of a year: the first week is the one with the first Thursday."""
    groups = match.groupdict()
    year = int(groups["year"]) if groups.get("year") else frame.today.year + step_of(groups.get("which") or "this")
    number = groups["number"]
    if number == "last":
        return week_of(first_of(frame, year, 12).replace(day=28))
    return week_of(first_of(frame, year, 1).replace(day=4) + 7 * (int(re.sub(r"\D", "", number)) - 1) * DAY)


def _week_of_month(match: re.Match[str], frame: Frame) -> Span | None:
    sure = not match["month"] or bool(match["year"])
    if match["month"]:
        year = int(match["year"]) if match["year"] else nearest_year(month_number(match), frame)
        first = first_of(frame, year, month_number(match))
    else:
        first = first_of(frame, frame.today.year, frame.today.month + step_of(match["which"] or "this"))
    if match["order"] in ("last", "final"):
        return replace(week_of(first_of(frame, first.year, first.month + 1) - 4 * DAY), sure=sure)
    return replace(week_of(first + (3 + 7 * (int(match["order"][0]) - 1)) * DAY), sure=sure)


def _week_of_day(match: re.Match[str], day: Span, frame: Frame) -> Span:
    del match, frame
    return week_of(day.start)


def _which_unit(match: re.Match[str], frame: Frame) -> Span | None:
    """Next week, this year, the last minute."""
    step, unit = step_of(match["which"]), match["unit"]
    if match["which"] in ("the", "my") and unit not in ("week", "weekend", "month", "year", "day"):
        return None
    whole = whole_unit(frame, unit, step)
    if whole is None:  # hours and less: from or to now
        return run_of(frame, step, length_of(unit)) if step and unit != "quarter" else None
    return whole


def _after_next(match: re.Match[str], frame: Frame) -> Span | None:
    return whole_unit(frame, match["unit"], 2 if match["way"] == "after" else -2)


_EDGES = {"early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}


def _edge_of(match: re.Match[str], whole: Span, frame: Frame) -> Span | None:
    """Early next week, the end of 2000, later this month, the rest of the year."""
    edge = match["edge"]
    if edge in ("earlier", "later", "rest"):
        if not whole.start <= frame.now < whole.end:
            return None
        begin = frame.now if whole.grain == "day" else frame.today
        if edge == "earlier":
            return Span(whole.start, begin, whole.grain)
        last = whole.end - (SECOND if whole.grain == "day" else DAY)
        return Span(begin, last if edge == "rest" else whole.end, whole.grain)
    third = _EDGES[edge]
    if whole.grain == "day":
        return Span(whole.end - SECOND, whole.end - SECOND, "time") if edge == "end" else None
    if whole.grain == "week":
        low, high = ((0, 3), (1, 4), (3, 7))[third]
        return Span(whole.start + low * DAY, whole.start + high * DAY, "week")
    if whole.grain == "month":
        low, high = ((0, 15), (9, 20), (15, 0))[third]
        return Span(whole.start + low * DAY, whole.start + high * DAY if high else whole.end, "month")
    if whole.grain == "season":
        step = (whole.end - whole.start) / 3
        return Span(whole.start + third * step, whole.start + (third + 1) * step, "season")
    if whole.grain == "year":
        low, high = ((1, 5), (5, 9), (9, 13))[third]
        year = whole.start.year
        return Span(first_of(frame, year, low), first_of(frame, year, high), "year")
    return None


def _from_now(match: re.Match[str], frame: Frame) -> Span | None:
    by = length_of(match["duration"])
    way = -1 if match["way"] in ("ago", "earlier", "back", "prior") else 1
    return point_at(moved(frame.now if by.seconds else frame.today, by, way), by)


def _ahead(match: re.Match[str], frame: Frame) -> Span | None:
    by = length_of(match["duration"])
    return point_at(moved(frame.now if by.seconds else frame.today, by, 1), by)


def _from_day(match: re.Match[str], day: Span, frame: Frame) -> Span | None:
    """Two days before yesterday; more than that: before; less than that: up to then."""
    del frame
    way = -1 if match["way"] == "before" else 1
    at = moved(day.start, length_of(match["duration"]), way)
    how = match["than"]
    if how == "less":
        return Span(min(at, day.start), max(at, day.start), "day")
    if how == "more":
        return Span(at, at, "before" if way < 0 else "after")
    return one_day(at)


def _for_from(match: re.Match[str], day: Span, frame: Frame) -> Span:
    del frame
    return Span(day.start, moved(day.start, length_of(match["duration"]), 1), "day")


def _within(match: re.Match[str], frame: Frame) -> Span:
    by = length_of(match["duration"])
    begin = frame.now if by.seconds else frame.today
    return Span(begin, moved(begin, by, 1), "time" if by.seconds else "day")


def _last_so_many(match: re.Match[str], frame: Frame) -> Span | None:
    """The past three weeks end now; the next two days begin tomorrow."""
    return run_of(frame, step_of(match["which"]), length_of(match["duration"]), match["duration"])


def _in_the_future(match: re.Match[str], frame: Frame) -> Span | None:
    return run_of(frame, 1 if match["way"] == "future" else -1, length_of(match["duration"]))


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"{pattern}(?![\w])")


# The longest match counts, so the order does not matter.
_DAYS: tuple[tuple[re.Pattern[str], _Read], ...] = tuple(
    (_compiled(pattern), rule)
    for pattern, rule in (
        (rf"{YEAR}\s*[-/.]\s*(?P<month>1[0-2]|0?[1-9])\s*[-/.]\s*{NTH}(?:t[\d:.]+z?)?", _date),
        (rf"{YEAR}{SEP}{MONTH}{SEP}{NTH}", _date),
        (rf"{LEAD}{NTH}(?:\s+of)?{SEP}{MONTH}(?:\s*[-/,.]?\s*(?:of\s+)?(?P<year>\d{{4}}|'\d\d))?", _date),
        (rf"{LEAD}{MONTH_JOINED}\s*[-/.,]?\s*(?:the\s+)?{NTH}(?:\s*[-/,.]?\s*(?:of\s+)?{YEAR})?", _date),
        (rf"{LEAD}{MONTH}\s+{NTH}\s+[\d:]+\s+{YEAR}", _date),
        (
            r"(?:on\s+|in\s+)?(?P<first>[0-3]?\d)(?P<sep>[-/.])(?P<second>[0-3]?\d)(?P=sep)(?P<year>\d{4}|\d\d)(?!\d)",
            _numbers,
        ),
        (r"(?:(?:on|in|by)\s+)?(?P<first>[0-3]?\d)[-/.](?P<second>[0-3]?\d)(?![-/.:]?\d|\s*[ap]\.?m)", _numbers),
        (
            r"(?P<beyond>(?:the\s+)?day\s+(?:before|after)\s+)?(?P<word>today|tonight|tomorrow|tmrw|tmr|yesterday)",
            _relative,
        ),
        (r"(?:right\s+)?now", _now),
        (rf"(?:on\s+)?{WHICH}\s+{WEEKDAY}", _which_weekday),
        (rf"(?:on\s+)?{WEEKDAY}", _weekday),
        (rf"(?:on\s+)?{WEEKDAY},?\s+(?=the\s|\d+[a-z])(?:the\s+)?{NTH}", _weekday_the_nth),
        (rf"(?:on\s+)?{WEEKDAY}\s+(?:of\s+)?(?:the\s+)?{WHICH}\s+week", _weekday_of_week),
        (rf"{WHICH}\s+week(?:'s)?,?\s+(?:on\s+)?{WEEKDAY}", _weekday_of_week),
        (rf"(?:the\s+)?{ORDER}\s+{WEEKDAY}(?:\s+{OF_MONTH})?", _nth_weekday),
        (rf"(?:on\s+|for\s+)?the\s+{NTH}", nth),
        (r"(?:on\s+)(?P<day>3[01]|[12]\d|[1-9])(?![\d:./-])", nth),
        (rf"(?:the\s+)?{NTH}\s+of\s+{WHICH}\s+month", _nth_of_which_month),
        (rf"(?:in\s+)?(?:{WHICH}\s+)?{MONTH}", _bare_month),
        (rf"(?:in\s+)?{MONTH}\s*,?\s*(?:of\s+)?{YEAR}", _bare_month),
        (rf"{YEAR}\s*,?\s*{MONTH}", _bare_month),
        (rf"{YEAR}\s*[-/]\s*(?P<month>1[0-2]|0?[1-9])", _bare_month),
        (rf"(?P<month>1[0-2]|0?[1-9])\s*[-/]\s*{YEAR}", _bare_month),
        (rf"(?:in\s+|the\s+)*(?P<season>spring|summer|fall|autumn|winter)(?:\s+of)?\s+{YEAR}", _season),
        (rf"{WHICH}\s+(?P<season>spring|summer|fall|autumn|winter)", _season),
        (rf"(?:in\s+|the\s+)?(?:year\s+)?{YEAR}", _plain_year),
        (r"(?:the\s+)?year\s+(?P<year>\d{1,4})", _plain_year),
        (r"(?:in\s+)?(?:the\s+)?'?(?P<decade>[12]\d\d0|\d0)'?s", _decade),
        (r"(?:the\s+)?(?P<number>\d\d?)(?:st|nd|rd|th)\s+century", _century),
        (
            rf"(?:{YEAR.replace('year', 'year_before')}\s*,?\s*)?(?P<letter>[qh])(?P<number>[1-4])(?:\s*(?:of\s+)?{YEAR})?",
            _quarter,
        ),
        (
            rf"(?:the\s+)?(?P<number>[1-4])(?:st|nd|rd|th)\s+(?P<letter>quarter|half)(?:\s+(?:of\s+)?(?:{YEAR}|{WHICH}\s+year))?",
            _quarter,
        ),
        (r"(?:the\s+)?week\s+(?P<number>\d\d?)(?!\d)", _week_number),
        (
            rf"(?:the\s+)?(?P<number>\d\d?(?:st|nd|rd|th)|last)\s+week\s+(?:of\s+)?(?:{YEAR}|(?:the\s+)?{WHICH}\s+year)",
            _week_number,
        ),
        (rf"(?:the\s+)?{ORDER}\s+week\s+{OF_MONTH}", _week_of_month),
        (rf"(?:the\s+)?{WHICH}\s+{UNIT}", _which_unit),
        (r"(?:on\s+)?(?P<which>)(?P<unit>weekend)", _which_unit),
        (
            r"(?:the\s+)?(?P<unit>week|weekend|month|year|day)\s+(?P<way>after|before)\s+(?:the\s+)?(?:next|last)",
            _after_next,
        ),
        (
            rf"(?:about\s+|around\s+)?{DURATION}\s+(?P<way>ago|earlier|back|prior|later|from now|from today|hence)",
            _from_now,
        ),
        (rf"in\s+(?:about\s+|around\s+)?{DURATION}(?:'s?\s+time)?", _ahead),
        (rf"within\s+(?:the\s+)?(?:next\s+|upcoming\s+|coming\s+|following\s+)?{DURATION}", _within),
        (rf"(?:the\s+|in the\s+)?{WHICH}\s+{DURATION}", _last_so_many),
        (rf"{DURATION}\s+in(?:to)?\s+the\s+(?P<way>future|past)", _in_the_future),
    )
)

_BARE_UNIT = re.compile(r"(?:day|week|month|year)\b")

_WRAPPING: tuple[tuple[re.Pattern[str], _Wrap], ...] = tuple(
    (re.compile(pattern), rule)
    for pattern, rule in (
        (r"(?:the\s+)?week\s+(?:of|commencing|starting|beginning)\s+(?:on\s+)?(?=\S)", _week_of_day),
        (
            r"(?:at\s+)?(?:the\s+)?(?P<edge>early|late|mid|beginning|start|middle|end|earlier|later|rest)[\s-]+(?:of\s+|in\s+)?(?:(?=the\s|my\s|this\s)|the\s+)?",
            _edge_of,
        ),
        (rf"(?:(?P<than>more|less)\s+than\s+)?{DURATION}\s+(?P<way>before|after|from)\s+", _from_day),
        (rf"for\s+{DURATION}\s*,?\s+from\s+", _for_from),
    )
)
