"""Tell the prose of a message from what was pasted into it: code, logs, tables, quotations, forwarded mail.

Only prose is read as statements. Everything else keeps its place in the turn, which is stored verbatim, and gets a reason. A line
that may be either is prose: a kept line of a log is a smaller harm than a lost fact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, pairwise

from engram.capture import mail
from engram.capture.chunks import layout_blocks
from engram.capture.pasted import LogMark, code_mark, is_key, is_nested, log_mark
from engram.values.frozen import frozen, replace

PROSE, CODE, LOG, TABLE, QUOTE, FORWARDED, HEADING, LAYOUT = (
    "prose", "code", "log output", "a table", "a quotation", "forwarded text", "heading", "layout",
)  # fmt: skip


@frozen
class Block:
    """A stretch of a text and its shape."""

    start: int
    end: int
    shape: str


_LINE = re.compile(r"[^\n]*(?:\n|$)")
_CELL = re.compile(r"[,;\t]")
_LEAST_ROWS = 3
_LEAST_CODE = 2
_LEAST_LOG = 2
_LEAST_LEVELS = 3
"""Neighbouring lines that look like rows of one table, like code, or like a log, from which they are taken for it. Lines with
only a level before them ("WARNING: …") may be said by somebody: more of them are needed."""
_LEAST_NESTED = 4
"""Lines of nested keys from which they are taken for a configuration."""
_EDGE_WORDS = 4
"""Words of a line at the edge of code, from which it is prose unless it has a mark of code."""
_MOST_MARKS = 0.25
"""Share of a line's characters that are brackets and operators, from which the line is no prose."""
_MARK = re.compile(r"[{}\[\]()<>=\\|;$&^`]")
_WORD = re.compile(r"[^\W\d_]+")
_INDENTED = re.compile(r"(?: {2,}|\t)")
_FAR_IN = re.compile(r"(?: {4}|\t)\s*[^\s\-*+•]")
_COMMENT = re.compile(r"\s*#")


def blocks(text: str) -> list[Block]:
    """Return the blocks of a message in their order, with only white space between them."""
    end = forwarded_at(text)
    found = list(_merged(_of_layout(text[:end])))
    if end < len(text):
        found.append(Block(end, len(text), FORWARDED))
    return found


def forwarded_at(text: str) -> int:
    """Return the place from which a message is forwarded text; its length if none of it is."""
    return mail.forwarded_at(text)


def _of_layout(text: str) -> list[Block]:
    """Return each line that is not blank with its shape; fenced code is one block."""
    found: list[Block] = []
    for kind, start, end in layout_blocks(text):
        if kind == "code":
            found.append(Block(start, end, CODE))
        elif kind in _FIXED:
            found.append(Block(start, end, _FIXED[kind]))
        else:
            found += [Block(*line.span(), PROSE) for line in _LINE.finditer(text, start, end) if line.group().strip()]
    found = _with_letters(text, found)
    for is_open, run in groupby(range(len(found)), lambda n: _is_open(text, found[n])):
        if is_open:
            numbers = list(run)
            shapes = _shapes([text[found[n].start : found[n].end] for n in numbers], [found[n].shape for n in numbers])
            for n, shape in zip(numbers, shapes, strict=True):
                found[n] = replace(found[n], shape=shape)
    return found


_FIXED = {"rule": LAYOUT, "row": TABLE, "heading": HEADING}


def _is_open(text: str, block: Block) -> bool:
    """Return True for a line whose shape its neighbours may decide: one of prose, or a heading that may be a comment in code."""
    return block.shape == PROSE or (block.shape == HEADING and _COMMENT.match(text, block.start, block.end) is not None)


def _with_letters(text: str, found: list[Block]) -> list[Block]:
    """Return the blocks with the lines of a pasted letter as forwarded text."""
    letters = list(mail.letters(text))
    if not letters:
        return found
    inside = [any(start < block.end and block.start < end for start, end in letters) for block in found]
    return [replace(block, shape=FORWARDED) if here else block for block, here in zip(found, inside, strict=True)]


def _shapes(lines: list[str], known: list[str]) -> list[str]:
    """Return the shape of each line. Most of what is pasted is told by several lines together: one line may be prose."""
    logs = [log_mark(line) for line in lines]
    found = [_shape(line, mark, shape) for line, mark, shape in zip(lines, logs, known, strict=True)]
    for numbers in _runs([shape not in (QUOTE, LOG) and _may_be_code(line) for line, shape in zip(lines, found, strict=True)]):
        for first, last in _code_in(lines, numbers):
            found[first : last + 1] = [CODE] * (last + 1 - first)
    for numbers in _runs([shape in (PROSE, LOG) and mark is not None for shape, mark in zip(found, logs, strict=True)]):
        marks = {logs[n] for n in numbers}
        least = 1 if LogMark.SURE in marks else _LEAST_LEVELS if marks == {LogMark.LEVEL} else _LEAST_LOG
        if len(numbers) >= least:
            found[numbers[0] : numbers[-1] + 1] = [LOG] * len(numbers)
    for rows, run in groupby(range(len(lines)), lambda n: _cells(lines[n]) if found[n] == PROSE else None):
        numbers = list(run)
        if rows and len(numbers) >= _LEAST_ROWS:
            found[numbers[0] : numbers[-1] + 1] = [TABLE] * len(numbers)
    _quote_chats(lines, found)
    for before, n in pairwise(range(len(lines))):
        if found[before] == LOG and found[n] == PROSE and _FAR_IN.match(lines[n]):
            found[n] = LOG  # the message of a commit, the code under a line of a traceback
    return found


def _runs(flags: list[bool]) -> Iterator[list[int]]:
    for is_in, run in groupby(range(len(flags)), flags.__getitem__):
        if is_in:
            yield list(run)


def _may_be_code(line: str) -> bool:
    between = _INDENTED.match(line) or _COMMENT.match(line) or is_key(line)
    return code_mark(line) is not None or bool(between)


def _code_in(lines: list[str], numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of the code in a run of lines that may be code; of none without several marks of code.

    Comments, indented lines and bare keys belong to code only between other lines of it.
    """
    if len(numbers) >= _LEAST_NESTED and is_nested([lines[n] for n in numbers]):
        yield numbers[0], numbers[-1]
        return
    marks = {n: code_mark(lines[n]) for n in numbers}
    if sum(mark is True for mark in marks.values()) < _LEAST_CODE:
        return
    kept = [n for n in numbers if marks[n] or (marks[n] is False and len(_WORD.findall(lines[n])) < _EDGE_WORDS)]
    yield kept[0], kept[-1]


def _quote_chats(lines: list[str], found: list[str]) -> None:
    """Mark the lines of a pasted chat as quotations, in place."""
    chats = [mail.chat_mark(line) if shape in (PROSE, LOG) else None for line, shape in zip(lines, found, strict=True)]
    for numbers in _runs([mark is not None for mark in chats]):
        if len(numbers) > 1 or chats[numbers[0]]:
            found[numbers[0] : numbers[-1] + 1] = [QUOTE] * len(numbers)


def _cells(line: str) -> tuple[str, int] | None:
    """Return the separator and the number of cells of a row without spaces behind its separators; None for any other line."""
    separators = _CELL.findall(line.strip())
    if len(separators) < 2 or len(set(separators)) > 1 or f"{separators[0]} " in line:
        return None
    return separators[0], len(separators)


def _shape(line: str, log: LogMark | None, known: str) -> str:
    words = line.strip()
    if known != PROSE:
        return known
    if (words.startswith(">") and len(words) > 1) or mail.is_attribution(words):
        return QUOTE
    if log is LogMark.SURE:
        return LOG
    marks = len(_MARK.findall(words))
    return LOG if len(words) >= 12 and marks / len(words) >= _MOST_MARKS else PROSE


def _merged(found: list[Block]) -> Iterator[Block]:
    last: Block | None = None
    for block in found:
        if last is not None and last.shape == block.shape and last.shape != HEADING:
            last = Block(last.start, block.end, last.shape)
            continue
        if last is not None:
            yield last
        last = block
    if last is not None:
        yield last
