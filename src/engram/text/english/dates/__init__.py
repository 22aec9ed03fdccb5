"""What an English time expression means, to the point: "the second Monday of next month", "from 5 to 6pm on April 22".

Comes in: a text, the moment it was said, and whether what could be either is meant to be past or to come. Goes out: the
time that the longest expression in it names, as (start, end, words). Weeks begin on Monday; a range ends where what it
names as its end begins; morning is 8 to 12, afternoon 12 to 16, evening 16 to 20, night 20 to midnight. `when.resolve`
decides whether a statement is dated by it; this only says what the words mean.
"""

from __future__ import annotations

import re
from datetime import datetime

from engram.text.english.dates.days import days_at
from engram.text.english.dates.frame import NOWHERE, PAST, Frame, Span
from engram.text.english.dates.hours import moments_at, ranges_at
from engram.text.english.numerals import digits

_LONGEST = 1_000


def read(text: str, now: datetime, lean: int = PAST) -> tuple[datetime, datetime, str] | None:
    """The longest time expression of a text: start, end (a moment is its own end) and the words that say it."""
    plain = digits(text[:_LONGEST].lower().replace("’", "'"))
    frame = Frame(now, lean)
    best: tuple[int, int, Span] | None = None
    at = 0
    while at < len(plain):
        start = _next_word(plain, at)
        if start is None:
            break
        found = _longest(plain, start, frame)
        if found is not None and (best is None or found[1] - start > best[1] - best[0]):
            best = start, found[1], found[0]
        word = _WORD.match(plain, start)
        at = found[1] if found is not None else word.end() if word is not None else start + 1
    if best is None or best[2].grain == NOWHERE:
        return None
    return (best[2].start, best[2].end, plain[best[0] : best[1]])


_WORD = re.compile(r"[a-z]+|\d+|'\d*")

_BEGIN = re.compile(r"(?<![\w.])['a-z\d]")


def _next_word(text: str, at: int) -> int | None:
    found = _BEGIN.search(text, at)
    return None if found is None else found.start()


def _longest(text: str, at: int, frame: Frame) -> tuple[Span, int] | None:
    """The longest reading that begins here: a range, a day with its hour, or one alone."""
    best: tuple[Span, int] | None = None
    for found in (*moments_at(text, at, frame), *days_at(text, at, frame), *ranges_at(text, at, frame)):
        if best is None or found[1] > best[1]:
            best = found
    return best
