"""The one door to times in text: `find` returns all that a text names, `resolve` the one that dates a statement.

English, German, French, Spanish, Portuguese, Italian, Dutch, Chinese and Japanese share one grammar and have a table each
(`text/german/dates.toml` and so on). A text in another language is read for dates in digits that begin with the year, which
mean the same everywhere. `read` asks the English reader of questions (`text.english.dates`), which reads hours too, for English.

A weekday, a day of the month or a month without a year goes forward where the tense is "future", back where it is "past", and
forward where it is "now" or "none". Weeks begin on Monday: "next Friday" is the Friday of next week, "this Friday" that of this
week. The end of a time is not included; the time zone is that of the moment it was said.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime

from engram.text.dates.calendar import DAY, day_of, midnight
from engram.text.dates.lexicon import TABLES, fold, lexicon
from engram.text.dates.spans import spans
from engram.text.language import language_of
from engram.values.frozen import frozen

Range = tuple[datetime, datetime]

PAST, FUTURE = -1, 1
"""Directions in which `read` looks for a weekday or a month without a year."""

TENSES = ("past", "now", "future", "none")

_SENTENCE = 2_000
"""Characters that are read: a statement, not a document."""


@frozen
class DateSpan:
    """A time that a text names.

    start, end: its place in the text. first, until: the time, end not included. grain: the unit of the words (day, part, week,
    month, range …). relative: the words count from the day they were said. role: on, by, until, since, from, range, for a length
    that goes on or is over, or every for a habit, which has no time of its own.
    """

    start: int
    end: int
    first: datetime
    until: datetime
    grain: str
    relative: bool
    role: str


def find(text: str, at: datetime, *, language: str = "", tense: str = "none") -> list[DateSpan]:
    """Return the times that a text in this language names, in their order; a language that is not given is recognised."""
    text = text[:_SENTENCE]
    language = language or language_of(text)
    if language not in TABLES:
        return list(_in_digits(text, at))
    folded, places = _composed(text)
    try:
        guess = _guess(text) if tense == "none" and language == "en" else "none"
        found = spans(folded, lexicon(language), at, tense, guess, _capitals(text, places) if language == "de" else frozenset())
    except (ValueError, OverflowError):  # said in the first or the last year that there is
        return []
    return [
        DateSpan(places[start], places[end], time.first, time.until, time.grain, time.relative, role)
        for start, end, time, role in found
    ]


def resolve(text: str, at: datetime, *, language: str = "", tense: str = "none") -> Range | None:
    """Return the time that dates a statement: the first that is a point or a range, as seen from `at`.

    A deadline dates a plan ("by Friday" on that Friday); a habit ("every Monday") dates nothing. Something that goes on now
    until a day has begun already: it is dated from the day it was said.
    """
    for span in find(text, at, language=language, tense=tense):
        if span.role == "every" or span.grain == "length" or not span.first < span.until:
            continue
        if span.role == "until" and tense == "now" and midnight(at) < span.first:
            return midnight(at), span.until
        return span.first, span.until
    return None


def read(text: str, now: datetime, lean: int = PAST, *, language: str = "") -> tuple[datetime, datetime, str] | None:
    """Return the longest time expression of a question: start, end (a moment is its own end) and the words that say it."""
    language = language or language_of(text)
    if language in ("en", ""):
        from engram.text.english.dates import read as read_english

        return read_english(text, now, lean)
    found = [span for span in find(text, now, language=language, tense="past" if lean < 0 else "future") if span.role != "every"]
    if not found:
        return None
    longest = max(found, key=lambda span: span.end - span.start)
    return longest.first, longest.until, text[longest.start : longest.end].lower()


def began(text: str, said_at: datetime, *, language: str = "") -> datetime | None:
    """Return since when something goes on: "for two years now", "has worked there since March", "seit zwei Jahren".

    English says by its verbs whether it still does: "for two years" needs the perfect, "since March" any tense but the past.
    """
    language = language or language_of(text) or "en"
    is_perfect = language == "en" and _is_perfect(text)
    for span in find(text, said_at, language=language, tense="now"):
        is_since = span.role == "since" and (language != "en" or is_perfect or span.grain == "length" or _is_state(text, span))
        if is_since or (span.role == "for" and is_perfect):
            return span.first if span.first < said_at else None
    return None


def relative_end(text: str, about: datetime, *, language: str = "") -> int | None:
    """Return the end of the words that name another day by the day they were said on ("yesterday", "last week").

    None if the first time that `text` names is no such day. `about`: any moment near to the named one.
    """
    for span in find(text, about, language=language):
        if span.role == "every" or span.grain == "length":
            continue
        return span.end if span.relative and not span.first <= about < span.until else None
    return None


def _guess(text: str) -> str:
    """Return the tense that English verbs show."""
    from engram.text.english.dates import tense_of

    return tense_of(text)


def _is_perfect(text: str) -> bool:
    from engram.text.english.dates import is_perfect

    return is_perfect(text)


def _is_state(text: str, span: DateSpan) -> bool:
    """Return whether English words beside a time tell of something that is so, as "sober since March"."""
    beside = text[: span.start] + text[span.end :]
    return any(char.isalpha() for char in beside) and _guess(beside) == "none"


def _composed(text: str) -> tuple[str, Sequence[int]]:
    """Return the folded text and the place of each of its characters in `text`, where accents may stand apart."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return fold(text), range(len(text) + 1)
    kept = [(place, char) for place, char in enumerate(text) if not unicodedata.combining(char)]
    return fold("".join(char for _, char in kept)), [*(place for place, _ in kept), len(text)]


def _capitals(text: str, places: Sequence[int]) -> frozenset[int]:
    """Return the places of the folded text where `text` has a capital letter; German nouns begin with one."""
    return frozenset(place for place, at in enumerate(places[:-1]) if text[at].isupper())


_YEAR_FIRST = re.compile(r"(?<![\d.-])([12]\d{3})-(0[1-9]|1[0-2])-([0-3]\d)(?!\d)")


def _in_digits(text: str, at: datetime) -> Iterator[DateSpan]:
    for match in _YEAR_FIRST.finditer(text):
        try:
            first = day_of(at, *map(int, match.groups()))
            yield DateSpan(match.start(), match.end(), first, first + DAY, "day", False, "on")
        except (ValueError, OverflowError):
            continue
