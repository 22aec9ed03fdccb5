"""The one reader of English time expressions: "the second Monday of next month", "two weeks ago", "from 5 to 6pm on April 22".

`read` returns what the longest expression of a text means, to the point. `resolve` returns the time that dates a statement,
`began` since when something goes on, `relative_end` the place of words that count from the day they were said. All read the
same patterns (`days`, `hours`, on the values of `frame`); `Frame.dating` says where a statement is to be dated.

`read`: weeks begin on Monday; a range ends where its last day begins; morning is 8 to 12, afternoon 12 to 16, evening 16 to 20,
night 20 to midnight.

`resolve`: the end is not included, the time zone is that of the moment it was said. None if the text names no time or if that
is not sure ("may", "march", "second", "every Monday", "for two years"). The range is as wide as the words: "two weeks ago" is a
week, "three years ago" a year. Weekdays and months without a year look back in a sentence about the past, forward in one about
the future, and mean nothing else.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from engram.text.english.dates.days import days_at
from engram.text.english.dates.frame import COUNT, FUTURE, MONTH, NOWHERE, PAST, UNIT, WEEKDAY, Frame, Span, length_of
from engram.text.english.dates.hours import moments_at, ranges_at
from engram.text.english.grammar import is_past
from engram.text.english.numerals import digits, place_before_digits

Range = tuple[datetime, datetime]

_READ = 1_000
"""Characters that `read` looks at."""

_SENTENCE = 2_000
"""Characters of a statement: a sentence, not a document."""


def read(text: str, now: datetime, lean: int = PAST) -> tuple[datetime, datetime, str] | None:
    """Return the longest time expression of a text: start, end (a moment is its own end) and the words that say it."""
    plain = digits(text[:_READ].lower().replace("’", "'"))
    frame, at = Frame(now, lean), 0
    best: tuple[int, int, Span] | None = None
    while (found := _next(plain, at, frame)) is not None:
        start, at, _ = found
        if best is None or at - start > best[1] - best[0]:
            best = found
    if best is None or best[2].grain == NOWHERE:
        return None
    return (best[2].start, best[2].end, plain[best[0] : best[1]])


def resolve(text: str, said_at: datetime) -> Range | None:
    """Return the time that `text` names, as seen from `said_at`; the first one if it names several."""
    first = _first(_masked(text), said_at)
    return (first[1].start, first[1].end) if first else None


def relative_end(text: str, about: datetime) -> int | None:
    """Return the end of the words that name another day by the day they were said on ("yesterday", "last week").

    None if the first time that `text` names is no such day. `about`: any moment near to the named one.
    """
    masked = _masked(text)
    first = _first(masked, about)
    if first is None or not first[1].relative:
        return None
    end, _, words = first
    return None if _SAME_DAY.search(words) else place_before_digits(_lower(masked), end)


def began(text: str, said_at: datetime) -> datetime | None:
    """Return since when something goes on: "for two years now", "has worked there since March"."""
    if not _GOES_ON.search(text, 0, _SENTENCE):
        return None
    plain = digits(_lower(text[:_SENTENCE]))
    is_perfect = _PERFECT.search(plain) is not None
    lasted = _LASTED.search(plain)
    if lasted is not None and (lasted["now"] or is_perfect):
        return _day_before(said_at, lasted)
    since = _SINCE.search(plain) if is_perfect else None
    if since is None:
        return None
    after = f"in {plain[since.end() : since.end() + _NEAR]}"  # "in": "since 2016" and "since March" have none of their own
    point = _next(after, 0, Frame(said_at, PAST, dating=True))
    return point[2].start if point is not None and point[0] <= len("in ") and point[2].start < said_at else None


def tense_of(text: str) -> str:
    """Return the tense that the verbs of a sentence show: past, future, or none."""
    return {PAST: "past", FUTURE: "future"}.get(_tense(text), "none")


def _day_before(said_at: datetime, lasted: re.Match[str]) -> datetime | None:
    """Return the day on which something began that has lasted so long; None for hours, and before the first year."""
    whole = length_of(f"{lasted['count']} {lasted['unit']}")
    half = length_of(f"1 {lasted['unit']}") if lasted["half"] or lasted["and_half"] else None
    if whole.seconds or lasted["count"].startswith("half"):
        return None
    days = whole.days + whole.months * _DAYS_OF_MONTH + ((half.days + half.months * _DAYS_OF_MONTH) / 2 if half else 0)
    try:
        return said_at.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=round(days))
    except OverflowError:
        return None


def _first(text: str, said_at: datetime) -> tuple[int, Span, str] | None:
    """Return the first time that dates a statement: its end in the text with digits, the time, and its words."""
    if not _HINT.search(text):
        return None
    plain = digits(_lower(text))
    tense = _tense(text)
    at = listed = 0
    frame = Frame(said_at, tense or PAST, dating=True)
    while (found := _next(plain, at, frame)) is not None:
        start, end, span = found
        words = plain[start:end].rstrip(" ,.")
        if not _stands_free(plain, start, end) or (listed and _LISTED.fullmatch(plain, listed, end)):
            listed = end if _A_WEEKDAY.fullmatch(words) else 0
            leads = _LEADS.match(plain, start)
            start = leads.end() if leads is not None else start
        elif (tense or span.sure) and span.start < span.end:
            return start + len(words), span, words
        at = _word_end(plain, start)  # "for next Friday" holds "Friday"
    return None


def _next(plain: str, at: int, frame: Frame) -> tuple[int, int, Span] | None:
    """Return the next time expression from this place on, the longest of those that begin together: start, end, time."""
    begins = _BEGIN_DATING if frame.dating else _BEGIN
    while (begin := begins.search(plain, at)) is not None:
        start = begin.start()
        if (longest := _longest(plain, start, frame)) is not None:
            return start, longest[1], longest[0]
        at = _word_end(plain, start)
    return None


def _word_end(plain: str, start: int) -> int:
    word = _WORD.match(plain, start)
    return start + 1 if word is None else word.end()


def _longest(text: str, at: int, frame: Frame) -> tuple[Span, int] | None:
    """Return the longest reading that begins here: a range, a day with its hour, or either alone."""
    best: tuple[Span, int] | None = None
    try:
        ranges = () if frame.dating else ranges_at(text, at, frame)
        for reading in (*moments_at(text, at, frame), *days_at(text, at, frame), *ranges):
            if best is None or reading[1] > best[1]:
                best = reading
    except OverflowError:  # before the first year, or after 9999
        return None
    return best


_WORD = re.compile(r"[a-z]+|\d+|'\d*")
_BEGIN = re.compile(r"(?<![\w.])['a-z\d]")
# Beginnings of the words with which a time that dates a statement can begin: the patterns are tried at these places only.
_BEGIN_DATING = re.compile(
    r"(?<![\w.])(?:\d|an?\b|about|around|few|several|couple|half|more|less|the\b|my\b|on\b|in\b|at\b|during|today|tonight|tomorrow"
    r"|tmr|yest|day\b|week|month\b|year\b|last|past|prev|prior|next|coming|upcom|follow|this|curr|same|final|jan|feb|mar|apr|may|jun"
    r"|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun|earl|late|mid|begin|start|end|morning|noon|afternoon|evening|night"
    r"|spring|summer|fall|autumn|winter|[qh][1-4])"
)


# ---- statements ------------------------------------------------------------------------------------------------

# A sentence without any of these words or a digit names no time; most sentences stop here.
_HINT = re.compile(
    r"\d|\b(?:today|tonight|tomorrow|tmrw?|yesterday|ago|last|past|previous|next|coming|upcoming|this|current|from now|earlier"
    r"|january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?"
    r"|oct|nov|dec|(?:mon|tues|wednes|thurs|fri|satur|sun)day|weekend|in (?:an?|one|two|three|four|five|six|ten))\b",
    re.IGNORECASE,
)
# Words before a time that make it no point: a habit, a length, a border, an ordinal, another number.
_NOT_AFTER = re.compile(
    r"(?:\b(?:every|each|most|all|any|for|since|until|till|by|per|than|between|to|before|after|commencing|beginning|starting"
    r"|(?:1st|2nd|3rd|[45]th))\s+(?:the\s+|this\s+|on\s+)?|\bfrom\s+|\b(?:day|week|month|year)s?,?\s+(?:and\s+)?|[/-])$"
)
_A_WEEKDAY = re.compile(rf"(?:on\s+)?{WEEKDAY}")
_LISTED = re.compile(rf"[\s,*]*(?:and|or|through|to|&)?[\s*]*{WEEKDAY}[\s,]*")  # "every Monday, Wednesday and Friday"
_LEADS = re.compile(r"(?:(?:in|on|the|during|early|late|mid)[\s-]+)+")
_SAME_DAY = re.compile(r"(?<!from )\b(?:today|tonight|this|current)\b")
_EDGE = re.compile(r"(?:the\s+)?(?:beginning|start|middle|end)\s+of\s")  # "by the end of May" is a point
_A_MONTH = re.compile(rf"(?:in\s+)?{MONTH}")
_NUMBER_BEFORE = re.compile(r"\d(?:st|nd|rd|th)?(?:\s+of)?\s+$")
_NOT_BEFORE = re.compile(r"\s+(?:to|until|till|through|the|of)\s+(?:the|\d|[a-z]+day)|\s*[-–]\s*\d|/")
_NEAR = 24
"""Characters before and after a time that are looked at."""

_NO_TIME = re.compile(
    r"\b(?:may|march)\b(?![\s-]+(?:the\s+)?\d|,?\s+(?:of\s+)?\d)"  # lower-case: the verbs
    r"|\b[Oo]ne\b(?!(?i:\s+(?:(?:short|long|more)\s+)?(?:day|week|fortnight|month|quarter|year|decade)))"  # "in May one of us"
)
_DAY_BEFORE = re.compile(r"\d(?:st|nd|rd|th)?(?:\s+of)?[\s-]+$", re.IGNORECASE)
_FUTURE_WORDS = re.compile(
    r"\b(?:will|won't|shall|tomorrow|gonna|upcoming|planning|plan|plans|hope|hoping|schedul\w+|looking forward|can't wait)\b"
    r"|['’]ll\b|\bgoing (?:to|on)\b|\b(?:is|are|'s|'re|am|'m) (?:coming|happening|getting|starting|leaving"
    r"|having|flying|visiting)\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[a-z]+(?:['’][a-z]+)?", re.IGNORECASE)


def _lower(text: str) -> str:
    """Return the text in lower case and with plain apostrophes, every character at its place."""
    lower = text.lower().replace("’", "'")
    return lower if len(lower) == len(text) else "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _masked(text: str) -> str:
    """Return a statement without the words that only look like a time, every character at its place."""
    return _NO_TIME.sub(_mask, text[:_SENTENCE])


def _mask(match: re.Match[str]) -> str:
    is_date = _DAY_BEFORE.search(match.string, max(0, match.start() - _NEAR), match.start()) is not None
    return match.group() if is_date else "_" * len(match.group())


def _stands_free(plain: str, start: int, end: int) -> bool:
    """Return whether the words around a time leave it a point: not "every Monday", "from Monday", "3 to 5 May"."""
    before = max(0, start - _NEAR)
    if _NOT_BEFORE.match(plain, end) or (_NOT_AFTER.search(plain, before, start) and not _EDGE.match(plain, start)):
        return False
    return _A_MONTH.match(plain, start) is None or _NUMBER_BEFORE.search(plain, before, start) is None


def _tense(text: str) -> int:
    """Return `PAST` or `FUTURE`, or 0 if the words of a sentence do not say."""
    if _FUTURE_WORDS.search(text):
        return FUTURE
    words = (match.group().lower() for match in _WORDS.finditer(text))
    return PAST if any(is_past(word) or word in ("i've", "been", "ago") for word in words) else 0


_GOES_ON = re.compile(r"\b(?:for|since)\b", re.IGNORECASE)
_PERFECT = re.compile(r"\b(?:been|has|have|had|hasn't|haven't)\b|'ve\b")
_SINCE = re.compile(r"\bsince\s+(?:the\s+)?(?:start of\s+|beginning of\s+|around\s+)?")
_LASTED = re.compile(
    r"(?<![\w/.-])for\s+(?:(?:about|around|almost|nearly|roughly|over|at\s+least|more\s+than|just\s+(?:over|under)"
    rf"|(?:the\s+)?(?:past|last))\s+)*{COUNT}(?P<half>\s+and\s+a\s+half)?\s+{UNIT}(?P<and_half>\s+and\s+a\s+half)?"
    r"(?P<now>\s+now)?(?![\w/])"
)
_DAYS_OF_MONTH = 30.4375
"""Days of a month on average; twelve are 365.25."""
