"""Write the lines of a context block: day headings, dates beside relative words, quoting. Pure.

An event stands under the day it happened, while its words may be relative to the day they were said: under 3 March a reader takes
"yesterday" for the 2nd. So the date that such words mean stands beside them.

Headings, dates, numbers and speakers at the beginning of a line belong to the block. A line of quoted text that begins so would
pass for another item of the block, so it is quoted with ">", as in mail. Memories need no quoting: each is one line, after its
number.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from engram.types import Memory

TOKENS = 8  # of a date beside the words that mean it, about
_DAY = timedelta(days=1)
_NEVER = datetime.min.replace(tzinfo=UTC)


def when(memory: Memory) -> datetime:
    """Return the moment that a memory happened or, if that is unknown, was learned."""
    return memory.happened_at or memory.learned_at or _NEVER


def day(memory: Memory) -> str:
    """Return the day of a memory: the middle of an event of at most a day, as a day elsewhere begins on another day in UTC."""
    start, end = memory.happened_at, memory.happened_until
    middle = start + (end - start) / 2 if start is not None and end is not None and end - start <= _DAY else when(memory)
    return middle.date().isoformat()


def heading(today: str, last: str) -> str:
    """Return the line above the memories of one day; it has the year only if that differs from the day before.

    "25 May" takes half the tokens of 2023-05-25.
    """
    date = _date(datetime.fromisoformat(today))
    return date if today[:4] == last[:4] else f"{date} {today[:4]}"


def dated(text: str, memory: Memory) -> str:
    """Return a text of this memory with the date that its relative words mean beside them.

    Only a date that was read from words has an end.
    """
    if memory.happened_at is None or memory.happened_until is None:
        return text
    from engram.text.dates import relative_end  # late: its patterns take longer to compile than MCP's list of tools

    place = relative_end(text, memory.happened_at)
    return text if place is None else f"{text[:place]} ({_spelled(memory)}){text[place:]}"


def _spelled(memory: Memory) -> str:
    """Return the time of an event as a day, a range of days, a month, a range of months, or a year."""
    start, end = memory.happened_at or _NEVER, memory.happened_until or _NEVER
    days = (end - start) / _DAY
    if days <= 1:
        return _date(datetime.fromisoformat(day(memory)))
    middle = start + (end - start) / 2
    if days > 31:
        return f"{middle:%Y}" if days > 200 else f"{start + _DAY:%B} to {end - _DAY:%B %Y}"
    if days >= 28:
        return f"{middle:%B %Y}"
    return f"{_date(start + _DAY / 2)} to {_date(end - _DAY / 2)}"


def _date(moment: datetime) -> str:
    return f"{moment.day} {moment:%B}"


TITLES = {
    "morning": "When work stopped",
    "working": "Working on",
    "recalled": "Remembered",
    "unknown": "Not known",
    "history": "Said before",
}

_BLOCK_LINE = re.compile(
    r"\s*(?:[-*#>]+\s*)?(?:"
    r"\d+(?:\s+[\d.]+)?\s*:(?:\s|$)"  # 12 .4: …
    r"|\d{1,2}\s+[^\W\d_]{3,9}(?:\s+\d{4})?\s*$"  # 25 May 2023
    rf"|(?:{'|'.join(TITLES.values())}|Known from before|Earlier \(\d+ turns\))\s*:"
    r")",
    re.IGNORECASE,
)
_SPEAKER_LINE = re.compile(r"\s*(?:[-*#>]+\s*)?(?:user|human|assistant|system|developer|tool|ai)\s*:(?:\s|$)", re.IGNORECASE)


def quoted(text: str) -> str:
    """Return the text with every line quoted that would pass for a line of the block itself."""
    return "".join(f"> {line}" if _BLOCK_LINE.match(line) else line for line in text.splitlines(keepends=True))


def spoken(speaker: str, text: str) -> str:
    """Return a turn as "speaker: text", with further lines quoted that would pass for the words of another speaker."""
    first, *others = f"{speaker}: {text}".splitlines(keepends=True)
    further = (f"> {line}" if _SPEAKER_LINE.match(line) else quoted(line) for line in others)
    return "".join([quoted(first), *further])
