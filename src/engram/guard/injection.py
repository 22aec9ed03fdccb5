"""Is this text written to be obeyed rather than read? A verdict with reasons, for what is kept and for what is recalled.

Two judges. Rules (`guard/suspicion.py`) know the moves of an attack by their grammar and give reasons. A small classifier
(hashed words, pairs and triples; weights in `injection.weights`, made by tools/injection from sentences of our own) knows the
wording.
A text is looked at as a reader would see it: zero-width letters out, look-alikes turned back, base64 and rot13 read. Long texts
are judged window by window, since an attack hides in much that is harmless. Pure but for reading the weights once.

Thresholds: flagged is kept but never put into a prompt by itself; rejected is not kept. How much either catches, and what it
costs in false alarms, is in docs/benchmarks.md; it is a net, not a wall, and the fence around recalled text must hold without
it.
"""

from __future__ import annotations

import math
import re
import zlib
from enum import StrEnum
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from engram.frozen import frozen
from engram.guard.edition import VERSION as VERSION
from engram.guard.suspicion import find_signs, normalize

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUCKETS = 1 << 17
_MOST = BUCKETS - 1
_MIX = (0x9E3779B1, 0x85EBCA77)
_SPREAD = 0xD6E8FEB86659FD93
_WORD = (1 << 64) - 1
_WINDOW = 48  # words; an attack is a sentence or two
_STEP = 32
_WORDING = 2.0
_CALM = 1.25  # logits below which wording is noise: 99 % of ordinary talk stays under it
_SHORT = 12  # words; of an everyday sentence of so few, wording alone says little: "print the invoice and send it on"
_SHORT_CALM = 0.45
_TERSE = 3  # words that no wording makes an attack
_ZERO = (0.0,)
FLAGGED = 0.5
REJECTED = 0.99
_TOKEN = re.compile(r"[^\W\d_]{1,24}(?:['’][^\W\d_]{1,3})?|\d+|[^\w\s]")
_ASCII = re.compile(r"[a-z]{1,24}(?:'[a-z]{1,3})?|[0-9]+|[^a-z0-9_\s]")


class InjectionVerdict(StrEnum):
    CLEAN = "clean"
    FLAGGED = "flagged"
    REJECTED = "rejected"


@frozen
class Assessment:
    """How likely a text is an attack on the model that reads it, from 0 to 1, and why."""

    verdict: InjectionVerdict
    score: float
    reasons: tuple[str, ...] = ()


def assess(text: str) -> Assessment:
    """Judge a text."""
    read = normalize(text)
    found = find_signs(read)
    words = classifier_tokens(read.text)
    wording = _wording(words)
    logit = max(wording, -1.0) + sum(reason.weight for reason in found) if found else wording - _doubt(len(words))
    logit -= _CALM
    score = 1.0 / (1.0 + math.exp(-max(min(logit, 30.0), -30.0)))
    reasons = tuple(dict.fromkeys([*(reason.name for reason in found), *(["wording"] if wording > _WORDING else [])]))
    verdict = (
        InjectionVerdict.REJECTED
        if score >= REJECTED
        else InjectionVerdict.FLAGGED
        if score >= FLAGGED
        else InjectionVerdict.CLEAN
    )
    return Assessment(verdict, score, reasons if verdict is not InjectionVerdict.CLEAN else ())


def _doubt(words: int) -> float:
    """How much more the wording of a short text must say where no move of an attack stands in it."""
    return _WORDING if words <= _TERSE else _SHORT_CALM if words <= _SHORT else 0.0


@lru_cache(maxsize=2048)
def assess_cached(text: str) -> Assessment:
    """The same, remembered for texts that come again: a turn goes to the vault and to the mind, a memory into many answers."""
    return assess(text)


def feature_buckets(words: list[str]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """The bucket of every word, pair and triple, in order; what was there before is in the last bucket,
    which weighs nothing."""
    import numpy as np  # start-up time of `import engram`

    one = np.fromiter((zlib.crc32(word.encode()) for word in words), np.uint64, len(words))
    two = one[:-1] * np.uint64(_MIX[0]) + one[1:]
    three = two[:-1] * np.uint64(_MIX[1]) + one[2:]
    return _bucket(one), _bucket(two), _bucket(three)


def _bucket(mixed: NDArray[Any]) -> NDArray[Any]:
    import numpy as np  # as above

    buckets = (((mixed * np.uint64(_SPREAD)) >> np.uint64(40)) % np.uint64(BUCKETS - 1)).astype(np.int64)
    first = np.unique(buckets, return_index=True)[1]
    seen: NDArray[Any] = np.full(len(buckets), BUCKETS - 1)
    seen[first] = buckets[first]
    return seen


def classifier_tokens(text: str) -> list[str]:
    """As the classifier sees them: lower case, every number alike, every other sign a word of its own."""
    low = text.lower()
    tokens: list[str] = _ASCII.findall(low) if text.isascii() else _TOKEN.findall(low.replace("’", "'"))
    return ["0" if token[0].isdigit() else token for token in tokens]


def windows(count: int) -> list[tuple[int, int]]:
    """Where a text of so many words is cut to be judged."""
    if count <= _WINDOW + _WINDOW // 2:
        return [(0, count)] if count else []
    return [(at, min(at + _WINDOW, count)) for at in range(0, count - _WINDOW // 3, _STEP)]


def _wording(words: list[str]) -> float:
    """The logit of the most suspicious window, a little lower the more windows there were to find one in."""
    import numpy as np  # as above

    weights, bias = _weights()
    several = windows(len(words))
    if not several:
        return -_WORDING
    if len(several) == 1:
        return bias + _short(words, weights)
    sums = [np.concatenate([_ZERO, np.cumsum(weights[buckets])]) for buckets in feature_buckets(words)]
    best = max(
        sum(float(sum_[max(end - less, start)] - sum_[start]) for less, sum_ in enumerate(sums))
        / math.sqrt(max(3 * (end - start) - 3, 1))
        for start, end in several
    )
    return bias + best - 0.5 * math.log(len(several))


def _short(words: list[str], weights: NDArray[Any]) -> float:
    """The same of a text that is one window, as most are: plain arithmetic, a tenth of what arrays of a dozen numbers take."""
    alone, last, first, middle, head = zip(*map(_mixed, words), strict=True)
    pairs = {((a + b & _WORD) >> 40) % _MOST for a, b in zip(first, last[1:], strict=False)}
    triples = {((a + b + c & _WORD) >> 40) % _MOST for a, b, c in zip(head, middle[1:], last[2:], strict=False)}
    held = memoryview(weights.data).__getitem__  # taking single numbers out of an array costs five times as much
    total = sum(sum(map(held, buckets)) for buckets in (set(alone), pairs, triples))
    return total / math.sqrt(max(3 * len(words) - 3, 1))


@lru_cache(maxsize=16_384)
def _mixed(word: str) -> tuple[int, int, int, int, int]:
    """The bucket of a word, and what it adds to those of pairs and triples: as their last word, the first of two, the middle and
    the first of three. All that is multiplied in `hashed` is multiplied here, once for every word there is."""
    last = zlib.crc32(word.encode()) * _SPREAD & _WORD
    middle = last * _MIX[1] & _WORD
    first = last * _MIX[0] & _WORD
    return (last >> 40) % _MOST, last, first, middle, first * _MIX[1] & _WORD


@cache
def _weights() -> tuple[NDArray[Any], float]:
    """One byte a bucket, after its scale and the bias as float32."""
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
