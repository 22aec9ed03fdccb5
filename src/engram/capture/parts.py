"""A long text as turns that may be kept: cut between paragraphs where that is possible."""

from __future__ import annotations

from collections.abc import Iterator

from engram.types import Turn


def in_parts(text: str, most: int) -> Iterator[Turn]:
    """Turns of at most `most` bytes."""
    part = ""
    for paragraph in text.split("\n\n"):
        joined = f"{part}\n\n{paragraph}" if part else paragraph
        if len(joined.encode("utf-8", "replace")) <= most:
            part = joined
            continue
        if part:
            yield Turn(part)
        step = max(most // 4, 1)  # a character has at most four bytes
        pieces = [paragraph[at : at + step] for at in range(0, len(paragraph), step)] or [""]
        yield from (Turn(piece) for piece in pieces[:-1])
        part = pieces[-1]
    yield Turn(part)
