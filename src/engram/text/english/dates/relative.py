"""When a sentence says something happened: "yesterday", "two weeks ago", "last Friday", "in March", "on 3 May 2023".

Comes in: a sentence and the moment it was said. Goes out: the time it names as (start, end), the end not included, in the
time zone of that moment; None if it names none or if that is not sure ("may", "march", "second", "every Monday", "for two
years"). The width of the range is the width of the words: "two weeks ago" is a week, "three years ago" a year. Weekdays
and months without a year look back in a sentence about the past, forward in one about the future, and mean nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from engram.text.english.grammar import is_past

Range = tuple[datetime, datetime]
_Rule = Callable[[re.Match[str], datetime, int], Range | None]  # the match, the day it was said, the tense of the sentence

_PAST, _UNSURE, _FUTURE = -1, 0, 1
_DAY = timedelta(days=1)


def _numbered(names: str, first: int = 0) -> dict[str, int]:
    """Names to numbers: groups between bars, one number a group."""
    return {name: number for number, group in enumerate(names.split("|"), start=first) for name in group.split()}


_MONTHS = _numbered(
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct"
    "|november nov|december dec",
    first=1,
)
_WEEKDAYS = _numbered("monday mon|tuesday tues tue|wednesday wed|thursday thurs thur thu|friday fri|saturday sat|sunday sun")
_NUMBERS = _numbered(
    "|a an one|two couple|three few|four several|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen"
    "|seventeen|eighteen|nineteen|twenty"
) | {"thirty": 30, "forty": 40, "fifty": 50}
_SEASONS = {"spring": 3, "summer": 6, "fall": 9, "autumn": 9, "winter": 12}
_HOURS = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30), "lunchtime": (11, 14)}

_MONTH = (
    r"(?P<month>jan(?:uary|\.)?|feb(?:ruary|\.)?|mar(?:ch|\.)?|apr(?:il|\.)?|may|june?|july?|aug(?:ust|\.)?|sept?(?:ember|\.)?"
    r"|oct(?:ober|\.)?|nov(?:ember|\.)?|dec(?:ember|\.)?)"
)
_WEEKDAY = (
    r"(?P<weekday>mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
)
_COUNT = r"(?:(?P<count>\d{1,3}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + r")(?:\s+of)?)"
_YEAR = r"(?P<year>(?:1[6-9]|20|21)\d\d)"
_DATE = r"(?P<day>3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_LAST = r"(?P<which>last|past|previous|next|coming|upcoming|following|this|current)"

# A sentence without any of these words or a digit names no time; most sentences stop here.
_HINT = re.compile(
    r"\d|\b(?:today|tonight|tomorrow|tmrw|yesterday|ago|last|past|previous|next|coming|upcoming|this|current|from now"
    r"|morning|january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul"
    r"|aug|sept?|oct|nov|dec|(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|in (?:an?|one|two|three|four|five|six|ten)"
    r"|earlier|the other day)\b",
    re.IGNORECASE,
)
# What may not stand before a time that is meant as a point: a habit, a length, a border, an ordinal, another number.
_NOT_AFTER = re.compile(
    r"(?:\b(?:every|each|most|all|any|for|since|until|till|by|per|than|between|to|before|after|commencing|beginning|starting"
    r"|first|second|third|fourth|fifth)\s+(?:the\s+|this\s+|on\s+)?|\bfrom\s+|\b(?:day|week|month|year)s?,?\s+(?:and\s+)?"
    r")$",
    re.IGNORECASE,
)
_NOT_BEFORE_MONTHS = re.compile(r"\d(?:st|nd|rd|th)?(?:\s+of)?\s+$", re.IGNORECASE)
_NOT_BEFORE = re.compile(r"\s+(?:to|until|till|through|the|of)\s+(?:\w+teen|twenty|the|\d|[a-z]+day)|\s*[-–]\s*\d", re.IGNORECASE)
_LOOK_BACK = 24
_FUTURE_WORDS = re.compile(
    r"\b(?:will|won't|shall|tomorrow|gonna|upcoming|planning|plan|plans|hope|hoping|schedul\w+|looking forward|can't wait)\b"
    r"|['’]ll\b|\bgoing (?:to|on)\b|\b(?:is|are|'s|'re|am|'m) (?:coming|happening|getting|starting|leaving"
    r"|having|flying|visiting)\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[a-z]+(?:['’][a-z]+)?", re.IGNORECASE)
_LONGEST = 2_000  # characters looked at: a sentence, not a document


def resolve(text: str, said_at: datetime) -> Range | None:
    """The time that `text` names, as seen from `said_at`; the first one if it names several."""
    found = _first(text, said_at)
    return found[2] if found else None


def relative(text: str, about: datetime) -> int | None:
    """Where the words end that name another day than they were said on, by that day ("yesterday", "last week"); None if the
    first time that `text` names is none such. `about`: any moment near to what it names."""
    found = _first(text, about)
    if found is None or found[1] not in _RELATIVE or found[0].group().lower().startswith(("today", "tonight", "this", "current")):
        return None
    return found[0].end()


def began(text: str, said_at: datetime) -> datetime | None:
    """Since when something goes on, where a sentence says so: "for two years now", "has worked there since March"."""
    text = text[:_LONGEST]
    if not _GOES_ON.search(text):
        return None
    today = said_at.replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if (lasted := _LASTED.search(text)) is not None and (lasted["now"] or _PERFECT.search(text)):
            more = 0.5 if lasted["half"] or lasted["and_half"] else 0.0
            return today - timedelta(days=round((_number(lasted) + more) * _LENGTHS[lasted["unit"].lower()]))
    except OverflowError:
        return None
    since = _SINCE.search(text) if _PERFECT.search(text) else None
    point = _first(f"been in {text[since.end() : since.end() + _LOOK_BACK]}", said_at) if since is not None else None
    return point[2][0] if point is not None and point[0].start() <= len("been in ") and point[2][0] < said_at else None


def _first(text: str, said_at: datetime) -> tuple[re.Match[str], _Rule, Range] | None:
    text = text[:_LONGEST]
    if not _HINT.search(text):
        return None
    today = said_at.replace(hour=0, minute=0, second=0, microsecond=0)
    tense = _tense(text)
    found: tuple[re.Match[str], _Rule, Range] | None = None
    for pattern, rule in _RULES:
        match = pattern.search(text)
        if match is None or (found and match.start() >= found[0].start()) or not _stands_free(text, match):
            continue
        try:
            meant = rule(match, today, tense)
        except (ValueError, OverflowError):  # 31 February; before year 1 or after 9999
            continue
        if meant is not None:
            found = match, rule, meant
    return found


def _stands_free(text: str, match: re.Match[str]) -> bool:
    begin = max(0, match.start() - _LOOK_BACK)
    if _NOT_AFTER.search(text, begin, match.start()) or _NOT_BEFORE.match(text, match.end()):
        return False
    return "month" not in match.re.groupindex or _NOT_BEFORE_MONTHS.search(text, begin, match.start()) is None


def _tense(text: str) -> int:
    if _FUTURE_WORDS.search(text):
        return _FUTURE
    words = (match.group().lower() for match in _WORDS.finditer(text))
    return _PAST if any(is_past(word) or word in ("i've", "been", "ago") for word in words) else _UNSURE


def _days(start: datetime, days: int = 1) -> Range:
    return start, start + days * _DAY


def _month(year: int, month: int, today: datetime) -> Range:
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    start = today.replace(year=year, month=month, day=1)
    return start, start.replace(year=year + month // 12, month=month % 12 + 1)


def _year(year: int, today: datetime) -> Range:
    start = today.replace(year=year, month=1, day=1)
    return start, start.replace(year=year + 1)


def _week(day: datetime) -> Range:
    return _days(day - day.weekday() * _DAY, 7)


def _number(match: re.Match[str]) -> int:
    word = match["count"].lower()
    return int(word) if word.isdigit() else _NUMBERS[word]


def _relative_day(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    del tense
    word = match["word"].lower()
    shift = {"yesterday": -1, "tomorrow": 1, "tmrw": 1}.get(word, 0)
    if match["beyond"]:
        shift += -1 if "before" in match["beyond"].lower() else 1
    start = today + shift * _DAY
    part = "night" if word == "tonight" else (match["part"] or "").lower()
    return _part(start, part) if part else _days(start)


def _part(day: datetime, part: str) -> Range:
    low, high = _HOURS[part]
    return day + timedelta(hours=low), day + timedelta(hours=high)


def _part_of_today(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    del tense
    return _part(today - _DAY if match["which"].lower() == "last" else today, match["part"].lower())


def _ago(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    del tense
    ahead = match["sign"].lower() not in ("ago", "earlier", "back")
    return _moved(today, _number(match) * (1 if ahead else -1), match["unit"].lower())


def _ahead(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    return _moved(today, _number(match), match["unit"].lower()) if tense == _FUTURE else None


def _moved(today: datetime, steps: int, unit: str) -> Range:
    if unit == "day":
        return _days(today + steps * _DAY)
    if unit == "week":
        return _days(today + (7 * steps - 3) * _DAY, 7)
    if unit == "weekend":
        return _days(_week(today)[0] + (7 * steps + 5) * _DAY, 2)
    if unit == "month":
        return _month(today.year, today.month + steps, today)
    return _year(today.year + steps * (10 if unit == "decade" else 1), today)


def _which_unit(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    del tense
    step = _step(match["which"])
    unit = match["unit"].lower()
    if unit == "week":
        return _week(today + 7 * step * _DAY)
    return _moved(today, step, unit)


def _step(which: str) -> int:
    word = which.lower()
    return 0 if word in ("this", "current") else -1 if word in ("last", "past", "previous") else 1


def _which_weekday(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    number = _WEEKDAYS[match["weekday"].lower()]
    step = _step(match["which"])
    if step == 0:  # "this Friday": of this week; said on a Sunday of the past, still this week
        return _days(_week(today)[0] + number * _DAY)
    return _days(today + _to_weekday(today, number, step) * _DAY)


def _to_weekday(today: datetime, number: int, step: int) -> int:
    """Days to the nearest such weekday, today not included, in that direction."""
    ahead = (number - today.weekday()) % 7
    return (ahead or 7) if step > 0 else ahead - 7


def _weekday_of_week(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    del tense
    start = _week(today + 7 * _step(match["which"]) * _DAY)[0]
    return _days(start + _WEEKDAYS[match["weekday"].lower()] * _DAY)


def _bare_weekday(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    if tense == _UNSURE:
        return None
    day = today + _to_weekday(today, _WEEKDAYS[match["weekday"].lower()], tense) * _DAY
    return _part(day, match["part"].lower()) if match["part"] else _days(day)


def _full_date(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    del tense
    return _days(today.replace(year=int(match["year"]), month=_month_number(match), day=int(match["day"])))


def _date(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    if tense == _UNSURE:
        return None
    month, day = _month_number(match), int(match["day"])
    for year in range(today.year, today.year + 9 * tense, tense):
        if (month, day) == (2, 29) and (year % 4 or (year % 100 == 0 and year % 400)):
            continue
        start = today.replace(year=year, month=month, day=day)
        if (start - today).days * tense >= 0:
            return _days(start)
    return None


def _month_number(match: re.Match[str]) -> int:
    word = match["month"].lower().rstrip(".")
    return int(word) if word.isdigit() else _MONTHS[word]


def _numeric_date(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    """Two orders are in use; a date that means something in both is taken only if both mean the same."""
    del tense
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if first > 12 or first == second:
        return _days(today.replace(year=year, month=second, day=first))
    return _days(today.replace(year=year, month=first, day=second)) if second > 12 else None


def _month_of_year(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    del tense
    return _month(int(match["year"]), _month_number(match), today)


def _bare_month(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    number = _month_number(match)
    which = (match["which"] or "").lower()
    if not which and tense == _UNSURE:
        return None
    if not match["month"][0].isupper() and match["month"].lower() in ("may", "march"):
        return None
    step = _step(which) if which else tense
    if which in ("this", "current"):
        return _month(today.year, number, today)
    year = today.year + (step if (number - today.month) * step < 0 or (number == today.month and which) else 0)
    return _month(year, number, today)


def _plain_year(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    del tense
    return _year(int(match["year"]), today)


def _season(match: re.Match[str], today: datetime, tense: int) -> Range | None:
    del tense
    first = _SEASONS[match["season"].lower()]
    step = _step(match["which"])
    start, over = _month(today.year, first, today)[0], _month(today.year, first + 3, today)[0]
    year = today.year
    if step < 0 and over > today:
        year -= 1
    elif step > 0 and start <= today:
        year += 1
    return _month(year, first, today)[0], _month(year, first + 3, today)[0]


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w/.-]){pattern}(?![\w/])", re.IGNORECASE)


_UNIT = r"(?P<unit>day|week|weekend|month|year|decade)"
_PART = r"(?P<part>morning|afternoon|evening|night)"
# The first match in the sentence counts; of those that begin at the same place, the earlier rule.
_RULES: tuple[tuple[re.Pattern[str], _Rule], ...] = tuple(
    (_compiled(pattern), rule)
    for pattern, rule in (
        (rf"{_YEAR}[-/](?P<month>1[0-2]|0?[1-9])[-/]{_DATE}(?:T[\d:.]+Z?)?", _full_date),
        (rf"(?P<first>[0-3]?\d)[-/.](?P<second>[0-3]?\d)[-/.]{_YEAR}", _numeric_date),
        (rf"(?:the\s+)?{_DATE}(?:\s+of)?[\s-]+{_MONTH},?[\s-]+{_YEAR}", _full_date),
        (rf"{_MONTH}[\s-]+(?:the\s+)?{_DATE},?\s+(?:of\s+)?{_YEAR}", _full_date),
        (rf"{_YEAR}-{_MONTH}-{_DATE}", _full_date),
        (rf"(?:the\s+)?{_DATE}(?:\s+of)?\s+{_MONTH}", _date),
        (rf"{_MONTH}\s+(?:the\s+)?{_DATE}", _date),
        (rf"{_MONTH},?\s+(?:of\s+)?{_YEAR}", _month_of_year),
        (
            rf"(?P<beyond>(?:the\s+)?day\s+(?:before|after)\s+)?(?P<word>today|tonight|tomorrow|tmrw|yesterday)(?:\s+{_PART})?",
            _relative_day,
        ),
        (rf"(?P<which>last|this)\s+{_PART}", _part_of_today),
        (
            rf"(?:about\s+|around\s+|like\s+)?(?:a\s+)?{_COUNT}\s+(?:short\s+|long\s+)?{_UNIT}s?\s+(?P<sign>ago|earlier"
            rf"|back|from\s+now|from\s+today|later)",
            _ago,
        ),
        (rf"in\s+(?:about\s+|around\s+)?(?:a\s+)?{_COUNT}\s+{_UNIT}s?(?:['’]s?\s+time)?", _ahead),
        (rf"(?:on\s+)?{_WEEKDAY}\s+(?:of\s+)?{_LAST}\s+week", _weekday_of_week),
        (rf"{_LAST}\s+week(?:['’]s)?,?\s+(?:on\s+)?{_WEEKDAY}", _weekday_of_week),
        (rf"(?:on\s+)?{_LAST}\s+{_WEEKDAY}(?:\s+(?:morning|afternoon|evening|night))?", _which_weekday),
        (rf"(?:the\s+)?{_LAST}\s+{_UNIT}(?:['’]s)?", _which_unit),
        (rf"(?:on\s+)?(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?:\s+{_PART})?", _bare_weekday),
        (r"(?:on\s+)(?P<weekday>mon|tues?|wed|thurs?|thur?|fri|sat|sun)\.?(?P<part>)", _bare_weekday),
        (r"(?P<which>last|next|this|past|coming)\s+(?P<season>spring|summer|fall|autumn|winter)", _season),
        (rf"(?:in|during|back\s+in|early|late|mid|of)[\s-]+(?:{_LAST}\s+)?{_MONTH}(?!,?\s+(?:of\s+)?\d)", _bare_month),
        (rf"{_LAST}\s+{_MONTH}", _bare_month),
        (rf"(?:in|during|back\s+in|early|late|of|year)\s+(?:the\s+year\s+)?{_YEAR}", _plain_year),
    )
)
_GOES_ON = re.compile(r"\b(?:for|since)\b", re.IGNORECASE)
_PERFECT = re.compile(r"\b(?:been|has|have|had|hasn['’]t|haven['’]t)\b|['’]ve\b", re.IGNORECASE)
_SINCE = re.compile(r"\bsince\s+(?:the\s+)?(?:start of\s+|beginning of\s+|around\s+)?", re.IGNORECASE)
_LASTED = _compiled(
    r"for\s+(?:(?:about|around|almost|nearly|roughly|over|at\s+least|more\s+than|just\s+(?:over|under)|(?:the\s+)?(?:past|last)"
    rf")\s+)*(?:a\s+)?{_COUNT}(?P<half>\s+and\s+a\s+half)?\s+(?P<unit>day|week|month|year|decade)s?"
    r"(?P<and_half>\s+and\s+a\s+half)?(?P<now>\s+now)?"
)
_LENGTHS = {"day": 1, "week": 7, "month": 30.4375, "year": 365.25, "decade": 3652.5}
_RELATIVE = (
    *(_relative_day, _part_of_today, _ago, _ahead),
    *(_weekday_of_week, _which_weekday, _which_unit, _bare_weekday, _season),
)
