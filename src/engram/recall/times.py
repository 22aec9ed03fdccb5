"""Read the time that a question is about: a period, or an event that the answer lies before, after or in. Pure.

A period bounds the answer (§39) if the question asks for what was: "What did I do in May?". A time to come, or one in a question
for advice or for a length of time, bounds nothing. The rules on verbs and events read English; periods are read in every
language that `text.dates` knows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from engram.index.terms import STOP_WORDS
from engram.text.dates import DateSpan, find, read
from engram.text.dates.calendar import DAY, Length, length_of, midnight, moved, unit_at
from engram.text.english.grammar import is_past
from engram.text.english.numerals import digits
from engram.text.terms import terms
from engram.values.frozen import frozen, replace

Range = tuple[datetime, datetime]


@frozen
class Anchor:
    """An event by which a question gives a time: "the two days before the launch", "when we were in Lisbon".

    event: its words. rest: the question without them, if the event itself is no answer. way: the time lies before (-1) or after
    (1) it, or is its own (0); from it until now if `open`. unit, count: the length of that time, for 0 the unit of the calendar
    around it; without a unit the event itself is the time. said: the event is the talk about a matter ("since we planned the
    trip"), which is dated by when it was said.
    """

    event: str
    way: int
    unit: str = ""
    count: int = 1
    open: bool = False
    said: bool = False
    rest: str = ""


@frozen
class Asked:
    """The time that a question asks about.

    when: the period. bounds: only what lies in it, or at the event, is an answer. anchor: the event that gives it. broad: it asks
    for whatever there is of that time. in_order: it asks what came first, how often or how long after.
    """

    when: Range | None = None
    bounds: bool = False
    anchor: Anchor | None = None
    broad: bool = False
    in_order: bool = False


_UNITS = "day|night|morning|evening|weekend|week|fortnight|month|year"
_NUMBER = r"\d+|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|few|couple of"
_ONE = r"(?:my|our|the|his|her|their|that|this|your|i|we|you|he|she|they)\b"
_BESIDE = re.compile(
    rf"\bthe (?:(?P<count>{_NUMBER}) )?(?P<unit>{_UNITS})s? (?:right |just |immediately )?"
    r"(?P<way>before|after|following|prior to|preceding|leading up to|of|in which|that|when)"
    rf" (?P<event>(?:{_ONE}|(?<=before )|(?<=after ))[^,?!;]+)"
)
_WHILE = re.compile(
    r"\b(?:(?:when|while) (?P<stay>(?:i|we|he|she|they) (?:was|were) (?:in|at|on|away|over)\b[^,?!;]+)"
    rf"|since (?P<start>{_ONE}[^,?!;]+))"
)
_TALK = re.compile(
    r"(?:i|we|you) (?:\w+ )?(?:planned|asked|talked|spoke|discussed|started|began|told|mentioned|brought|decided|chose|agreed)\b"
)
_LENGTH = re.compile(
    r"\bhow (?:long|many (?:\w+ )?(?:hours|days|nights|weeks|months|years)|much time)\b"
    r".*\b(?:ago|since|between|passed|until|before|after|lay)\b"
)
_TO_COME = re.compile(r"\b(?:will|shall|should|could|would|can|might|must|gonna|next|upcoming|tomorrow)\b|'ll\b")
_PERSON = r"(?:i|we|you|he|she|it|they|my|our|the|his|her|their|\w+)"
_LOOKS_BACK = re.compile(
    r"\b(?:what|which|who|whom|whose|where|when|why|how)\b.*\b(?:did|was|were|happen(?:ed|s)?|went|been)\b"
    r"|^(?:and |so |ok |hey )*(?:did|was|were)\b"
    rf"|\b(?:have|has|had) {_PERSON}(?: \w+)? \w+(?:ed|en|ne)\b|\b(?:have|has|had) (?:i|we|you|he|she|they) \w+"
)
_GIVES_BACK = re.compile(r"\b(?:remind|tell|show|recap|summari[sz]e|list|anything|everything|what|which|who|where|how)\b")
_NOW = re.compile(r"\b(?:is|are|am|do|does)\b|'(?:s|re|m)\b")
_COMPARES = re.compile(r"\b(?:than|versus|vs|compared)\b")
_UP_TO = re.compile(r"\b(?<=[a-z] )up to(?= (?:in|on|over|during|since|around|between|from|last|this|the|back|two|three|a)\b)")
_AGO = re.compile(r"\b(week|month|year)s? (?:ago|back|earlier)$")
_SIDE = re.compile(
    rf"\b(?:(?:the|last) (?:(?P<count>{_NUMBER}) )?(?P<unit>{_UNITS})s? )?(?P<way>before|prior to|after)(?: the)? $"
)
_PART = re.compile(rf"\b(?P<which>first|last) (?P<count>{_NUMBER}) (?P<unit>{_UNITS})s? of (?:the )?$")
_ONWARDS = re.compile(r" on(?:wards?)?\b")
_LED = re.compile(r"(?:before|prior to|after) ")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*|spring|summer|autumn|fall|winter|[12]\d{3}"
_DATED = re.compile(rf"\b(?:{_MONTH}|christmas|easter)\b")
_TIME = re.compile(rf"\b(?:{_MONTH}|last|this|past|ago|yesterday|today|tonight)\b")
_ORDER = re.compile(
    r"\bin (?:which|what|the|that)?\s?(?:order|sequence)\b(?! to\b)|\bchronological|^(?:\w+ )?how often\b|\bby date\b"
    r"|\bhow (?:long|many \w+|much time)\b.*\b(?:since|between|passed|after|from when|from the first)\b"
    r"|\b(?:which|what|who)\b.*\b(?:first|earlier)\b(?=,| or\b|$|\?)|\bfirst, (?:second|then)\b|\bbefore or after\b"
)
_LIGHT = frozenset({
    "do", "did", "done", "doing", "does", "happen", "happened", "happening", "happens", "go", "going", "went", "gone", "busy",
    "mind", "life", "thing", "things", "stuff", "talk", "talked", "talking", "chat", "chatted", "discuss", "discussed", "tell",
    "told", "say", "said", "saying", "mention", "mentioned", "bring", "brought", "raise", "raised", "ask", "asked", "work",
    "worked", "working", "deal", "dealing", "everything", "anything", "something", "subject", "subjects", "topic", "topics",
    "matter", "matters", "news", "remind", "list", "show", "summary", "summarise", "summarize", "recap", "back", "ok", "hey",
    "hm", "um", "please", "really", "know", "remember", "time", "times", "during", "over", "since", "between", "until", "till",
    "up", "all", "get", "got", "have", "been", "past", "last", "this", "ago", "also", "us", "else", "new", "main", "first",
    "second", "third", "day", "days", "week", "weeks", "weekend", "month", "months", "year",
})  # fmt: skip
"""Words that name no matter of their own beside a time."""


def asked_time(text: str, now: datetime, language: str) -> Asked:
    """Return the time that a question, asked at `now`, is about."""
    if language not in ("en", ""):
        when = _in_other_language(text, now, language)
        return Asked(when, bounds=when is not None and when[0] <= now)
    plain = text.lower().replace("’", "'")
    in_order = bool(_ORDER.search(plain))
    free = not in_order and not _LENGTH.search(plain) and not _COMPARES.search(plain)
    anchor, named = _anchor(plain, now)
    if anchor is not None and free and _looks_back(plain, named):
        rest = " ".join(plain.replace(named, " ").strip(" ,").split()) if anchor.way else ""
        return Asked(None, bounds=True, anchor=replace(anchor, rest=rest), broad=_is_broad(plain, [named]))
    when, words = _period(plain, now)
    if when is None:
        return Asked(in_order=in_order)
    bounds = when[0] <= now and free and _looks_back(plain, words[0])
    return Asked(when, bounds=bounds, broad=bounds and _is_broad(plain, words), in_order=in_order)


_PRECISE = 14 * DAY
"""Longest event whose last day is taken at its word."""


def around(anchor: Anchor, event: Range, now: datetime) -> Range:
    """Return the period that an anchor gives, for an event of this time."""
    first = midnight(event[0])
    until = max(event[1], first + DAY)
    if anchor.way and until - first > _PRECISE:  # "about two months ago": its end says nothing
        until = first + DAY
    if anchor.open:
        return first, now
    unit = {"night": "day", "morning": "day", "evening": "day"}.get(anchor.unit, anchor.unit)
    if not unit:
        return first, until
    if anchor.way == 0:
        whole = unit_at(first, unit, 0)
        return (first, until) if whole is None else (whole.first, whole.until)
    if unit == "weekend":
        shift = anchor.way if anchor.way > 0 or first.weekday() < 5 else -1
        whole = unit_at(first, unit, shift)
        return (first, until) if whole is None else (whole.first, whole.until)
    length = length_of(anchor.count, unit)
    if length is None:
        return first, until
    return (moved(first, length, -1), first) if anchor.way < 0 else (until, moved(until, length, 1))


# ── periods ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _in_other_language(text: str, now: datetime, language: str) -> Range | None:
    named = read(text, now, language=language)
    return None if named is None or named[0] >= named[1] else (named[0], named[1])


def _period(plain: str, now: datetime) -> tuple[Range | None, list[str]]:
    """Return the period that lower-case English words name, and the words that do, the chosen ones first."""
    tense = "future" if _TO_COME.search(plain) and not _LOOKS_BACK.search(plain) else "past"
    masked = _UP_TO.sub("doing", plain)
    spans = [span for span in find(masked, now, language="en", tense=tense) if _is_period(masked, span)]
    named = read(masked, now) if _TIME.search(masked) else None
    if named is not None and (
        named[0] >= named[1] or not _TIME.search(named[2]) or named[2] in _ALONE or _VAGUE.search(named[2])
    ):
        named = None
    if not spans and named is not None:
        place = max(masked.find(named[2]), 0)
        spans = [DateSpan(place, place + len(named[2]), named[0], named[1], "day", False, "on")]
    if not spans:
        return None, []

    def rank(span: DateSpan) -> tuple[bool, bool, int]:
        words = masked[span.start : span.end]
        return bool(_DATED.search(words)), span.role in ("range", "since"), len(words)

    spans.sort(key=rank, reverse=True)
    words = [masked[span.start : span.end] for span in spans]
    when = _whole(masked, spans[0], now, tense)
    is_part = named is not None and when[0] <= named[0] and named[1] <= when[1] and not _AGO.search(words[0])
    if named is not None and is_part and spans[0].role == "on" and "week" in named[2]:  # "the first week of Feb"
        return (named[0], named[1]), [named[2], *words]
    for span in spans[1:]:
        other = _whole(masked, span, now, tense)
        if when[0] < other[1] and other[0] < when[1]:
            when = max(when[0], other[0]), min(when[1], other[1])
    return when, words


_ALONE = frozenset({"may", "march", "mar", "sun", "sat", "mon", "wed", "the week", "the morning", "this", "last"})
"""Words for times that, standing alone, more often mean something else."""


def _is_period(text: str, span: DateSpan) -> bool:
    said = text[span.start : span.end]
    if _VAGUE.search(said):
        return False
    if span.role == "by" and _LED.match(said):
        return True
    return span.role not in ("every", "for", "by") and span.grain != "length" and span.first < span.until and said not in _ALONE


def _whole(text: str, span: DateSpan, now: datetime, tense: str) -> Range:
    """Return the period of a span in whole days, or in the unit of the calendar that "two months ago" counts in."""
    said, first, until = text[span.start : span.end], span.first, span.until
    if tense == "past" and first > now and not span.relative and not re.search(r"\d{4}", said):
        first, until = moved(first, _YEAR, -1), moved(until, _YEAR, -1)
    if (ago := _AGO.search(said)) is not None and (unit := unit_at(first, ago[1], 0)) is not None:
        return unit.first, unit.until
    led = _LED.match(said)
    before = text[: span.start] + (led.group() if led is not None else "")
    if (part := _PART.search(before)) is not None and (length := length_of(_number(part["count"]), part["unit"])) is not None:
        return (first, moved(first, length, 1)) if part["which"] == "first" else (moved(until, length, -1), until)
    today = midnight(now)
    is_open = span.role == "from" and _ONWARDS.match(text, span.end)  # "the invoice from March" is of March
    if span.role == "since" or is_open:
        return first, today + DAY
    if span.relative and span.grain == "range" and until == today:  # "the past ten days" reach to now
        return first, today + DAY
    side = _SIDE.search(before)
    if side is not None and side["unit"]:  # "the week before 9 June"
        way = 1 if side["way"] == "after" else -1
        return around(Anchor("", way, side["unit"], _number(side["count"] or "1")), (first, until), now)
    if side is not None:
        return (until, today + DAY) if side["way"] == "after" else (_EARLIEST.replace(tzinfo=first.tzinfo), first)
    if span.role == "until":
        return _EARLIEST.replace(tzinfo=first.tzinfo), until
    return midnight(first), max(until, midnight(first) + DAY)


_EARLIEST = datetime(1, 1, 2, tzinfo=UTC)


def _looks_back(plain: str, named: str) -> bool:
    """Return whether the sentence that names a time asks for what was, by its verbs."""
    sentence = next((part for part in _SENTENCE.split(plain) if named in part), plain)
    if _WHEN_CLAUSE.search(sentence[: sentence.find(named)]):  # "What did they say when we met on Sunday?" tells which event
        return False
    if _LOOKS_BACK.search(sentence):
        return True
    has_past = any(is_past(word) for word in terms(sentence))
    return bool(_GIVES_BACK.search(sentence)) and has_past and not _TO_COME.search(sentence) and not _NOW.search(sentence)


_WHEN_CLAUSE = re.compile(r"\w+ (?:when|while|after|before) (?:i|we|you|he|she|it|they|my|our|the|his|her|their)\b[^,]*$")
_VAGUE = re.compile(r"\b(?:few|couple|several|some|many)\b")
_SENTENCE = re.compile(r"(?<=[.!?]) ")
_YEAR = Length(months=12)


def _number(words: str) -> int:
    return {"few": 3, "couple of": 2}.get(words) or int(digits(words))


def _is_broad(plain: str, named: Sequence[str]) -> bool:
    """Return whether nothing but a time is asked for: no word of a matter stands beside it."""
    for words in named:
        plain = plain.replace(words, " ")
    return not set(terms(plain)) - STOP_WORDS - _LIGHT


# ── events ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _anchor(plain: str, now: datetime) -> tuple[Anchor | None, str]:
    """Return the event by which a question gives its time, and all words that do; None if a date takes its place."""
    for match in _BESIDE.finditer(plain):
        event = match["event"].strip(" .")
        if _is_event(event, now):
            sides = {"before": -1, "prior to": -1, "preceding": -1, "leading up to": -1, "after": 1, "following": 1}
            count = _number(match["count"]) if match["count"] else 1
            way, said = sides.get(match["way"], 0), bool(_TALK.match(event))
            return Anchor(event, way, match["unit"], count, said=said), match.group()
    for match in _WHILE.finditer(plain):
        event = (match["stay"] or match["start"]).strip(" .")
        if _is_event(event, now):
            return Anchor(event, 0, open=match["start"] is not None, said=bool(_TALK.match(event))), match.group()
    return None, ""


def _is_event(event: str, now: datetime) -> bool:
    """Return whether words after "before" or "since" tell of something that happened, and do not begin with a date."""
    if not set(terms(event)) - STOP_WORDS or _TIME.search(" ".join(event.split()[:2])):
        return False
    return not any(len(event[: span.start].split()) < 2 for span in find(event, now, language="en", tense="past"))


def lies_within(when: Range, start: datetime, end: datetime | None) -> bool:
    """Return whether something lies in a period: a moment, or at least half of an event that has an end."""
    if end is None or end <= start:
        return when[0] <= start < when[1]
    return (min(end, when[1]) - max(start, when[0])) * 2 >= end - start


def named(when: Range) -> str:
    """Return a period in words: its first and its last day."""
    first, last = when[0].date(), (when[1] - timedelta(microseconds=1)).date()
    if first.year == 1:
        return f"until {last}"
    return f"{first}" if first >= last else f"{first} to {last}"
