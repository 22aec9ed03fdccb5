"""The protocol of a search tier, and its result.

Vectors are identified by row number: `matrix.Rows` counts from 0 and never reuses a number, so that a filter is a plain array of
booleans and no tier needs a map of its own. `live.LiveIndex` translates numbers into keys of memories.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engram.index.vectors.matrix import Allowed, Numbers, Scores
from engram.models.embedders import Vectors
from engram.values.frozen import field, frozen

Stop = Callable[[], bool]


@frozen
class NearestRows:
    """Row numbers, best first, and the cosine of each with the query."""

    numbers: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    scores: Scores = field(default_factory=lambda: np.empty(0, np.float32))


@frozen
class SealedSegments:
    """Structures that a tier spent long to build: row ranges with their codes (start, stop, codes), and the only reader of them.

    `maker` names library, version and machine; codes of another maker cannot be read.
    """

    maker: str = ""
    segments: tuple[tuple[int, int, npt.NDArray[np.uint8]], ...] = ()


class VectorTier(Protocol):
    """A way to search rows, which it shares with its owner, for the nearest ones.

    The next search finds a row that was added. Any number of threads may search while one seals. Filters act before or inside
    the scan: if at least `k` rows are allowed, `k` are returned.
    """

    @property
    def name(self) -> str: ...

    def search(self, query: Vectors, k: int, allowed: Allowed | None = None) -> NearestRows:
        """Return the `k` nearest of the allowed rows; None allows all rows that were not removed."""

    def search_many(self, queries: Vectors, k: int, allowed: Allowed | None = None) -> list[NearestRows]:
        """Search for many queries at once, for background work: tuned for total time, not for latency."""

    def score(self, query: Vectors, numbers: Numbers) -> Scores:
        """Return the cosine of each of these rows; NaN where a row does not exist."""

    @property
    def unsealed(self) -> bool:
        """True if there is work for `seal`."""

    def seal(self, stop: Stop) -> None:
        """Build the fast structures for new rows while searches go on; give up when `stop()` is true."""

    def pack(self) -> SealedSegments:
        """Return the structures that `seal` has built so far, for a snapshot."""

    def unpack(self, sealed: SealedSegments) -> None:
        """Load structures from a snapshot of the same rows; those of another maker are ignored."""

    def __len__(self) -> int: ...

    @property
    def memory_bytes(self) -> int:
        """The memory this tier needs beside the shared rows."""
