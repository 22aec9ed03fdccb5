"""The language of a short piece of chat, by its script and then by a small table of words and letter groups.

The table (`language.tsv`) is fitted by `training/language/fit.py`. Its first line has the codes of the languages and their
biases, each other line a feature and its weights, eight bits a language in hexadecimal digits. The weights of a feature stand
side by side in one integer, so that a text is scored by adding integers: a sentence takes about 0.1 ms and no array library.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from importlib.resources import files

from engram.values.frozen import frozen

_READ = 240
"""Characters that are read; a longer text is clear before its end."""

_LANE = 24
"""Bits of one language in the sum of all weights: room for some thousand features of eight bits."""

_MIDDLE = 128
"""The weight of a feature that says nothing about a language: weights are stored as numbers from 0 to 255."""

_SURE = 0.4
"""Probability below which the language is left open."""

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_NOT_WORDS = re.compile(r"\S*(?:://|[/\\@_<>{}=]|\w\.\w{2})\S*|`[^`]{0,80}`")
_MARKED = re.compile(r"[/\\@_<>{}=`]|\w\.\w")
_LONGEST = 14  # characters of a word that are cut into groups

_KANA, _HAN, _HANGUL = re.compile(r"[\u3041-\u30ff]"), re.compile(r"[\u4e00-\u9fff\u3400-\u4dbf]"), re.compile(r"[\uac00-\ud7af]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f\u1e00-\u1eff]")
_SYLLABIC = 2.5
"""Letters of an alphabet that say as much as one character of Chinese, Japanese or Korean."""

_SCRIPTS = (
    ("uk", re.compile(r"[іїєґІЇЄҐ]")), ("ru", re.compile(r"[\u0400-\u04ff]")), ("el", re.compile(r"[\u0370-\u03ff]")),
    ("fa", re.compile(r"[پچژگ]")), ("ar", re.compile(r"[\u0600-\u06ff]")), ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")), ("th", re.compile(r"[\u0e00-\u0e7f]")),
)  # fmt: skip
"""Languages by a script that is mostly theirs; the first that matches counts."""


@frozen
class _LanguageTable:
    """The fitted table: languages, their biases, the size of a step of a weight, and the packed weights of each feature."""

    codes: tuple[str, ...]
    biases: tuple[float, ...]
    scale: float
    weights: dict[str, int]


def language_of(text: str) -> str:
    """Return the ISO code of the language of a text, "" if that is not sure."""
    text = text[:_READ]
    if not text.isascii():
        script = _by_script(text)
        if script:
            return script
    likely = scores(text)
    if not likely:
        return ""
    code, share = max(likely.items(), key=lambda item: item[1])
    return code if share >= _SURE and code != "xx" else ""


def _by_script(text: str) -> str:
    """Return the language of a script that only few languages use; "" for Latin letters."""
    latin = len(_LATIN.findall(text))
    kana, han, hangul = (len(pattern.findall(text)) for pattern in (_KANA, _HAN, _HANGUL))
    if (kana + han + hangul) * _SYLLABIC > latin:
        return "ko" if hangul > kana + han else "ja" if kana * 8 > han else "zh"
    for code, pattern in _SCRIPTS:
        if pattern.search(text) and sum(not char.isascii() and char.isalpha() for char in text) * 2 > latin:
            return code
    return ""


def scores(text: str) -> dict[str, float]:
    """Return the probability of each language that is written in Latin letters; empty if no feature of the text is known."""
    table = _table()
    found = [weight for name in features(text) if (weight := table.weights.get(name)) is not None]
    if not found:
        return {}
    total, middle, mask = sum(found), _MIDDLE * len(found), (1 << _LANE) - 1
    sums = [(((total >> _LANE * lane) & mask) - middle) * table.scale + table.biases[lane] for lane in range(len(table.codes))]
    top = max(sums)
    odds = [math.exp(value - top) for value in sums]
    return {code: odd / sum(odds) for code, odd in zip(table.codes, odds, strict=True)}


def features(text: str) -> list[str]:
    """Return the features of a text: its words, and the groups of three letters in them, with their ends marked."""
    plain = text[:_READ].lower().replace("’", "'")
    names: list[str] = []
    for said in _WORD.findall(_NOT_WORDS.sub(" ", plain) if _MARKED.search(plain) else plain):
        word = f"^{said[:_LONGEST]}$"
        names.append(word)
        names += [word[at : at + 3] for at in range(len(word) - 2)]
    if not plain.isascii():
        names += [char for char in plain if char > "\x7f"]
    return names


@lru_cache(maxsize=1)
def _table() -> _LanguageTable:
    lines = files("engram.text").joinpath("language.tsv").read_text("utf-8").splitlines()
    head = lines[0].split("\t")
    codes = tuple(pair.split("=")[0] for pair in head[1:])
    biases = tuple(float(pair.split("=")[1]) for pair in head[1:])
    weights = {}
    for line in lines[1:]:
        name, _, digits = line.partition("\t")
        row = 0
        for lane, value in enumerate(bytes.fromhex(digits)):
            row |= value << _LANE * lane
        weights[name] = row
    return _LanguageTable(codes, biases, float(head[0]), weights)
