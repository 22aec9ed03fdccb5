"""Prompt-injection detection: a verdict with reasons for a text that is stored or recalled.

Two parts judge a text. Rules (`guard/injection_rules.py`) match the grammar of known attacks and give reasons. A small classifier
(hashed words, pairs and triples; weights in `injection.weights`, trained by tools/injection on sentences of our own) scores the
wording. Texts are normalised first: zero-width characters removed, look-alike letters mapped to Latin, base64 and rot13 decoded.
Long texts are scored window by window, because an attack hides in harmless text. Pure, apart from reading the weights once.

Thresholds: a flagged text is stored but never placed in a prompt on its own; a rejected text is not stored. Detection and
false-alarm rates are in docs/benchmarks.md. Detection is not complete: the fence around recalled text must hold without it.
"""

from __future__ import annotations

import math
import zlib
from enum import StrEnum
from functools import cache, lru_cache

from engram.values.frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from typing import Any

    from numpy.typing import NDArray

VERSION = 3
"""Covers rules and weights together. A memory screened under another version is screened again before it enters a prompt."""

BUCKETS = 1 << 17
_MOST = BUCKETS - 1
_MIX = (0x9E3779B1, 0x85EBCA77)
_SPREAD = 0xD6E8FEB86659FD93
_WORD = (1 << 64) - 1
_WINDOW = 48  # words; an attack is a sentence or two
_STEP = 32
_WORDING = 2.0
_NOISE = 1.25  # logits; the wording of 99 % of ordinary talk scores below this
_SHORT = 12  # words; in so short a sentence wording alone says little: "print the invoice and send it on"
_SHORT_MARGIN = 0.45
_TERSE = 3  # words; a text this short is never an attack by its wording
_ZERO = (0.0,)
FLAGGED = 0.5
REJECTED = 0.99


class InjectionVerdict(StrEnum):
    """Clean texts are stored and used, flagged ones stored but kept out of prompts, rejected ones not stored."""

    CLEAN = "clean"
    FLAGGED = "flagged"
    REJECTED = "rejected"


@frozen
class Assessment:
    """The probability (0 … 1) that a text attacks the model that reads it, the verdict, and the reasons."""

    verdict: InjectionVerdict
    score: float
    reasons: tuple[str, ...] = ()


def assess(text: str) -> Assessment:
    """Judge a text by its signs and its wording."""
    from engram.guard.injection_rules import find_signs, normalize  # late: compiling its patterns is slow

    normalized = normalize(text)
    signs = find_signs(normalized)
    words = classifier_tokens(normalized.text)
    wording = _wording(words)
    logit = max(wording, -1.0) + sum(sign.weight for sign in signs) if signs else wording - _margin(len(words))
    logit -= _NOISE
    score = 1.0 / (1.0 + math.exp(-max(min(logit, 30.0), -30.0)))
    reasons = tuple(dict.fromkeys([*(sign.name for sign in signs), *(["wording"] if wording > _WORDING else [])]))
    verdict = _verdict(score)
    return Assessment(verdict, score, reasons if verdict is not InjectionVerdict.CLEAN else ())


def _verdict(score: float) -> InjectionVerdict:
    if score >= REJECTED:
        return InjectionVerdict.REJECTED
    return InjectionVerdict.FLAGGED if score >= FLAGGED else InjectionVerdict.CLEAN


def _margin(words: int) -> float:
    """Return the logits by which the wording of a short text must exceed the threshold when it has no sign of an attack."""
    return _WORDING if words <= _TERSE else _SHORT_MARGIN if words <= _SHORT else 0.0


@lru_cache(maxsize=2048)
def assess_cached(text: str) -> Assessment:
    """Judge a text, caching the result: a turn goes to the vault and to working memory, a memory into many answers."""
    return assess(text)


def feature_buckets(words: list[str]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the bucket of every word, pair and triple, in order. A repeated feature gets the last bucket, whose weight is 0."""
    import numpy as np  # late: start-up time of `import engram`

    singles = np.fromiter((zlib.crc32(word.encode()) for word in words), np.uint64, len(words))
    pairs = singles[:-1] * np.uint64(_MIX[0]) + singles[1:]
    triples = pairs[:-1] * np.uint64(_MIX[1]) + singles[2:]
    return _bucket(singles), _bucket(pairs), _bucket(triples)


def _bucket(mixed: NDArray[Any]) -> NDArray[Any]:
    import numpy as np  # as above

    buckets = (((mixed * np.uint64(_SPREAD)) >> np.uint64(40)) % np.uint64(BUCKETS - 1)).astype(np.int64)
    first = np.unique(buckets, return_index=True)[1]
    seen: NDArray[Any] = np.full(len(buckets), BUCKETS - 1)
    seen[first] = buckets[first]
    return seen


def classifier_tokens(text: str) -> list[str]:
    """Return the tokens of a text: words in lower case, "0" for every number, and each punctuation mark by itself."""
    low = text.lower()
    any_script, ascii_only = _token_patterns()
    tokens: list[str] = ascii_only.findall(low) if text.isascii() else any_script.findall(low.replace("’", "'"))
    return ["0" if token[0].isdigit() else token for token in tokens]


@cache
def _token_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Compile the patterns of tokens in any script, and in ASCII. Late: a hook needs only `VERSION`."""
    import re

    any_script = re.compile(r"[^\W\d_]{1,24}(?:['’][^\W\d_]{1,3})?|\d+|[^\w\s]")
    return any_script, re.compile(r"[a-z]{1,24}(?:'[a-z]{1,3})?|[0-9]+|[^a-z0-9_\s]")


def windows(count: int) -> list[tuple[int, int]]:
    """Return the overlapping windows, as (start, end), in which a text of `count` words is scored."""
    if count <= _WINDOW + _WINDOW // 2:
        return [(0, count)] if count else []
    return [(at, min(at + _WINDOW, count)) for at in range(0, count - _WINDOW // 3, _STEP)]


def _wording(words: list[str]) -> float:
    """Return the logit of the highest-scoring window, lowered by the logarithm of the number of windows."""
    import numpy as np  # as above

    weights, bias = _weights()
    spans = windows(len(words))
    if not spans:
        return -_WORDING
    if len(spans) == 1:
        return bias + _single_window(words, weights)
    sums = [np.concatenate([_ZERO, np.cumsum(weights[buckets])]) for buckets in feature_buckets(words)]
    best = max(
        sum(float(sum_[max(end - less, start)] - sum_[start]) for less, sum_ in enumerate(sums))
        / math.sqrt(max(3 * (end - start) - 3, 1))
        for start, end in spans
    )
    return bias + best - 0.5 * math.log(len(spans))


def _single_window(words: list[str], weights: NDArray[Any]) -> float:
    """Score a text of one window, as most are, in plain Python: a tenth of the time that arrays of a dozen numbers take."""
    alone, last, first, middle, head = zip(*map(_mixed, words), strict=True)
    pairs = {((a + b & _WORD) >> 40) % _MOST for a, b in zip(first, last[1:], strict=False)}
    triples = {((a + b + c & _WORD) >> 40) % _MOST for a, b, c in zip(head, middle[1:], last[2:], strict=False)}
    weight_of = memoryview(weights.data).__getitem__  # indexing the array itself takes five times as long
    total = sum(sum(map(weight_of, buckets)) for buckets in (set(alone), pairs, triples))
    return total / math.sqrt(max(3 * len(words) - 3, 1))


@lru_cache(maxsize=16_384)
def _mixed(word: str) -> tuple[int, int, int, int, int]:
    """Return a word's bucket and its terms in the hashes of pairs and triples: as last word, first of two, middle and first
    of three. The multiplications of `feature_buckets` are done here, once per distinct word."""
    last = zlib.crc32(word.encode()) * _SPREAD & _WORD
    middle = last * _MIX[1] & _WORD
    first = last * _MIX[0] & _WORD
    return (last >> 40) % _MOST, last, first, middle, first * _MIX[1] & _WORD


@cache
def _weights() -> tuple[NDArray[Any], float]:
    """Read the weights and the bias. The file holds a scale and the bias as float32, then one signed byte per bucket."""
    from importlib import resources

    import numpy as np  # as above

    raw = resources.files("engram.guard").joinpath("injection.weights").read_bytes()
    scale, bias = np.frombuffer(raw, "<f4", 2)
    return np.frombuffer(raw, np.int8, offset=8).astype(np.float32) * scale, float(bias)


__all__ = [
    "BUCKETS",
    "Assessment",
    "InjectionVerdict",
    "assess",
    "assess_cached",
    "classifier_tokens",
    "feature_buckets",
    "windows",
]
