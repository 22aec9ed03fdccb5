"""A long text as turns: those of its speakers if it is a conversation, else its pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from engram.frozen import replace
from engram.text.pieces import pieces
from engram.text.transcript import speeches
from engram.types import Turn


def in_parts(text: str, most: int, mark: Callable[[str], str]) -> Iterator[Turn]:
    """Turns of at most `most` bytes, and no longer than a batch can take. Together they are the text.

    Each has a ref made of its own words by `mark`: the same text is known again, and of one that has grown, what it had before.
    In a conversation the words before it count too: "Yes." may be said twice.
    """
    talk = speeches(text)
    if talk is None:
        yield from (_part(piece, mark) for piece in pieces(text, most))
        return
    before = ""
    for one in talk:
        context = f"{before}\n{one.who}: "
        for piece in pieces(one.said, most):
            part = _part(piece, lambda words, context=context: mark(context + words))  # type: ignore[misc]
            yield replace(part, speaker=one.who or part.speaker, at=one.at)
        before = one.said


def _part(text: str, mark: Callable[[str], str]) -> Turn:
    return Turn(text, ref=f"text:{mark(text)}" if text.strip() else None)
