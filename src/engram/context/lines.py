"""The day a memory stands under in a window, and what "yesterday" in it means. Pure.

What happened stands under the day it happened, while its words may count from the day they were said: under 3 March a reader
takes "yesterday" for the 2nd. So the time that such words mean stands beside them.

How a line of the block begins is the block's own: its headings, dates, numbers and speakers. Pure.

Words that stand there as they were said may have lines of their own, and one that begins so would pose as another item of the
block. It is quoted, as mail is. Memories need none of this: each is one line, after its number.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from engram.types import Memory

TOKENS = 8  # of a time beside the words that mean it, about
_DAY = timedelta(days=1)
_NEVER = datetime.min.replace(tzinfo=UTC)


def when(memory: Memory) -> datetime:
    """When it happened or, if that is not known, was learned."""
    return memory.happened_at or memory.learned_at or _NEVER


def day(memory: Memory) -> str:
    """Of what lasted a day at most, the middle of it: a day elsewhere begins on another day here."""
    start, end = memory.happened_at, memory.happened_until
    middle = start + (end - start) / 2 if start is not None and end is not None and end - start <= _DAY else when(memory)
    return middle.date().isoformat()


def heading(today: str, last: str) -> str:
    """The line above what is of one day, given the day of the lines before: the year stands where it changes.

    "25 May" takes half the tokens of 2023-05-25.
    """
    date = _date(datetime.fromisoformat(today))
    return date if today[:4] == last[:4] else f"{date} {today[:4]}"


def dated(text: str, memory: Memory) -> str:
    """A text of this memory with the time that its words mean beside them, if they count from when they were said.

    Only what was made out of words has an end.
    """
    if memory.happened_at is None or memory.happened_until is None:
        return text
    from engram.text.english.dates.relative import relative  # late: its patterns take longer to compile than MCP's list of tools

    place = relative(text, memory.happened_at)
    return text if place is None else f"{text[:place]} ({_spelled(memory)}){text[place:]}"


def _spelled(memory: Memory) -> str:
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

_POSES = re.compile(
    r"\s*(?:[-*#>]+\s*)?(?:"
    r"\d+(?:\s+[\d.]+)?\s*:(?:\s|$)"  # 12 .4: …
    r"|\d{1,2}\s+[^\W\d_]{3,9}(?:\s+\d{4})?\s*$"  # 25 May 2023
    rf"|(?:{'|'.join(TITLES.values())}|Known from before|Earlier \(\d+ turns\))\s*:"
    r")",
    re.IGNORECASE,
)
_SPEAKS = re.compile(r"\s*(?:[-*#>]+\s*)?(?:user|human|assistant|system|developer|tool|ai)\s*:(?:\s|$)", re.IGNORECASE)


def quoted(text: str) -> str:
    """The text, each line of it that would pose as the block's own words quoted."""
    return "".join(f"> {line}" if _POSES.match(line) else line for line in text.splitlines(keepends=True))


def spoken(speaker: str, text: str) -> str:
    """What somebody said, after who it was: a further line of it is no word of anybody else."""
    first, *others = f"{speaker}: {text}".splitlines(keepends=True)
    further = (f"> {line}" if _SPEAKS.match(line) else quoted(line) for line in others)
    return "".join([quoted(first), *further])
