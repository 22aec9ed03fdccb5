"""A long or laid-out text in pieces that can be found again: a paragraph, a few list items, a stretch of code.

Comes in: Markdown or plain text. Goes out: chunks of about 400 characters, each with the heading or the lead-in it stands
under, and what was left out with a reason. Places are offsets in the text that came in; every line belongs to one chunk or
one left-out piece.

A long text as turns: those of its speakers if it is a conversation, else its pieces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from engram.text import sentences
from engram.text.sentences import pieces
from engram.text.transcripts import speeches
from engram.types import Turn
from engram.values.frozen import field, frozen, mutable, replace

SIZE = 400
_CODE_SIZE = 1_200  # code is found by its names, and half a function explains nothing
_CONTEXT_SIZE = 100
_SPOKEN_LINES = 6

_BLOCK = re.compile(r"[^\n]*(?:\n|$)")
_FENCE = re.compile(r"[ \t>]*(```+|~~~+)")
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]+\S|[ \t]*\*\*[^*\n]{2,80}\*\*:?[ \t]*$|[ \t]*__[^_\n]{2,80}__:?[ \t]*$")
_ITEM = re.compile(r"[ \t>]*(?:[-*+•·‣▪–]|\(?\d{1,3}[.)]|[A-Za-z][.)])[ \t]+\S")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*$")
_RULE = re.compile(r"[ \t]*(?:[-*_=][ \t]*+){3,}$|[ \t:|-]++$")
_DECORATION = re.compile(r"^[ \t>]*#{1,6}[ \t]+|^[ \t]*[-*+•·‣▪][ \t]+|^[ \t]*>[ \t]?", re.MULTILINE)
# A pair around words: "2*3*4", "*.log" and "a__b" hold none.
_EMPHASIS = re.compile(
    r"(?<![\w*])(\*{1,3})(?=[^\s*])([^*\n]{1,300})(?<=\S)\1(?![\w*])|(?<!\S)(__)(?=\S)([^_\n]{1,80})(?<=\S)__(?!\S)"
)
_NUMBER = re.compile(r"^[ \t>]*(?:(?:- )?\[(?=[a-z]*\d)[0-9a-z]{4,8}\]|\d{1,3}(?: \.\d)?:)[ \t]+(?=\S)", re.MULTILINE)
_BETWEEN_ITEMS = re.compile(r"(?<=[^\s:;,.!?])\s*\n(?=[ \t>]*(?:[-*+•·‣▪–]|\(?\d{1,3}[.)]|[A-Za-z][.)])[ \t]+\S)")

Why = Callable[[str], str | None]
Pasted = Sequence[tuple[int, int, str]]
"""Stretches of a text that are no prose, in order: each is left out for its reason, or kept as code without one."""


@frozen
class Piece:
    """A stretch of text: kept with its context, or left out for a reason. `end` reaches up to the next piece.

    `body` is where its own words begin, if what stands before them is in the context.
    """

    start: int
    end: int
    context: str = ""
    reason: str = ""
    code: bool = False
    body: int = 0


@mutable
class _Open:
    """The chunk that is being filled, and the headings above it."""

    start: int = -1
    end: int = -1
    body: int = -1
    solid: bool = False  # does it hold more than headings and lead-ins?
    context: str = ""
    headings: list[tuple[float, str]] = field(default_factory=list)
    lead_in: str = ""
    leads: bool = False  # is the lead-in the last that was read?
    over: list[tuple[int, str]] = field(default_factory=list)  # the items that an item stands under, by how far they are in
    done: list[Piece] = field(default_factory=list)

    def close(self, *, code: bool = False) -> None:
        if self.start >= 0:
            reason = "" if self.solid else "heading"
            body = max(self.body, self.start)
            self.done.append(Piece(self.start, self.end, "" if reason else self.context, reason, code, body))
        self.start, self.solid, self.body = -1, False, -1

    def leave_out(self, start: int, end: int, reason: str) -> None:
        self.close()
        self.done.append(Piece(start, end, reason=reason))

    def add(self, start: int, end: int, *, size: int = SIZE, solid: bool = True) -> None:
        if self.start >= 0 and end - self.start > size:
            self.close()
        if self.start < 0:
            self.start = start
            self.context = self.above()
        self.end = end
        self.solid = self.solid or solid

    def above(self) -> str:
        leads = [self.lead_in] if self.lead_in else []
        return ": ".join([*(name for _, name in self.headings[-2:]), *leads, *(name for _, name in self.over[-2:])])

    def enter(self, level: float, name: str) -> None:
        """Under a new heading. Two of a level with nothing between them are a title and its first part."""
        if self.headings and self.headings[-1][0] == level and self.start >= 0 and not self.solid:
            title = self.headings.pop()[1]
            while self.headings and self.headings[-1][0] >= level - 0.5:
                self.headings.pop()
            self.headings.append((level - 0.5, title))
        while self.headings and self.headings[-1][0] >= level:
            self.headings.pop()
        self.headings.append((level, name))
        self.lead_in, self.over = "", []


def is_laid_out(text: str) -> bool:
    """Is this a document rather than speech: code, a table, headings, a list of three, or many lines?"""
    if "\n" not in text:
        return False
    lines = [line.group() for line in _BLOCK.finditer(text[:20_000]) if not line.group().isspace()]
    if len(lines) > _SPOKEN_LINES or any(_FENCE.match(line) or _HEADING.match(line) for line in lines):
        return True
    return sum(bool(_ITEM.match(line) or _ROW.match(line)) for line in lines) >= 3


def chunks(
    text: str, why_not: Why, *, apart: bool = False, pasted: Pasted = (), may_lead: Callable[[str], bool] = lambda _: True
) -> list[Piece]:
    """The pieces of `text`, in order, without gaps but for white space. `why_not` says why a sentence is left out.

    `apart`: each item of a list is a piece of its own; else those that fit are one. `may_lead`: may a sentence with a colon at
    its end, or a heading, be the context of what follows?
    """
    chunk = _Open()
    before = ""
    for kind, start, end, reason in _parts(text, pasted):
        if kind == "pasted":
            chunk.leave_out(start, end, reason)
        elif kind == "code":
            chunk.close()
            for low, high in _lines_within(text, start, end, _CODE_SIZE):
                if chunk.start >= 0 and high - chunk.start > _CODE_SIZE:
                    chunk.close(code=True)
                chunk.add(low, high, size=_CODE_SIZE)
            chunk.close(code=True)
        elif kind == "rule":
            chunk.leave_out(start, end, "layout")
        elif kind == "heading":
            if chunk.solid:
                chunk.close()
            if not may_lead(text[start:end]):
                chunk.add(start, end)
                continue
            chunk.enter(_level(text[start:end]), _shortened(plain(text[start:end])))
            chunk.add(start, end, solid=False)
            chunk.context = chunk.above()
        elif kind == "item" and apart:
            _item(chunk, text, start, end)
        elif kind in ("item", "row"):
            for low, high in _pieces_of_item(text, start, end):
                chunk.add(low, high)
        else:
            if before in ("item", "row"):
                chunk.lead_in, chunk.over = "", []
                if apart:
                    chunk.close()
            elif chunk.lead_in and not chunk.leads:  # it led to the paragraph before
                chunk.lead_in = ""
                if chunk.solid:
                    chunk.close()
            _prose(chunk, text, start, end, why_not, may_lead)
        chunk.leads = chunk.leads and kind == "text"
        before = kind
    chunk.close()
    return chunk.done


def _level(heading: str) -> float:
    hashes = heading.lstrip(" \t>")
    return len(hashes) - len(hashes.lstrip("#")) or (
        8 if heading.rstrip(" *_\n").endswith(":") or heading.rstrip().endswith(":") else 7
    )


def _pieces_of_item(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A list item or a table row: whole if it is short, else by sentences."""
    if end - start <= SIZE:
        yield start, end
        return
    for low, high in sentences.spans(text[start:end]):
        yield from words_within(text, start + low, start + high, 2 * SIZE)


def _item(chunk: _Open, text: str, start: int, end: int) -> None:
    """An item by itself, under what leads to it. One that ends in a colon leads to those that stand deeper."""
    words = text[start:end]
    deep = len(words) - len(words.lstrip(" \t>"))
    chunk.over = [(level, name) for level, name in chunk.over if level < deep]
    if chunk.solid:
        chunk.close()
    if words.rstrip().rstrip("*_").endswith(":"):
        chunk.add(start, end, solid=False)
        chunk.over.append((deep, _shortened(plain(words))))
        return
    for low, high in _pieces_of_item(text, start, end):
        chunk.add(low, high)
        if low == start:
            chunk.context, chunk.body = chunk.above(), low


def _parts(text: str, pasted: Pasted) -> Iterator[tuple[str, int, int, str]]:
    """Yield (kind, start, end, reason) of the layout between the pasted stretches, and of those."""
    at = 0
    for start, end, reason in (*pasted, (len(text), len(text), "")):
        for kind, low, high in layout_blocks(text[at:start]):
            yield kind, at + low, at + high, ""
        if start < end:
            yield "pasted" if reason else "code", start, end, reason
        at = end


def _prose(chunk: _Open, text: str, start: int, end: int, why_not: Why, may_lead: Callable[[str], bool]) -> None:
    """A paragraph by sentences; a lead-in ("Here are some tips:") becomes the context of what follows."""
    for low, high in ((start + low, start + high) for low, high in sentences.spans(text[start:end])):
        sentence = text[low:high]
        if sentence.endswith(":") and high - low < 2 * _CONTEXT_SIZE:
            chunk.add(low, high, solid=False)
            chunk.lead_in, chunk.leads = _lead_in(sentence) if may_lead(sentence) else "", True
            continue
        chunk.leads = False
        reason = why_not(sentence) if high - low <= 2 * SIZE else None
        if reason:
            chunk.leave_out(low, high, reason)
            continue
        for low_part, high_part in words_within(text, low, high, 2 * SIZE):
            chunk.add(low_part, high_part)


def _lead_in(sentence: str) -> str:
    """ "Here are some tips to style them:" → "tips to style them"."""
    text = re.sub(
        r"^\W*(?:sure|certainly|of course|absolutely|great|ok|okay|yes)?[\s,!.]*(?:here (?:are|is)|here's"
        r"|below (?:are|is)|these are|the following are)\s+(?:(?:some|a few|the|an?|several)\s+)?(?:of the\s+)?",
        "", plain(sentence), flags=re.IGNORECASE,
    )  # fmt: skip
    return _shortened(text)


def _shortened(text: str) -> str:
    if len(text) > _CONTEXT_SIZE:
        text = text[:_CONTEXT_SIZE].rsplit(" ", 1)[0]
    return text.rstrip(" :,")


def plain(text: str) -> str:
    """Without the signs of Markdown, on one line; between two items of a list stands a semicolon."""
    bare = _DECORATION.sub("", _BETWEEN_ITEMS.sub(";\n", text))
    return " ".join(_EMPHASIS.sub(lambda pair: pair[2] or pair[4], bare).split())


def unnumbered(text: str) -> str:
    """Without the ids, formerly numbers, that lines of a context begin with: a line that was copied out is known without it."""
    return _NUMBER.sub("", text)


def layout_blocks(text: str) -> Iterator[tuple[str, int, int]]:
    """(kind, start, end) of code, headings, items, rows, rules and paragraphs; blank lines belong to none."""
    fence, opened, paragraph = "", 0, -1
    last = 0
    for line in _BLOCK.finditer(text):
        words, start, end = line.group(), line.start(), line.end()
        mark = _FENCE.match(words)
        kind = "code" if fence or mark else _kind(words)
        if paragraph >= 0 and kind != "text":
            yield "text", paragraph, last
            paragraph = -1
        if fence:
            if mark and mark.group(1).startswith(fence) and not words[mark.end() :].strip():
                yield "code", opened, end
                fence = ""
        elif mark:
            fence, opened = mark.group(1), start
        elif kind == "text":
            paragraph = start if paragraph < 0 else paragraph
        elif kind:
            yield kind, start, end
        last = end
    if fence:
        yield "code", opened, len(text)
    elif paragraph >= 0:
        yield "text", paragraph, last


def _kind(line: str) -> str:
    if not line.strip():
        return ""
    if _RULE.match(line):
        return "rule"
    if _HEADING.match(line):
        return "heading"
    if _ITEM.match(line):
        return "item"
    return "row" if _ROW.match(line) else "text"


def _lines_within(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Lines, each cut to pieces no longer than `size`."""
    for line in _BLOCK.finditer(text, start, end):
        yield from words_within(text, line.start(), line.end(), size)


def words_within(text: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """The stretch itself, or cut at white space (anywhere if there is none) into stretches no longer than `size`."""
    while end - start > size:
        space = text.rfind(" ", start + size // 2, start + size)
        stop = space + 1 if space > 0 else start + size
        yield start, stop
        start = stop
    if start < end:
        yield start, end


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
        context = f"{before}\n{one.speaker}: "
        for piece in pieces(one.text, most):
            part = _part(piece, lambda words, context=context: mark(context + words))  # type: ignore[misc]
            yield replace(part, speaker=one.speaker or part.speaker, at=one.at)
        before = one.text


def _part(text: str, mark: Callable[[str], str]) -> Turn:
    return Turn(text, ref=f"text:{mark(text)}" if text.strip() else None)
