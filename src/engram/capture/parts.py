"""A long text as turns: those of its speakers if it is a conversation, else cut between paragraphs where that is possible,
else between lines or words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from engram.frozen import replace
from engram.text.transcript import speeches
from engram.types import Turn

_PART = 16_384
"""Bytes of a part. A batch of an ingest is then half a megabyte: a book is stored, and its progress told, as it is read."""

_BREAKS = (re.compile(r"\n[^\S\n]*\n\s*"), re.compile(r"\n"), re.compile(r"\s+"))


def in_parts(text: str, most: int, mark: Callable[[str], str]) -> Iterator[Turn]:
    """Turns of at most `most` bytes, and no longer than a batch can take. Together they are the text.

    Each has a ref made of its own words by `mark`: the same text is known again, and of one that has grown, what it had before.
    In a conversation the words before it count too: "Yes." may be said twice.
    """
    talk = speeches(text)
    if talk is None:
        yield from _pieces(text, most, mark)
        return
    before = ""
    for one in talk:
        context = f"{before}\n{one.who}: "
        for piece in _pieces(one.said, most, lambda words, context=context: mark(context + words)):  # type: ignore[misc]
            yield replace(piece, speaker=one.who or piece.speaker, at=one.at)
        before = one.said


def _pieces(text: str, most: int, mark: Callable[[str], str]) -> Iterator[Turn]:
    step = max(min(most, _PART) // 4, 1)  # a character has at most four bytes
    start = 0
    while len(text) - start > step:
        end = _cut(text, start, start + step)
        yield _part(text[start:end], mark)
        start = end
    yield _part(text[start:], mark)


def _part(text: str, mark: Callable[[str], str]) -> Turn:
    return Turn(text, ref=f"text:{mark(text)}" if text.strip() else None)


def _cut(text: str, start: int, end: int) -> int:
    """The last good place to cut in the second half of this piece."""
    half = (start + end) // 2
    for between in _BREAKS:
        places = [found.end() for found in between.finditer(text, half, end)]
        if places:
            return places[-1]
    return end
