"""What the command line prints, and how: data on standard output, remarks on standard error.

Every word goes through `safe` on its way to a terminal: a stored escape sequence must not clear a screen, a stored
direction mark must not reorder a line, and nothing is taken for markup. Colour only on a terminal, and not under
NO_COLOR; where output is piped, tables are lines of tab-separated cells.
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
from engram.serve import wire
from engram.types import LanguageModelState, Scope

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_CONTROLS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u00ad\u200c\u200d")
"""Soft hyphen and the two joiners, which emoji and several scripts are written with: formats, but harmless ones."""

_WIDEST = 32
"""Columns of a table take this much at most (an id needs 26), so that the last one has room."""

_ROOM = 30
"""What the last column needs to be read; with less, it stands below."""

_GAP = 2


def safe(text: str, *, lines: bool = False) -> str:
    """Text in which control and format characters are spelled out; with `lines`, line ends stay what they are."""
    if text.isprintable():
        return text
    return "".join(c if (lines and c == "\n") or _harmless(c) else _spelled(c) for c in text)


def one_line(text: str) -> str:
    """Text as one line of a list: each run of white space is a space."""
    return safe(" ".join(text.split()))


def _harmless(character: str) -> bool:
    return character in _JOINERS or unicodedata.category(character) not in _CONTROLS


def _spelled(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def data(value: object) -> None:
    """A value as JSON. Only ASCII, so that it survives every terminal and every encoding on the way."""
    print(json.dumps(wire.plain(value), indent=2, allow_nan=False), flush=True)


def line(text: str = "", style: str = "", *, flush: bool = False) -> None:
    """A line of the answer; `style` is rich's, and is seen on a terminal only. flush: somebody waits for it now."""
    if style and sys.stdout.isatty():
        from rich.text import Text  # rich takes 0.1 s to load: only for those who see it

        _console().print(Text(safe(text, lines=True), style=style), soft_wrap=True)
    else:
        print(safe(text, lines=True), flush=flush)


def remark(text: str) -> None:
    """Something about the answer that is not the answer."""
    print(safe(text, lines=True), file=sys.stderr)


def error(problem: EngramError, *, as_json: bool = False) -> None:
    """What went wrong, and the way out; as JSON one line, because it stands on standard error among other lines."""
    if as_json:
        print(json.dumps({"error": wire.problem(problem)}), file=sys.stderr)
        return
    known = problem.code != EngramError.code  # the root's code says nothing
    remark(f"{problem.code}: {problem.message}" if known else problem.message)
    if problem.way_out:
        remark(problem.way_out)


def value(found: object) -> None:
    """Any value, for which nobody has drawn anything better: its wire form as names and what belongs to them."""
    for text in _outlined(wire.plain(found), ""):
        line(text)


def _outlined(found: wire.Plain, indent: str) -> Iterator[str]:
    """Lists as entries with a dash, objects as names; what is empty is left out."""
    if isinstance(found, dict):
        for name, part in found.items():
            if isinstance(part, dict | list) and part:
                yield f"{indent}{name}:"
                yield from _outlined(part, indent + "  ")
            elif part not in (None, "", [], {}):
                yield f"{indent}{name}: {one_line(str(part))}"
    elif isinstance(found, list):
        for part in found:
            first, *rest = list(_outlined(part, "  " + indent)) or [""]
            yield f"{indent}- {first.strip()}"
            yield from rest
    else:
        yield f"{indent}{one_line(str(found))}"


def pairs(rows: Iterable[tuple[str, str]], *, indent: str = "") -> None:
    """Names and what belongs to them, one below the other; longer texts keep their lines."""
    known = [(name, value) for name, value in rows if value]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        head, *rest = value.split("\n")
        line(f"{indent}{name:<{width}}  {head}")
        for more in rest:
            line(f"{indent}{'':<{width}}  {more}")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, wrap: bool = False) -> None:
    """Rows under columns. On a terminal the last column takes what room is left: cut off, or with `wrap` folded. Where there is
    too little, it and what else does not fit stand on a line below, so that no id is cut and no text is a column of letters."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            print("\t".join(row))
        return
    from rich.cells import cell_len  # as above

    console = _console()
    widths = [min(max(map(cell_len, column)), _WIDEST) for column in zip(columns[:-1], *(row[:-1] for row in cells), strict=True)]
    longest = max(cell_len(row[-1]) for row in (columns, *cells))
    if sum(widths) + _GAP * len(widths) + min(longest, _ROOM) <= console.width:
        console.print(_grid(columns, cells, wrap))
    else:
        _stacked(console, (columns, *cells), widths, wrap)


def _stacked(console: Console, rows: Sequence[Sequence[str]], widths: list[int], wrap: bool) -> None:
    """The columns that fit beside each other, and the rest of each row below."""
    from rich.padding import Padding  # as above
    from rich.text import Text

    while len(widths) > 1 and sum(widths) + _GAP * (len(widths) - 1) > console.width:
        widths.pop()
    for number, row in enumerate(rows):
        cells = [Text(cell, style="" if number else "bold") for cell in row]
        for cell, width in zip(cells, widths, strict=False):
            cell.truncate(width, overflow="ellipsis", pad=True)
        beside, below = (Text(" " * _GAP).join(filter(None, some)) for some in (cells[: len(widths)], cells[len(widths) :]))
        console.print(beside, no_wrap=True, overflow="ellipsis")
        if below:
            console.print(Padding(below, (0, 0, 0, 2 * _GAP)), no_wrap=not wrap, overflow="fold" if wrap else "ellipsis")


def _grid(columns: Sequence[str], cells: Sequence[Sequence[str]], wrap: bool) -> Table:
    from rich.table import Table  # as above
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="bold", expand=True)
    overflow: Literal["fold", "ellipsis"] = "fold" if wrap else "ellipsis"
    for name in columns[:-1]:
        grid.add_column(Text(name), max_width=_WIDEST, no_wrap=not wrap, overflow=overflow)
    grid.add_column(Text(columns[-1]), ratio=1, no_wrap=not wrap, overflow=overflow)
    for row in cells:
        grid.add_row(*(Text(cell) for cell in row))
    return grid


def cut(text: str, width: int) -> str:
    """Text in so many columns."""
    from rich.text import Text  # as above

    short = Text(text)
    short.truncate(width, overflow="ellipsis")
    return short.plain


def _console() -> Console:
    from rich.console import Console  # as above

    return Console(file=sys.stdout, markup=False, highlight=False, emoji=False)


# ── words for values ───────────────────────────────────────────────────────────────────────────────────────────────────


def size(number: int) -> str:
    """Bytes for people."""
    amount = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def when(moment: datetime | None) -> str:
    """A moment by the clock on this machine's wall."""
    if moment is None:
        return ""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    try:
        return f"{aware.astimezone():%Y-%m-%d %H:%M}"
    except (OverflowError, OSError, ValueError):  # the calendar's first and last hours have no local time
        return f"{aware:%Y-%m-%d %H:%M}Z"


def many(number: int, thing: str, things: str = "") -> str:
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def language(model: LanguageModelState) -> str:
    """A language model: whether it answers, and what it cost."""
    cost = f"; {many(model.calls_day, 'call')} and {many(model.tokens_day, 'token')} in the last day" if model.calls_day else ""
    if model.trouble:
        return f"{model.name}: {model.trouble}{cost}"
    return model.name + (f", answers at {model.place}" if model.place else "") + cost


def place(scope: Scope) -> str:
    named = [f"{dimension}:{value}" for dimension, value in asdict(scope).items() if value]
    return " ".join(named) or "global"
