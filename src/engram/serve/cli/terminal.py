"""Printing for the command line: data on standard output, remarks on standard error.

All text goes through `safe`: a stored escape sequence must not clear a screen, a stored direction mark must not reorder a line,
and nothing is read as markup. Colour appears only on a terminal, and not under NO_COLOR; where output is piped, tables are lines
of tab-separated cells.
"""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from engram.errors import EngramError
from engram.serve.operations import wire
from engram.types import LanguageModelState, Memory, Scope, Status

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_CONTROLS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u00ad\u200c\u200d")
"""Soft hyphen and the two joiners, which emoji and several scripts need: format characters, but harmless."""

_COLUMN_WIDTH = 32
"""Maximum width of all columns but the last (an id needs 26), so that the last one has room."""

_LAST_COLUMN_WIDTH = 30
"""Minimum width of the last column; with less room it is printed on a line below."""

_GAP = 2


def safe(text: str, *, lines: bool = False) -> str:
    """Return the text with control and format characters escaped; with `lines`, line ends are kept."""
    if text.isprintable():
        return text
    return "".join(c if (lines and c == "\n") or _is_harmless(c) else _escaped(c) for c in text)


def one_line(text: str) -> str:
    """Return the text as one safe line, with each run of white space replaced by a space."""
    return safe(" ".join(text.split()))


def _is_harmless(character: str) -> bool:
    return character in _JOINERS or unicodedata.category(character) not in _CONTROLS


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def data(value: object) -> None:
    """Print a value as JSON, in ASCII so that it survives every encoding on the way."""
    print(json.dumps(wire.plain(value), indent=2, allow_nan=False), flush=True)


def line(text: str = "", style: str = "", *, flush: bool = False) -> None:
    """Print a line of the answer. style: rich's, applied on a terminal only."""
    if style and sys.stdout.isatty():
        from rich.text import Text  # late: rich takes 0.1 s to load

        _console().print(Text(safe(text, lines=True), style=style), soft_wrap=True)
    else:
        print(safe(text, lines=True), flush=flush)


def remark(text: str) -> None:
    """Print a remark about the answer on standard error."""
    print(safe(text, lines=True), file=sys.stderr)


def error(problem: EngramError, *, as_json: bool = False) -> None:
    """Print an error and its way out; as JSON on one line, because other lines may surround it on standard error."""
    if as_json:
        print(json.dumps({"error": wire.problem(problem)}), file=sys.stderr)
        return
    has_code = problem.code != EngramError.code  # the code of the base class says nothing
    remark(f"{problem.code}: {problem.message}" if has_code else problem.message)
    if problem.way_out:
        remark(problem.way_out)


def value(result: object) -> None:
    """Print a value that has no display of its own: an outline of its wire form."""
    for text in _outlined(wire.plain(result), ""):
        line(text)


def _outlined(plain: wire.Plain, indent: str) -> Iterator[str]:
    """Yield the lines of an outline: list items with a dash, members by name, empty values left out."""
    if isinstance(plain, dict):
        for name, part in plain.items():
            if isinstance(part, dict | list) and part:
                yield f"{indent}{name}:"
                yield from _outlined(part, indent + "  ")
            elif part not in (None, "", [], {}):
                yield f"{indent}{name}: {one_line(str(part))}"
    elif isinstance(plain, list):
        for part in plain:
            first, *rest = list(_outlined(part, "  " + indent)) or [""]
            yield f"{indent}- {first.strip()}"
            yield from rest
    else:
        yield f"{indent}{one_line(str(plain))}"


def pairs(rows: Iterable[tuple[str, str]], *, indent: str = "") -> None:
    """Print names and values in two columns. Pairs with an empty value are left out; line breaks in a value are kept."""
    filled = [(name, value) for name, value in rows if value]
    width = max((len(name) for name, _ in filled), default=0)
    for name, value in filled:
        first, *rest = value.split("\n")
        line(f"{indent}{name:<{width}}  {first}")
        for following in rest:
            line(f"{indent}{'':<{width}}  {following}")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, wrap: bool = False) -> None:
    """Print rows under column heads. On a terminal the last column takes the remaining width, cut off or with `wrap` folded. If
    that is too narrow, the columns that do not fit are printed on a line below, so that ids stay whole and texts readable."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            print("\t".join(row))
        return
    from rich.cells import cell_len  # late: as in `line`

    console = _console()
    by_column = zip(columns[:-1], *(row[:-1] for row in cells), strict=True)
    widths = [min(max(map(cell_len, column)), _COLUMN_WIDTH) for column in by_column]
    longest = max(cell_len(row[-1]) for row in (columns, *cells))
    if sum(widths) + _GAP * len(widths) + min(longest, _LAST_COLUMN_WIDTH) <= console.width:
        console.print(_grid(columns, cells, wrap))
    else:
        _stacked(console, (columns, *cells), widths, wrap)


def _stacked(console: Console, rows: Sequence[Sequence[str]], widths: list[int], wrap: bool) -> None:
    """Print the columns that fit side by side, and the other cells of each row on a line below."""
    from rich.padding import Padding  # late: as in `line`
    from rich.text import Text

    while len(widths) > 1 and sum(widths) + _GAP * (len(widths) - 1) > console.width:
        widths.pop()
    for number, row in enumerate(rows):
        cells = [Text(cell, style="" if number else "bold") for cell in row]
        for cell, width in zip(cells, widths, strict=False):
            cell.truncate(width, overflow="ellipsis", pad=True)
        beside, below = (Text(" " * _GAP).join(filter(None, part)) for part in (cells[: len(widths)], cells[len(widths) :]))
        console.print(beside, no_wrap=True, overflow="ellipsis")
        if below:
            console.print(Padding(below, (0, 0, 0, 2 * _GAP)), no_wrap=not wrap, overflow="fold" if wrap else "ellipsis")


def _grid(columns: Sequence[str], cells: Sequence[Sequence[str]], wrap: bool) -> Table:
    from rich.table import Table  # late: as in `line`
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", expand=True)
    overflow: Literal["fold", "ellipsis"] = "fold" if wrap else "ellipsis"
    for name in columns[:-1]:
        grid.add_column(Text(name), max_width=_COLUMN_WIDTH, no_wrap=not wrap, overflow=overflow)
    grid.add_column(Text(columns[-1]), ratio=1, no_wrap=not wrap, overflow=overflow)
    for row in cells:
        grid.add_row(*(Text(cell) for cell in row))
    return grid


def cut(text: str, width: int) -> str:
    """Return the text cut to a width in terminal columns."""
    from rich.text import Text  # late: as in `line`

    short = Text(text)
    short.truncate(width, overflow="ellipsis")
    return short.plain


def _console() -> Console:
    from rich.console import Console  # late: as in `line`

    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False)


# ── values as text ───────────────────────────────────────────────────────────────────────────────────────────────────


def size(number: int) -> str:
    """Return a number of bytes with a binary unit."""
    amount = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def when(moment: datetime | None) -> str:
    """Return a time in the local time zone, to the minute; "" for None."""
    if moment is None:
        return ""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    try:
        return f"{aware.astimezone():%Y-%m-%d %H:%M}"
    except (OverflowError, OSError, ValueError):  # the first and last hours of the calendar have no local time
        return f"{aware:%Y-%m-%d %H:%M}Z"


def many(number: int, thing: str, things: str = "") -> str:
    """Return a count with its noun, in the plural unless the count is 1."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def language(model: LanguageModelState) -> str:
    """Return the name of a language model, its address or error, and its use in the last day."""
    cost = f"; {many(model.calls_day, 'call')} and {many(model.tokens_day, 'token')} in the last day" if model.calls_day else ""
    if model.trouble:
        return f"{model.name}: {model.trouble}{cost}"
    return model.name + (f", answers at {model.place}" if model.place else "") + cost


def marked(memory: Memory) -> str:
    """Return the text of a memory, with a mark before it if it is challenged."""
    return f"(may be outdated) {memory.text}" if memory.status is Status.CHALLENGED else memory.text


def place(scope: Scope) -> str:
    """Return a scope as `dimension:name` pairs, or "global"."""
    named = [f"{dimension}:{value}" for dimension, value in asdict(scope).items() if value]
    return " ".join(named) or "global"
