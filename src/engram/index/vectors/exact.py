"""The scan that looks at every allowed row: the smallest tier, and the oracle of the others.

The question is rounded to a byte a dimension like the rows, so that the scan is one integer dot product a row (`numkong`'s
SIMD kernels; 0.4 ms for 10,000 rows of 384 dimensions, 4.5 ms for 100,000); the best few are then scored against the
question as it is, which mends what rounding it did. Without `numkong`, numpy multiplies in float32, block by block, at
two to three times the cost. With few rows allowed, only those are gathered and scored.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from engram.index.vectors.encoding import Codes, quantize
from engram.index.vectors.protocol import Allowed, Found, Numbers, Scores, Sealed, Stop
from engram.index.vectors.rows import Rows
from engram.models.embed import Vectors

Kernel = Callable[[Vectors], Callable[[Codes], Scores]]
"""Takes a question; gives a function that multiplies it with rows of codes (their scales left out)."""


def simd(query: Vectors) -> Callable[[Codes], Scores]:
    numkong: Any = import_module("numkong")  # late: there is no wheel of it for some platforms
    scales, codes = quantize(query)
    rounded, scale = codes[0], scales[0]

    def dots(rows: Codes) -> Scores:
        scores = np.empty(len(rows), np.float32)
        numkong.dot(rounded, rows, out=scores)
        scores *= scale
        return scores

    return dots


def blas(query: Vectors) -> Callable[[Codes], Scores]:
    return lambda rows: rows.astype(np.float32) @ query


def best_kernel() -> Kernel:
    return blas if find_spec("numkong") is None else simd


class Exact:
    """Holds nothing of its own: rows that are added are there."""

    name = "exact"
    unsealed = False
    memory_bytes = 0

    def __init__(self, rows: Rows, kernel: Kernel | None = None) -> None:
        self._rows = rows
        self._kernel = kernel or best_kernel()

    def search(self, query: Vectors, k: int, allowed: Allowed | None = None) -> Found:
        allowed = self._rows.everything() if allowed is None else allowed
        stop = self._rows.count if allowed is None else len(allowed)
        return nearest(self._rows, self._kernel, query, k, allowed, 0, stop)

    def search_many(self, queries: Vectors, k: int, allowed: Allowed | None = None) -> list[Found]:
        allowed = self._rows.everything() if allowed is None else allowed
        stop = self._rows.count if allowed is None else len(allowed)
        return nearest_many(self._rows, queries, k, allowed, 0, stop)

    def score(self, query: Vectors, numbers: Numbers) -> Scores:
        return scored(self._rows, query, numbers)

    def seal(self, stop: Stop) -> None:
        return

    def pack(self) -> Sealed:
        return Sealed()

    def unpack(self, sealed: Sealed) -> None:
        return

    def __len__(self) -> int:
        return len(self._rows)


def nearest(rows: Rows, kernel: Kernel, query: Vectors, k: int, allowed: Allowed | None, start: int, stop: int) -> Found:
    """The `k` nearest allowed rows from `start` to `stop`, every one of them looked at."""
    if k < 1 or stop <= start:
        return Found()
    if allowed is not None and allowed.count * _GATHER_COST < stop - start:
        numbers = allowed.numbers
        few = numbers[np.searchsorted(numbers, start) : np.searchsorted(numbers, stop)]
        return best(few, rows.score(query, few), k)
    scores = _scan(rows, kernel(query), start, stop)
    if allowed is not None:
        scores[~allowed.mask[start:stop]] = -np.inf
    close = _top(scores, max(2 * k, k + _SPARE))
    close = close[scores[close] > -np.inf] + start
    return best(close, rows.score(query, close), k)


def nearest_many(rows: Rows, queries: Vectors, k: int, allowed: Allowed | None, start: int, stop: int) -> list[Found]:
    """The same for many questions: each piece of the rows is multiplied with all of them while it is in the cache."""
    if k < 1 or stop <= start:
        return [Found() for _ in queries]
    if allowed is not None and allowed.count * _GATHER_COST < stop - start:
        return [nearest(rows, blas, query, k, allowed, start, stop) for query in queries]
    dots = _products(queries)
    wanted = max(2 * k, k + _SPARE)
    numbers, rough = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)
    for first, codes in rows.spans(start, stop, _PIECE):
        scores = dots(codes) * rows.scales(first, first + len(codes))
        if allowed is not None:
            scores[:, ~allowed.mask[first : first + len(codes)]] = -np.inf
        places = np.broadcast_to(np.arange(first, first + len(codes)), scores.shape)
        numbers, rough = _top_many(np.hstack((numbers, places)), np.hstack((rough, scores)), wanted)
    found = []
    for query, close, likeness in zip(queries, numbers, rough, strict=True):
        close = close[likeness > -np.inf]
        found.append(best(close, rows.score(query, close), k))
    return found


def _top_many(numbers: Numbers, scores: Scores, k: int) -> tuple[Numbers, Scores]:
    """The `k` highest of each row, in no order."""
    if k >= scores.shape[1]:
        return numbers, scores
    top = np.argpartition(scores, scores.shape[1] - k, axis=1)[:, -k:]
    return np.take_along_axis(numbers, top, 1), np.take_along_axis(scores, top, 1)


def _products(queries: Vectors) -> Callable[[Codes], Scores]:
    """Takes questions; gives a function that multiplies rows of codes with each, a row of products a question."""
    if find_spec("numkong") is None:
        return lambda rows: queries @ rows.T.astype(np.float32)
    numkong: Any = import_module("numkong")
    scales, codes = quantize(queries)
    packed = numkong.dots_pack(codes, dtype="int8")
    return lambda rows: np.asarray(numkong.dots_packed(rows, packed)).T * scales[:, None]


_GATHER_COST = 8
"""A row that is gathered and scored in float32 costs about this many rows of a scan (measured at 0.1 … 50 % allowed)."""

_SPARE = 64
"""Rows scored again beyond those asked for. Rounding the question moves a score by 0.0004 (one standard deviation at 384
dimensions), so a row that belongs among the first `k` is practically never as far back as this."""


def scored(rows: Rows, query: Vectors, numbers: Numbers) -> Scores:
    """Scores of given rows; NaN for a number that is none, or was removed."""
    count = rows.count
    known = (numbers >= 0) & (numbers < count)
    known[known] = rows.alive(count)[numbers[known]]
    scores = np.full(len(numbers), np.nan, np.float32)
    scores[known] = rows.score(query, numbers[known])
    return scores


def best(numbers: Numbers, scores: Scores, k: int) -> Found:
    """The `k` highest in order; of equals, the earlier row first."""
    if len(numbers) > 4 * k:
        some = _top(scores, k)
        edge = scores[some].min(initial=np.inf)
        some = np.flatnonzero(scores >= edge)  # all equals of the last one, so that which of them stay is not chance
        numbers, scores = numbers[some], scores[some]
    order = np.lexsort((numbers, -scores))[:k]
    return Found(numbers[order], scores[order])


def _scan(rows: Rows, dots: Callable[[Codes], Scores], start: int, stop: int) -> Scores:
    scores = np.empty(stop - start, np.float32)
    # Pieces: what one needs in float32 stays in the cache, and other threads get their turn (numkong keeps the GIL).
    for first, codes in rows.spans(start, stop, _PIECE):
        scores[first - start : first - start + len(codes)] = dots(codes)
    scores *= rows.scales(start, stop)
    return scores


_PIECE = 4096


def _top(scores: Scores, k: int) -> Numbers:
    """The places of the `k` highest, in no order."""
    if k >= len(scores):
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - k)[len(scores) - k :]
