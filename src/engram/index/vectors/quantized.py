"""The tier for more rows than a plain scan should touch: one bit per dimension, then the best few scored in full.

A sealed segment holds a RaBitQ code (64 bytes for 384 dimensions, its id included) of each of its rows; `faiss` estimates
all distances from them four to five times as fast as bytes are multiplied, and the best few hundred are scored from the
rows themselves. Newer rows are a tail that is scanned exactly. Filters are bitmaps that act inside the scan; removed
rows are bits in them.

A faiss structure must not change while it is searched, so a segment is built separately and then the list of segments is
replaced as a whole. Segments are merged so that each is at least as long as all after it together; a row is therefore sealed
again only log(n) times, however large the vault grows.
"""

from __future__ import annotations

import platform
from importlib import import_module
from typing import Any

import numpy as np

from engram.index.vectors.exact import Kernel, best_kernel, nearest, nearest_many, scores_of, top_k
from engram.index.vectors.matrix import Allowed, Numbers, Rows, Scores, restore
from engram.index.vectors.tier import NearestRows, SealedSegments, Stop
from engram.models.embedders import Vectors
from engram.values.frozen import frozen

TAIL = 8192
"""Rows scanned exactly before they are sealed: 0.35 ms of a search at most, and less than 0.1 s of building."""

FEW = 2000
_FEW_OF = 64
"""Up to `FEW` allowed rows, or one in `_FEW_OF`, are gathered and scored without reading the codes: 0.33 µs each."""


@frozen
class _Segment:
    """The codes of the rows from `start` to `stop`."""

    start: int
    stop: int
    codes: Any  # faiss.IndexIVFRaBitQFastScan

    @property
    def memory_bytes(self) -> int:
        return (self.stop - self.start) * (int(self.codes.code_size) + 8)  # 8: faiss keeps an id beside each code

    def closest(self, faiss: Any, query: Vectors, depth: int, allowed: Allowed | None, lists: int) -> tuple[Numbers, Scores]:
        """Return numbers and estimated squared distances of rows around the `lists` nearest centres, unordered."""
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
    """Segments of sealed rows, and a tail of newer rows."""

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

    def search(self, query: Vectors, k: int, allowed: Allowed | None = None) -> NearestRows:
        return self._search(query[None], k, allowed, max(self._rescore, 4 * k, self._rows.count // _SHARE), _LISTS)[0]

    def search_many(self, queries: Vectors, k: int, allowed: Allowed | None = None) -> list[NearestRows]:
        # Queries run one after the other: faiss gains nothing from a batch of them.
        return self._search(queries, k, allowed, max(8 * k, _DEPTH), _NEAR_LISTS)

    def _search(self, queries: Vectors, k: int, allowed: Allowed | None, depth: int, lists: int) -> list[NearestRows]:
        if k < 1:
            return [NearestRows() for _ in queries]
        rows = self._rows
        allowed = rows.everything() if allowed is None else allowed
        stop = rows.count if allowed is None else len(allowed)
        if allowed is not None and allowed.count <= max(self._few, stop // _FEW_OF):
            return [top_k(allowed.numbers, rows.score(query, allowed.numbers), k) for query in queries]
        segments = self._segments
        sealed = min(stop, segments[-1].stop) if segments else 0
        if len(queries) == 1:
            tails = [nearest(rows, self._kernel, queries[0], k, allowed, sealed, stop)]
        else:
            tails = nearest_many(rows, queries, k, allowed, sealed, stop)
        results = []
        for query, tail in zip(queries, tails, strict=True):
            close = self._closest(segments, query, depth, allowed, lists)
            scores = np.concatenate((rows.score(query, close), tail.scores))
            results.append(top_k(np.concatenate((close, tail.numbers)), scores, k))
        return results

    def score(self, query: Vectors, numbers: Numbers) -> Scores:
        return scores_of(self._rows, query, numbers)

    def _closest(
        self, segments: tuple[_Segment, ...], query: Vectors, depth: int, allowed: Allowed | None, lists: int
    ) -> Numbers:
        # The setting is per thread. A second OpenMP thread saves 2 ms at a million rows on an idle machine and nothing at
        # 100,000; on a busy machine the two spin waiting for each other: 9 ms instead of 1, and one core less afterwards.
        self._faiss.omp_set_num_threads(1)
        per_segment = [segment.closest(self._faiss, query, depth, allowed, lists) for segment in segments]
        if not per_segment:
            return np.empty(0, np.int64)
        numbers = np.concatenate([numbers for numbers, _ in per_segment])
        if len(numbers) <= depth:
            return numbers
        return numbers[np.argpartition(np.concatenate([distances for _, distances in per_segment]), depth)[:depth]]

    # ── sealing ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def unsealed(self) -> bool:
        sealed = self._segments[-1].stop if self._segments else 0
        return self._rows.count - sealed >= self._tail

    def seal(self, stop: Stop) -> None:
        """Make one segment of the tail and of the preceding segments that are no longer than the rows after them."""
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

    def pack(self) -> SealedSegments:
        serialize = self._faiss.serialize_index
        packed = ((segment.start, segment.stop, serialize(segment.codes)) for segment in self._segments)
        return SealedSegments(self._maker, tuple(packed))

    def unpack(self, sealed: SealedSegments) -> None:
        if sealed.maker == self._maker and not self._segments:
            read = self._faiss.deserialize_index
            self._segments = tuple(_Segment(start, stop, read(codes)) for start, stop, codes in sealed.segments)

    @property
    def _maker(self) -> str:
        """The faiss release and machine type, which must be equal for codes to be read back."""
        return f"faiss {self._faiss.__version__} {platform.machine()}"

    def _build(self, start: int, count: int, stop: Stop) -> Any | None:
        faiss = self._faiss
        faiss.omp_set_num_threads(1)  # for this thread: searches keep the other cores
        # L2 on vectors of length one orders as the cosine does, and its estimate needs a third of the depth for the same
        # recall that the estimate of the inner product needs (.990 against .956 at a depth of 200).
        lists = max(1, min(_LISTS, (count - start) // _LEAST))
        codes = faiss.index_factory(self._rows.dimensions, f"IVF{lists},RaBitQfs", faiss.METRIC_L2)
        codes.train(self._rows.vectors(np.arange(start, count, max(1, (count - start) // _SAMPLE))))
        for first, chunk in self._rows.spans(start, count, _AT_ONCE):
            if stop():
                return None
            codes.add(restore(self._rows.scales(first, first + len(chunk)), chunk))
        return codes


_DEPTH = 40
_NEAR_LISTS = 6
"""Candidates scored again, and centres searched around, by `search_many`, whose callers want only the very nearest.
(78,000 statements of chats: it finds .993 of the neighbours with a cosine above .93, and the mean cosine of the five nearest is
.0005 too low; searching all sixteen centres costs three times as much.)"""

_SHARE = 500
"""At least one in this many rows is scored again: the more rows, the more lie equally close. (A million rows, a quarter of them
in one cluster: 500 candidates hold .89 of the ten nearest, 2,000 hold .98 and cost 2.5 ms more.)"""

_LISTS = 16
"""Centres of a segment. `search` searches around all of them: they make the codes more precise, they prune nothing. A code
stores the difference between a row and its centre: on closely clustered rows, 500 candidates hold .985 of the ten nearest with
16 centres and .930 with one; the scan costs 0.1 ms more, memory is the same (100,000 rows)."""

_LEAST = 64
"""Fewest rows that a centre is trained on; faiss asks for 39."""

_SAMPLE = 4096
"""Rows that the centres of a segment are trained on."""

_AT_ONCE = 2048
"""Rows converted to float32 together while building: 3 MiB at 384 dimensions."""
