"""Tell the prose of a message from what was pasted into it: code, logs, tables, quotations, forwarded mail.

Only prose is read as statements. Everything else keeps its place in the turn, which is stored verbatim, and gets a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from engram.capture.chunks import layout_blocks
from engram.values.frozen import frozen

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
_FORWARDED = re.compile(
    r"^[ \t>]*(?:-{2,}[ \t]*(?:Forwarded message|Original Message|Weitergeleitete Nachricht|Message transféré|Mensaje reenviado)"
    r"|Begin forwarded message:|From:[^\n]+\n(?:[ \t>]*(?:Sent|Date|To|Cc|Subject):[^\n]*\n?){2,})",
    re.IGNORECASE | re.MULTILINE,
)
_LOG_LINE = re.compile(
    r"[ \t]*(?:"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?[\d.,Z+: -]{0,16}\]?\s+\S"  # 2026-03-02 09:14:07 …
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+\S"
    r"|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE)\]?[:\s]"
    r"|Traceback \(most recent call last\)|File \"[^\"]+\", line \d+|[\w.]*(?:Error|Exception): \S"
    r"|at [\w$.<>]+\([^)]*\)\s*$"
    r"|(?:warning|error): [\w./-]+:|npm (?:ERR|WARN)!|(?:FAILED|PASSED|ERROR) [\w./:\[\]-]+|={5,}|E {3}\S"
    r"|[$#>] \w[\w./-]*(?: \S+)*$"
    r"|(?:[\w/:%-]+\s{2,}){2,}\S+"  # columns of a listing
    r"|[{}\[\]();]+,?\s*$|\"[\w-]+\":\s"
    r")"
)
_MOST_MARKS = 0.25
"""Share of a line's characters that are brackets, slashes and operators, from which the line is no prose."""
_MARK = re.compile(r"[{}\[\]()<>=/\\|;_$&*+#~^`]")


def blocks(text: str) -> list[Block]:
    """Return the blocks of a message in their order, with only white space between them."""
    end = forwarded_at(text)
    found = list(_merged(_of_layout(text[:end])))
    if end < len(text):
        found.append(Block(end, len(text), FORWARDED))
    return found


def forwarded_at(text: str) -> int:
    """Return the place from which a message is forwarded text; its length if none of it is."""
    forwarded = _FORWARDED.search(text)
    return forwarded.start() if forwarded else len(text)


def _of_layout(text: str) -> Iterator[Block]:
    for kind, start, end in layout_blocks(text):
        if kind == "code":
            yield Block(start, end, CODE)
        elif kind == "rule":
            yield Block(start, end, LAYOUT)
        elif kind == "row":
            yield Block(start, end, TABLE)
        elif kind == "heading":
            yield Block(start, end, HEADING)
        else:
            for line in _LINE.finditer(text, start, end):
                if line.group().strip():
                    yield Block(line.start(), line.end(), _shape(line.group()))


def _shape(line: str) -> str:
    words = line.strip()
    if words.startswith(">") and len(words) > 1:
        return QUOTE
    if _LOG_LINE.match(line):
        return LOG
    marks = len(_MARK.findall(words))
    return LOG if len(words) >= 12 and marks / len(words) >= _MOST_MARKS else PROSE


def _merged(found: Iterator[Block]) -> Iterator[Block]:
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
