"""Output on a terminal: control characters of stored text are escaped, tables fit, values read well."""

from __future__ import annotations

import io
import re
import unicodedata
from datetime import UTC, datetime, tzinfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from engram.serve.cli import terminal
from engram.types import Scope


@given(st.text(st.characters(codec=None, categories=None)))
def test_no_control_character_passes(text: str) -> None:
    for shown in (terminal.safe(text), terminal.one_line(text)):
        assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cs", "Zl", "Zp"}
        assert not any(c in shown for c in "\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


@given(st.text(st.characters(categories=("L", "N", "P", "S", "M"))))
def test_printable_text_is_unchanged(text: str) -> None:
    assert terminal.safe(text) == text


def test_control_characters_are_escaped_visibly() -> None:
    assert terminal.safe("a\x1b[2Jb\x9bc\u202ed\U000e0041e\nf") == r"a\x1b[2Jb\x9bc\u202ed\U000e0041e\x0af"
    assert terminal.safe("a\nb\rc", lines=True) == "a\nb\\x0dc"
    assert terminal.one_line("a\n\t b\u2028c\x07") == r"a b c\x07"


def test_emoji_and_scripts_that_need_joiners_are_kept() -> None:
    assert terminal.safe("👩‍👩‍👧 نمی‌خواهم") == "👩‍👩‍👧 نمی‌خواهم"


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 * 1024, "1.5 MiB"), (2**40 * 3, "3.0 TiB")],
)
def test_sizes_are_printed_with_units(number: int, words: str) -> None:
    assert terminal.size(number) == words


@pytest.mark.parametrize("zone", [UTC, None])
@pytest.mark.parametrize("moment", [datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59)])
def test_the_ends_of_the_calendar_can_be_shown(moment: datetime, zone: tzinfo | None) -> None:
    assert terminal.when(moment.replace(tzinfo=zone))


def test_scopes_are_printed_by_dimension() -> None:
    assert terminal.place(Scope()) == "global"
    assert terminal.place(Scope(project="p", agent="rex")) == "project:p agent:rex"


@pytest.mark.parametrize("width", [30, 60, 80, 200])
def test_a_table_fits_any_terminal_and_cuts_no_id(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, 80 columns showed settings as a column of single letters and cut the ids that `undo-dream` needs."""
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    identity, words = "01M7J96EEX5C6TH3CJBFXPSTKJ", "what is told of it in a few words 李雷"
    terminal.table(
        ("id", "when", "verb", "range", "about"), [(identity, "2026-11-16 13:36", "dream", "own, agent", words)], wrap=True
    )
    seen = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    lines = seen.splitlines()
    assert all(cell_len(line) <= width for line in lines)
    assert identity in seen
    assert words in " ".join(seen.split())
    assert len(lines) <= 8
    assert len(lines) == 2 or width < 200
