"""How a line of the block begins is the block's own: its headings, dates, numbers and speakers. Pure.

Words that stand there as they were said may have lines of their own, and one that begins so would pose as another item of the
block. It is quoted, as mail is. Memories need none of this: each is one line, after its number.
"""

from __future__ import annotations

import re

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
