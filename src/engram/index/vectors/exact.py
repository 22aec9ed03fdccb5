"""The tier that scans every allowed row: the simplest one, and the oracle of the others.

The query is rounded to a byte per dimension like the rows, so that the scan is one integer dot product per row (`numkong`'s
SIMD kernels; 0.4 ms for 10,000 rows of 384 dimensions, 4.5 ms for 100,000); the best few are then scored again with the
unrounded query, which removes the rounding error. Without `numkong`, numpy multiplies in float32, block by block, at
two to three times the cost. If few rows are allowed, only those are gathered and scored.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from engram.index.vectors.matrix import Allowed, Codes, Numbers, Rows, Scores, quantize
from engram.index.vectors.tier import NearestRows, SealedSegments, Stop
from engram.models.embedders import Vectors

Kernel = Callable[[Vectors], Callable[[Codes], Scores]]
"""Takes a query; returns a function that multiplies it with rows of codes (without their scales)."""


def simd(query: Vectors) -> Callable[[Codes], Scores]:
    numkong: Any = import_module("numkong")  # late: some platforms have no wheel of it
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
    """A scan over the shared rows. It has no structure of its own, so there is nothing to seal or pack."""

    name = "exact"
    unsealed = False
    memory_bytes = 0

    def __init__(self, rows: Rows, kernel: Kernel | None = None) -> None:
        self._rows = rows
        self._kernel = kernel or best_kernel()

    def search(self, query: Vectors, k: int, allowed: Allowed | None = None) -> NearestRows:
        allowed = self._rows.everything() if allowed is None else allowed
        stop = self._rows.count if allowed is None else len(allowed)
        return nearest(self._rows, self._kernel, query, k, allowed, 0, stop)

    def search_many(self, queries: Vectors, k: int, allowed: Allowed | None = None) -> list[NearestRows]:
        allowed = self._rows.everything() if allowed is None else allowed
        stop = self._rows.count if allowed is None else len(allowed)
        return nearest_many(self._rows, queries, k, allowed, 0, stop)

    def score(self, query: Vectors, numbers: Numbers) -> Scores:
        return scores_of(self._rows, query, numbers)

    def seal(self, stop: Stop) -> None:
        return

    def pack(self) -> SealedSegments:
        return SealedSegments()

    def unpack(self, sealed: SealedSegments) -> None:
        return

    def __len__(self) -> int:
        return len(self._rows)


def nearest(rows: Rows, kernel: Kernel, query: Vectors, k: int, allowed: Allowed | None, start: int, stop: int) -> NearestRows:
    """Return the `k` nearest allowed rows between `start` and `stop`, by scanning all of them."""
    if k < 1 or stop <= start:
        return NearestRows()
    if allowed is not None and allowed.count * _GATHER_COST < stop - start:
        numbers = allowed.numbers
        numbers = numbers[np.searchsorted(numbers, start) : np.searchsorted(numbers, stop)]
        return top_k(numbers, rows.score(query, numbers), k)
    scores = _scan(rows, kernel(query), start, stop)
    if allowed is not None:
        scores[~allowed.mask[start:stop]] = -np.inf
    close = _top(scores, max(2 * k, k + _SPARE))
    close = close[scores[close] > -np.inf] + start
    return top_k(close, rows.score(query, close), k)


def nearest_many(rows: Rows, queries: Vectors, k: int, allowed: Allowed | None, start: int, stop: int) -> list[NearestRows]:
    """Return `nearest` of many queries. Each chunk of rows is multiplied with all queries while it is in the cache."""
    if k < 1 or stop <= start:
        return [NearestRows() for _ in queries]
    if allowed is not None and allowed.count * _GATHER_COST < stop - start:
        return [nearest(rows, blas, query, k, allowed, start, stop) for query in queries]
    dots = _products(queries)
    depth = max(2 * k, k + _SPARE)
    numbers, rough = np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)
    for first, codes in rows.spans(start, stop, _CHUNK):
        scores = dots(codes) * rows.scales(first, first + len(codes))
        if allowed is not None:
            scores[:, ~allowed.mask[first : first + len(codes)]] = -np.inf
        places = np.broadcast_to(np.arange(first, first + len(codes)), scores.shape)
        numbers, rough = _top_many(np.hstack((numbers, places)), np.hstack((rough, scores)), depth)
    results = []
    for query, close, rough_scores in zip(queries, numbers, rough, strict=True):
        close = close[rough_scores > -np.inf]
        results.append(top_k(close, rows.score(query, close), k))
    return results


def _top_many(numbers: Numbers, scores: Scores, k: int) -> tuple[Numbers, Scores]:
    """Return the `k` highest scores of each row with their numbers, unordered."""
    if k >= scores.shape[1]:
        return numbers, scores
    top = np.argpartition(scores, scores.shape[1] - k, axis=1)[:, -k:]
    return np.take_along_axis(numbers, top, 1), np.take_along_axis(scores, top, 1)


def _products(queries: Vectors) -> Callable[[Codes], Scores]:
    """Return a function that multiplies rows of codes with every query and returns one row of products per query."""
    if find_spec("numkong") is None:
        return lambda rows: queries @ rows.T.astype(np.float32)
    numkong: Any = import_module("numkong")
    scales, codes = quantize(queries)
    packed = numkong.dots_pack(codes, dtype="int8")
    return lambda rows: np.asarray(numkong.dots_packed(rows, packed)).T * scales[:, None]


_GATHER_COST = 8
"""A row that is gathered and scored in float32 costs about this many rows of a scan (measured at 0.1 … 50 % allowed)."""

_SPARE = 64
"""Rows scored again beyond `k`. Rounding the query moves a score by 0.0004 (one standard deviation at 384 dimensions), so a row
that belongs among the first `k` is practically never ranked below this many others."""


def scores_of(rows: Rows, query: Vectors, numbers: Numbers) -> Scores:
    """Return the scores of given rows; NaN for a number that does not exist or was removed."""
    count = rows.count
    known = (numbers >= 0) & (numbers < count)
    known[known] = rows.alive(count)[numbers[known]]
    scores = np.full(len(numbers), np.nan, np.float32)
    scores[known] = rows.score(query, numbers[known])
    return scores


def top_k(numbers: Numbers, scores: Scores, k: int) -> NearestRows:
    """Return the `k` highest scores in order; of equal scores, the lower row number first."""
    if len(numbers) > 4 * k:
        lowest = scores[_top(scores, k)].min(initial=np.inf)
        kept = np.flatnonzero(scores >= lowest)  # with all ties of the k-th, so that the cut among them is deterministic
        numbers, scores = numbers[kept], scores[kept]
    order = np.lexsort((numbers, -scores))[:k]
    return NearestRows(numbers[order], scores[order])


def _scan(rows: Rows, dots: Callable[[Codes], Scores], start: int, stop: int) -> Scores:
    scores = np.empty(stop - start, np.float32)
    # In chunks: the float32 copy of one stays in the cache, and other threads can run in between (numkong keeps the GIL).
    for first, codes in rows.spans(start, stop, _CHUNK):
        scores[first - start : first - start + len(codes)] = dots(codes)
    scores *= rows.scales(start, stop)
    return scores


_CHUNK = 4096


def _top(scores: Scores, k: int) -> Numbers:
    """Return the positions of the `k` highest scores, unordered."""
    if k >= len(scores):
        return np.arange(len(scores))
    return np.argpartition(scores, len(scores) - k)[len(scores) - k :]
