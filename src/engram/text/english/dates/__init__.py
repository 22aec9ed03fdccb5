"""The reader of English time expressions in questions: "the second Monday of next month", "from 5 to 6pm on April 22".

`read` returns what the longest expression of a text means, to the minute, by the patterns of `days` and `hours` on the values
of `frame`; `tense_of` and `is_perfect` what the verbs of a sentence say. The times that date a statement, in English too, and
since when something goes on are found by `text.dates`.

Weeks begin on Monday; a range ends where its last day begins; morning is 8 to 12, afternoon 12 to 16, evening 16 to 20, night
20 to midnight.
"""

from __future__ import annotations

import re
from datetime import datetime

from engram.text.english.dates.days import days_at
from engram.text.english.dates.frame import FUTURE, NOWHERE, PAST, Frame, Span
from engram.text.english.dates.hours import moments_at, ranges_at
from engram.text.english.grammar import IRREGULAR_PARTICIPLES, is_past
from engram.text.english.numerals import digits

_READ = 1_000
"""Characters that `read` looks at."""


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


def tense_of(text: str) -> str:
    """Return the tense that the verbs of a sentence show: past, future, or none."""
    return {PAST: "past", FUTURE: "future"}.get(_tense(text), "none")


def is_perfect(text: str) -> bool:
    """Return whether a sentence has a verb in the perfect, which tells of what goes on: "has worked", "been playing"."""
    words = [match.group().lower().replace("’", "'") for match in _WORDS.finditer(text)]
    for place, word in enumerate(words):
        if word == "been" and words[place - 1 : place] != ["had"]:
            return True
        after = words[place + 1 : place + 1 + _ADVERBS]
        if (word in _HAVE or word.endswith("'ve")) and any(is_past(verb) or verb in IRREGULAR_PARTICIPLES for verb in after):
            return True
        if word.endswith("'s") and after[:1] == ["had"]:
            return True
    return False


def _next(plain: str, at: int, frame: Frame) -> tuple[int, int, Span] | None:
    """Return the next time expression from this place on, the longest of those that begin together: start, end, time."""
    while (begin := _BEGIN.search(plain, at)) is not None:
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
        for reading in (*moments_at(text, at, frame), *days_at(text, at, frame), *ranges_at(text, at, frame)):
            if best is None or reading[1] > best[1]:
                best = reading
    except OverflowError:  # before the first year, or after 9999
        return None
    return best


_WORD = re.compile(r"[a-z]+|\d+|'\d*")
_BEGIN = re.compile(r"(?<![\w.])['a-z\d]")
# ---- statements ------------------------------------------------------------------------------------------------

_HAVE = frozenset({"has", "have", "hasn't", "haven't"})
_ADVERBS = 3
"""Words after "have" among which its participle is looked for: "has only just started"."""

_FUTURE_WORDS = re.compile(
    r"\b(?:will|won't|shall|tomorrow|gonna|upcoming|planning|plan|plans|hope|hoping|schedul\w+|looking forward|can't wait)\b"
    r"|['’]ll\b|\bgoing (?:to|on)\b|\b(?:is|are|'s|'re|am|'m) (?:coming|happening|getting|starting|leaving"
    r"|having|flying|visiting)\b",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[a-z]+(?:['’][a-z]+)?", re.IGNORECASE)


def _tense(text: str) -> int:
    """Return `PAST` or `FUTURE`, or 0 if the words of a sentence do not say."""
    if _FUTURE_WORDS.search(text):
        return FUTURE
    words = (match.group().lower() for match in _WORDS.finditer(text))
    return PAST if any(is_past(word) or word in ("i've", "been", "ago") for word in words) else 0
