"""One bit a dimension, then the best few in full: the tier for more rows than a plain scan should touch.

A sealed segment holds a RaBitQ code (64 bytes for 384 dimensions, its id included) of each of its rows; `faiss` estimates
all distances from them four to five times as fast as bytes are multiplied, and the best few hundred are scored from the
rows themselves. Newer rows are a tail that is scanned exactly. Filters are bitmaps that act inside the scan; removed
rows are bits in them.

faiss structures may not be changed while they are searched, so they never are: a segment is built aside and the list of
segments replaced whole. Segments are merged like digits are carried, each at least as long as all after it, so that a
row is sealed again only log(n) times however long the vault grows.
"""

from __future__ import annotations

import platform
from importlib import import_module
from typing import Any

import numpy as np

from engram.frozen import frozen
from engram.index.vectors.encoding import restore
from engram.index.vectors.exact import Kernel, best, best_kernel, nearest, nearest_many, scored
from engram.index.vectors.protocol import Allowed, Found, Numbers, Scores, Sealed, Stop
from engram.index.vectors.rows import Rows
from engram.models.embed import Vectors

TAIL = 8192
"""Rows scanned exactly before they are sealed: 0.35 ms of a search at most, and less than 0.1 s of building."""

FEW = 2000
_FEW_OF = 64
"""Up to so many allowed rows, or one in so many, are gathered and scored without looking at the codes: 0.33 µs each."""


@frozen
class _Segment:
    start: int
    stop: int
    codes: Any  # faiss.IndexIVFRaBitQFastScan

    @property
    def memory_bytes(self) -> int:
        return (self.stop - self.start) * (int(self.codes.code_size) + 8)  # 8: faiss keeps an id beside each code

    def closest(self, faiss: Any, query: Vectors, depth: int, allowed: Allowed | None, lists: int) -> tuple[Numbers, Scores]:
        """Row numbers and estimated squared distances, in no order; of the rows around the `lists` nearest centres."""
        selected = faiss.SearchParametersIVF(nprobe=min(lists, int(self.codes.nlist)))
        if allowed is not None and not allowed.covers(self.stop):
            bits = allowed.bits(self.start, self.stop)
            if not bits.any():
                return np.empty(0, np.int64), np.empty(0, np.float32)
            selected = faiss.SearchParametersIVF(nprobe=selected.nprobe, sel=faiss.IDSelectorBitmap(bits))
        distances, places = self.codes.search(query[None], min(depth, self.stop - self.start), params=selected)
        real = places[0] >= 0
        return places[0][real] + self.start, distances[0][real]


class Quantized:
    """Rows sealed in segments, and a tail."""

    name = "quantized"

    def __init__(self, rows: Rows, rescore: int = 500, *, tail: int = TAIL, few: int = FEW, kernel: Kernel | None = None) -> None:
        self._faiss: Any = import_module("faiss")  # late: an optional dependency of 19 MB that takes 0.1 s to load
        self._rows = rows
        self._rescore = rescore
        self._tail = tail
        self._few = few
        self._kernel = kernel or best_kernel()
        self._segments: tuple[_Segment, ...] = ()

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def memory_bytes(self) -> int:
        return sum(segment.memory_bytes for segment in self._segments)

    def search(self, query: Vectors, k: int, allowed: Allowed | None = None) -> Found:
        return self._search(query[None], k, allowed, max(self._rescore, 4 * k, self._rows.count // _SHARE), _LISTS)[0]

    def search_many(self, queries: Vectors, k: int, allowed: Allowed | None = None) -> list[Found]:
        # One after the other: faiss gains nothing from a batch of codes.
        return self._search(queries, k, allowed, max(8 * k, _DEPTH), _NEAR_LISTS)

    def _search(self, queries: Vectors, k: int, allowed: Allowed | None, depth: int, lists: int) -> list[Found]:
        if k < 1:
            return [Found() for _ in queries]
        rows = self._rows
        allowed = rows.everything() if allowed is None else allowed
        stop = rows.count if allowed is None else len(allowed)
        if allowed is not None and allowed.count <= max(self._few, stop // _FEW_OF):
            return [best(allowed.numbers, rows.score(query, allowed.numbers), k) for query in queries]
        segments = self._segments
        sealed = min(stop, segments[-1].stop) if segments else 0
        if len(queries) == 1:
            tails = [nearest(rows, self._kernel, queries[0], k, allowed, sealed, stop)]
        else:
            tails = nearest_many(rows, queries, k, allowed, sealed, stop)
        found = []
        for query, tail in zip(queries, tails, strict=True):
            close = self._closest(segments, query, depth, allowed, lists)
            scores = np.concatenate((rows.score(query, close), tail.scores))
            found.append(best(np.concatenate((close, tail.numbers)), scores, k))
        return found

    def score(self, query: Vectors, numbers: Numbers) -> Scores:
        return scored(self._rows, query, numbers)

    def _closest(
        self, segments: tuple[_Segment, ...], query: Vectors, depth: int, allowed: Allowed | None, lists: int
    ) -> Numbers:
        # Of this thread only. A second one wins 2 ms at a million rows on an idle machine and nothing at 100,000; on a busy
        # one both wait for each other in a loop: 9 ms instead of 1, and what comes next has a core less for a while.
        self._faiss.omp_set_num_threads(1)
        found = [segment.closest(self._faiss, query, depth, allowed, lists) for segment in segments]
        if not found:
            return np.empty(0, np.int64)
        numbers = np.concatenate([numbers for numbers, _ in found])
        if len(numbers) <= depth:
            return numbers
        return numbers[np.argpartition(np.concatenate([distances for _, distances in found]), depth)[:depth]]

    # ── sealing ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def unsealed(self) -> bool:
        sealed = self._segments[-1].stop if self._segments else 0
        return self._rows.count - sealed >= self._tail

    def seal(self, stop: Stop) -> None:
        """Make a segment of the tail, and of the segments before it that are no longer than what comes after."""
        count = self._rows.count
        kept = list(self._segments)
        start = kept[-1].stop if kept else 0
        if count - start < self._tail:
            return
        while kept and kept[-1].stop - kept[-1].start <= count - start:
            start = kept.pop().start
        codes = self._build(start, count, stop)
        if codes is not None:
            self._segments = (*kept, _Segment(start, count, codes))

    def pack(self) -> Sealed:
        packed = ((one.start, one.stop, self._faiss.serialize_index(one.codes)) for one in self._segments)
        return Sealed(self._maker, tuple(packed))

    def unpack(self, sealed: Sealed) -> None:
        if sealed.maker == self._maker and not self._segments:
            read = self._faiss.deserialize_index
            self._segments = tuple(_Segment(start, stop, read(codes)) for start, stop, codes in sealed.segments)

    @property
    def _maker(self) -> str:
        """Codes are read only by what wrote them: the same release on the same kind of machine."""
        return f"faiss {self._faiss.__version__} {platform.machine()}"

    def _build(self, start: int, count: int, stop: Stop) -> Any | None:
        faiss = self._faiss
        faiss.omp_set_num_threads(1)  # of this thread only: searches keep the other cores
        # L2 on vectors of length one orders as the cosine does, and its estimate needs a third of the depth for the same
        # recall that the estimate of the inner product needs (.990 against .956 at a depth of 200).
        lists = max(1, min(_LISTS, (count - start) // _LEAST))
        codes = faiss.index_factory(self._rows.dimensions, f"IVF{lists},RaBitQfs", faiss.METRIC_L2)
        codes.train(self._rows.vectors(np.arange(start, count, max(1, (count - start) // _SAMPLE))))
        for first, some in self._rows.spans(start, count, _AT_ONCE):
            if stop():
                return None
            codes.add(restore(self._rows.scales(first, first + len(some)), some))
        return codes


_DEPTH = 40
_NEAR_LISTS = 6
"""Candidates scored again, and centres looked around, where many questions are asked at once and only the very nearest of
each is wanted. (78,000 statements of chats: of the nearest that are nearer than .93 it finds .993, and the mean of the five
nearest is .0005 lower than it should be; all sixteen centres cost three times as much.)"""

_SHARE = 500
"""One in so many rows is scored again at least: with more rows, more lie as close. (A million rows, a quarter of them in
one cluster: 500 candidates hold .89 of the ten nearest, 2,000 hold .98 and cost 2.5 ms more.)"""

_LISTS = 16
"""Centres of a segment, all of which a question looks around: they are there to be near to the rows, not to leave any out.
A code tells how a row differs from its centre: with 16 of them, on closely clustered rows, 500
candidates hold .985 of the ten nearest, with one .930; scanning costs 0.1 ms more, memory the same (100,000 rows)."""

_LEAST = 64
"""Rows that a centre is made from at least; faiss wants 39."""

_SAMPLE = 4096
"""Rows that the centres of a segment are found from."""

_AT_ONCE = 2048
"""Rows turned to float32 together while building: 3 MiB of 384 dimensions."""
