"""The reader of English time expressions in questions: "the second Monday of next month", "from 5 to 6pm on April 22".

`read` returns what the longest expression of a text means, to the minute; `began` since when something goes on; `tense_of` the
tense of a sentence's verbs. All read the same patterns (`days`, `hours`, on the values of `frame`). The times that date a
statement, in English too, are found by `text.dates`.

Weeks begin on Monday; a range ends where its last day begins; morning is 8 to 12, afternoon 12 to 16, evening 16 to 20, night
20 to midnight.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from engram.text.english.dates.days import days_at
from engram.text.english.dates.frame import COUNT, FUTURE, NOWHERE, PAST, UNIT, Frame, Span, length_of
from engram.text.english.dates.hours import moments_at, ranges_at
from engram.text.english.grammar import is_past
from engram.text.english.numerals import digits

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

_NEAR = 24
"""Characters after "since" that are looked at."""

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
