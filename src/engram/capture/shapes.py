"""Tell the prose of a message from what was pasted into it: code, logs, tables, quotations, forwarded mail.

Only prose is read as statements. Everything else keeps its place in the turn, which is stored verbatim, and gets a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

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
    r"|Begin forwarded message:|(?:From|Von|De|Da|Van|差出人|发件人)[ \t]?[:：][^\n]+\n"
    r"(?:[ \t>]*(?:Sent|Date|To|Cc|Bcc|Subject|Gesendet|Datum|An|Betreff|Kopie|Envoyé|À|Objet|Enviado|Fecha|Data|Para"
    r"|Asunto|Assunto|Inviato|Oggetto|A|Verzonden|Aan|Onderwerp|日時|宛先|件名|发送时间|收件人|主题)[ \t]?[:：][^\n]*\n?){2,})",
    re.IGNORECASE | re.MULTILINE,
)
_LOG_LINE = re.compile(
    r"[ \t]*(?:"
    r"\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?[\d.,Z+: -]{0,16}\]?\s+\S"  # 2026-03-02 09:14:07 …
    r"|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]?\s+\S"
    r"|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S"  # Mar  2 09:14:07 host …
    r"|\[?(?:DEBUG|INFO|WARN|WARNING|ERROR|FATAL|CRITICAL|TRACE)\]?[:\s]"
    r"|Traceback \(most recent call last\)|File \"[^\"]+\", line \d+|[\w.]*(?:Error|Exception): \S"
    r"|at [\w$.<>]+\([^)]*\)\s*$"
    r"|(?:warning|error): [\w./-]+:|npm (?:ERR|WARN)!|(?:FAILED|PASSED|ERROR) [\w./:\[\]-]+|={5,}|E {3}\S"
    r"|[$#>] \w[\w./-]*(?: \S+)*$"
    r"|(?:[\w/:%-]+\s{2,}){2,}\S+"  # columns of a listing
    r"|[{}\[\]();]+,?\s*$|\"[\w-]+\":\s"
    r")"
)
_CODE_LINE = re.compile(
    r"\s*(?:"
    r"(?:def|class|fn|func|function|async def|public|private|static|impl|struct|interface|enum|namespace|package)\b.*[({:;]\s*$"
    r"|(?:import|from|using|include|require|#include|use)\s[\w.:{}\"'<>/@*, -]+;?\s*$"
    r"|(?:if|for|while|elif|else|try|except|with|switch|case|catch|do)\b.*[:{]\s*$|return\b[^.]*;?\s*$"
    r"|(?:const|let|var|export|int|auto|val)\s+\w+.*[=;{]"
    r"|[\w.\[\]\"']+\s*(?:[-+*/|&]?=|:=|=>)\s*\S+[^.!?]*$"
    r"|[\w.]+\([^)]*\)\s*[;{:]?\s*$|.*[;{}]\s*$"
    r"|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|JOIN|GROUP BY|ORDER BY)\s\S.*|@\w+|//.*|/\*.*"
    r"|[\"']?[\w-]+[\"']?\s*:\s*(?:[\[{]|[\"'][^\"']*[\"'],?$|[-\d.]+,?$|true|false|null).*"
    r"|</?\w[^>]*>.*|[\]})]+[,;]?\s*"
    r")"
)
_LONGEST_CODE = 400  # characters of a line of code
_CELL = re.compile(r"[,;\t]")
_LEAST_ROWS = 3
_LEAST_CODE = 2
"""Neighbouring lines that look like rows of one table, or like code, from which they are taken for it."""
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
            lines = [line for line in _LINE.finditer(text, start, end) if line.group().strip()]
            for line, shape in zip(lines, _shapes([line.group() for line in lines]), strict=True):
                yield Block(line.start(), line.end(), shape)


def _shapes(lines: list[str]) -> list[str]:
    """Return the shape of each line. Code and the rows of a table are told by several lines together: one line may be prose."""
    found = [_shape(line) for line in lines]
    for shape, runs, least in (
        (CODE, groupby(range(len(lines)), lambda n: found[n] != QUOTE and _is_code(lines[n])), _LEAST_CODE),
        (TABLE, groupby(range(len(lines)), lambda n: found[n] == PROSE and _cells(lines[n])), _LEAST_ROWS),
    ):
        for is_one, run in runs:
            numbers = list(run)
            if is_one and len(numbers) >= least:
                found[numbers[0] : numbers[-1] + 1] = [shape] * len(numbers)
    return found


def _is_code(line: str) -> bool:
    return len(line) <= _LONGEST_CODE and _CODE_LINE.fullmatch(line.rstrip()) is not None


def _cells(line: str) -> tuple[str, int] | None:
    """Return the separator and the number of cells of a row without spaces behind its separators; None for any other line."""
    separators = _CELL.findall(line.strip())
    if len(separators) < 2 or len(set(separators)) > 1 or f"{separators[0]} " in line:
        return None
    return separators[0], len(separators)


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
