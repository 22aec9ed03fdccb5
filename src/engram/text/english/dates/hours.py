"""Hours of a day (8 pm on the 15th, Tuesday in the late afternoon) and ranges from one time to another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from engram.text.english.dates.days import days_at, nth
from engram.text.english.dates.frame import (
    DAY,
    FUTURE,
    HOURS,
    MONTH,
    NTH,
    PART,
    SECOND,
    TO,
    WEEKDAY,
    WEEKDAYS,
    WHICH,
    YEAR,
    Frame,
    Span,
    first_of,
    month_number,
    one_day,
    step_of,
    week_of,
    weekday_number,
    yearless,
)
from engram.values.frozen import frozen, replace

_CLOCK = (
    r"(?:(?P<past>1/4|a quarter|quarter|half|\d{1,2})(?:\s+minutes?)?\s+(?P<sign>past|to|after|before)\s+)?"
    r"(?:(?P<hour>[01]?\d|2[0-4])(?:[:.](?P<minute>[0-5]\d))?(?::(?P<second>[0-5]\d))?(?:\s*o'?clock)?"
    r"(?:\s*(?P<half>am|pm|a\.m\.?|p\.m\.?|a\b|p\b))?|(?P<named>noon|midnight|midday))(?![\w/-]|\.\d)"
)

_CLOCK_AT = re.compile(rf"(?:(?:at|around|about|for|by|@)\s+)?{_CLOCK}")

_IN_PART = re.compile(rf",?\s*(?:in|at|during)?\s*(?:the\s+|this\s+)?{PART}")

_BETWEEN_PARTS = re.compile(r"t(?=\d)|\s*(?:,|-|;|on the|on|of|in|at|for|around|about|by)?\s*(?:(?:at|on|around)\s+)?")

_HOURS_AT = re.compile(
    rf"(?:(?:from|between)\s+)?{_CLOCK.replace('?P<', '?P<a_')}{TO}"
    rf"{_CLOCK.replace('?P<', '?P<b_')}"
)


@frozen
class _Clock:
    seconds: int
    said: bool  # with am, pm or as 19:00: it means one hour of the day
    explicit: bool  # with minutes, am or pm, or "o'clock": it is an hour even alone


def _clock(match: re.Match[str], prefix: str = "") -> _Clock | None:
    def get(name: str) -> str | None:
        found: str | None = match[f"{prefix}{name}"]
        return found

    if get("named"):
        return _Clock(0 if get("named") == "midnight" else 43_200, True, True)
    hour, half = int(get("hour") or 0), get("half")
    said = half is not None or hour > 12 or (hour == 0)
    if half:
        if hour > 12:
            return None
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    seconds = hour * 3600 + int(get("minute") or 0) * 60 + int(get("second") or 0)
    word = get("past")
    if word:
        minutes = 30 if word == "half" else 15 if "quarter" in word or word == "1/4" else int(word)
        seconds += 60 * minutes * (1 if get("sign") in ("past", "after") else -1)
    return _Clock(seconds, said, half is not None or get("minute") is not None or word is not None)


def moments_at(text: str, at: int, frame: Frame) -> Iterator[tuple[Span, int]]:
    """Yield each reading of an hour or a part of a day that begins at this place, with its end in the text."""
    yield from _day_first(text, at, frame)
    yield from _hour_first(text, at, frame)
    yield from _part_first(text, at, frame)


def _on(day: datetime, clock: _Clock, part: str | None = None) -> Span:
    seconds = clock.seconds
    if part in ("afternoon", "evening", "night", "pm", "p.m.") and not clock.said and seconds < 43_200:
        seconds += 43_200
    at = day + timedelta(seconds=seconds)
    return Span(at, at, "time")


def _within_part(day: Span, match: re.Match[str], frame: Frame) -> Span:
    low, high = HOURS[match["part"]]
    if match["edge"] == "early":
        high = low + 2
    elif match["edge"] == "late":
        low = high - 2
    end = day.start + timedelta(hours=high)
    return Span(day.start + timedelta(hours=low), end - SECOND if high == 24 else end, "time")


def _day_first(text: str, at: int, frame: Frame) -> Iterator[tuple[Span, int]]:
    """Tomorrow morning at 7; October 14, 8:00; Tuesday in the late afternoon; Friday between 1 and 4 pm."""
    for span, over in list(days_at(text, at, frame)):
        tonight = text[at:over].endswith("tonight")
        if tonight:
            yield Span(span.start + timedelta(hours=20), span.end - SECOND, "time"), over
        if span.grain != "day" or span.end - span.start != DAY:
            continue
        part: str | None = "night" if tonight else None
        inside = _IN_PART.match(text, over)
        if inside is not None and inside.end() > over:
            yield _within_part(span, inside, frame), inside.end()
            part, after = inside["part"], inside.end()
            yield from _clock_after(text, after, span.start, part, frame)
        yield from _clock_after(text, over, span.start, part, frame)


def _clock_after(text: str, over: int, day: datetime, part: str | None, frame: Frame) -> Iterator[tuple[Span, int]]:
    gap = _BETWEEN_PARTS.match(text, over)
    after = gap.end() if gap is not None else over
    if after == over:
        return
    hours = _HOURS_AT.match(text, after)
    if hours is not None and (spans := _hours_on(hours, day, part)) is not None:
        yield spans, hours.end()
    clock = _CLOCK_AT.match(text, after)
    if clock is not None and (said := _clock(clock)) is not None:
        if said.explicit or part is not None or _AT.search(text, over, clock.end()):  # a bare number may be anything
            yield _on(day, said, part), clock.end()


def _hours_on(match: re.Match[str], day: datetime, part: str | None) -> Span | None:
    one, two = _clock(match, "a_"), _clock(match, "b_")
    if one is None or two is None:
        return None
    begin, end = one.seconds, two.seconds
    if two.said and not one.said and match["b_half"] and end >= 43_200 and begin + 43_200 < end:
        begin += 43_200
    if part in ("afternoon", "evening", "night") and begin < 43_200 and not one.said:
        begin += 43_200
    if end <= begin and end < 43_200 and not two.said:
        end += 43_200
    return Span(day + timedelta(seconds=begin), day + timedelta(seconds=end), "time") if begin < end else None


def _hour_first(text: str, at: int, frame: Frame) -> Iterator[tuple[Span, int]]:
    """8pm on the 15th; 7:00 on Sunday afternoon; from 5 to 6 of April 22."""
    for pattern, spread in ((_HOURS_AT, True), (_CLOCK_AT, False)):
        match = pattern.match(text, at)
        if match is None:
            continue
        over, part = match.end(), None
        inside = _IN_PART.match(text, over)
        if inside is not None and inside.end() > over and inside["part"] in ("morning", "afternoon", "evening", "night"):
            over, part = inside.end(), inside["part"]
        gap = _BETWEEN_PARTS.match(text, over)
        after = gap.end() if gap is not None else over
        if after == over:
            continue
        bare = over + 1 if text[over : over + 1] == " " else after  # "on 15" needs its "on"
        days = [*days_at(text, after, frame), *days_at(text, bare, frame), *_part_of_today(text, after, frame)]
        for span, end in days:
            if span.grain != "day" or span.end - span.start != DAY:
                continue
            later = _IN_PART.match(text, end)
            which = part or ("night" if text[after:end].endswith("tonight") else None)
            if later is not None and later.end() > end:
                which, end = later["part"], later.end()
            made = _hours_on(match, span.start, which) if spread else _hour_on(match, span.start, which)
            if made is not None:
                yield made, end


def _part_of_today(text: str, at: int, frame: Frame) -> Iterator[tuple[Span, int]]:
    match = _PART_FIRST.match(text, at)
    if match is not None and match["which"] in ("this", "last"):
        yield one_day(frame.today - (DAY if match["which"] == "last" else 0 * DAY)), match.end()


def _hour_on(match: re.Match[str], day: datetime, part: str | None) -> Span | None:
    clock = _clock(match)
    return None if clock is None else _on(day, clock, part)


_PART_FIRST = re.compile(rf"(?:in\s+|during\s+)?(?:(?P<which>this|last|tomorrow|yesterday|the)\s+)?{PART}")

_AT = re.compile(r"\b(?:at|around|by)\s")

_OF_DAY = re.compile(r"\s*,?\s*(?:of|on)?\s*")


def _part_first(text: str, at: int, frame: Frame) -> Iterator[tuple[Span, int]]:
    """In the morning of this Tuesday; this morning at 7; last night."""
    match = _PART_FIRST.match(text, at)
    if match is None:
        return
    if match["which"] in ("this", "last") and match["part"] != "noon":
        day = one_day(frame.today - (DAY if match["which"] == "last" else 0 * DAY))
        yield _within_part(day, match, frame), match.end()
        yield from _clock_after(text, match.end(), day.start, match["part"], frame)
        return
    gap = _OF_DAY.match(text, match.end())
    after = gap.end() if gap is not None else match.end()
    if after == match.end():
        return
    for span, end in list(days_at(text, after, frame)):
        if span.grain == "day" and span.end - span.start == DAY:
            yield _within_part(span, match, frame), end
            yield from _clock_after(text, end, span.start, match["part"], frame)


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
    """Join two ends into a range; the year, the month or which of two years is meant is taken from the end that says it."""
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
