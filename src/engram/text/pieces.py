"""A long text in pieces: cut between paragraphs where that is possible, else between lines or words."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PIECE = 16_384
"""Bytes of a piece. A batch of an ingest is then half a megabyte: a book is stored, and its progress told, as it is read."""

_BREAKS = (re.compile(r"\n[^\S\n]*\n\s*"), re.compile(r"\n"), re.compile(r"\s+"))


def pieces(text: str, most: int) -> Iterator[str]:
    """Pieces of at most `most` bytes, and no longer than a batch can take. Together they are the text."""
    step = max(min(most, _PIECE) // 4, 1)  # a character has at most four bytes
    start = 0
    while len(text) - start > step:
        end = _cut(text, start, start + step)
        yield text[start:end]
        start = end
    yield text[start:]


def _cut(text: str, start: int, end: int) -> int:
    """The last good place to cut in the second half of this piece."""
    half = (start + end) // 2
    for between in _BREAKS:
        places = [found.end() for found in between.finditer(text, half, end)]
        if places:
            return places[-1]
    return end
