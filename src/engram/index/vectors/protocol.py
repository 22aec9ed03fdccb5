"""What every tier does, and what it is told about who may be found.

Vectors are named here by row numbers: `rows.Rows` counts them up from 0 and never gives one twice, so that a filter is a
plain array of booleans and no tier needs a map of its own. `live.LiveIndex` turns numbers into keys of memories.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from engram.frozen import field, frozen
from engram.models.embed import Vectors

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64]
Keys = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]
Stop = Callable[[], bool]


class Allowed:
    """The rows that may be found: one boolean a row. A row past its end may not be found."""

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self._bits: dict[tuple[int, int], npt.NDArray[np.uint8]] = {}

    @classmethod
    def only(cls, numbers: Numbers, count: int) -> Allowed:
        mask = np.zeros(count, np.bool_)
        mask[numbers] = True
        return cls(mask)

    def __len__(self) -> int:
        return len(self.mask)

    @cached_property
    def count(self) -> int:
        return int(np.count_nonzero(self.mask))

    @cached_property
    def numbers(self) -> Numbers:
        return np.flatnonzero(self.mask)

    def covers(self, stop: int) -> bool:
        """May every row before `stop` be found?"""
        return self.count == len(self.mask) >= stop

    def bits(self, start: int, stop: int) -> npt.NDArray[np.uint8]:
        """The rows from `start` to `stop` as a bitmap, lowest bit first; made once."""
        made = self._bits.get((start, stop))
        if made is None:
            made = np.zeros((stop - start + 7) // 8, np.uint8)
            packed = np.packbits(self.mask[start:stop], bitorder="little")
            made[: len(packed)] = packed
            if len(self._bits) >= _BITMAPS:
                self._bits = {}
            self._bits[start, stop] = made
        return made


_BITMAPS = 16
"""Bitmaps kept with one filter: a sealed index has fewer segments; those of segments that were merged away go."""


@frozen
class Found:
    """Row numbers, best first, and the cosine of each with the question."""

    numbers: Numbers = field(default_factory=lambda: np.empty(0, np.int64))
    scores: Scores = field(default_factory=lambda: np.empty(0, np.float32))


@frozen
class Sealed:
    """What a tier spent long on: stretches of rows (start, stop, their codes), and what alone can read the codes."""

    maker: str = ""
    segments: tuple[tuple[int, int, npt.NDArray[np.uint8]], ...] = ()


class VectorIndex(Protocol):
    """One way to find the nearest among rows that it shares with whoever made it.

    A row that was added is found by the next search. Any number of threads may search while one seals. Filters act
    before or inside the scan: if at least `k` rows are allowed, `k` come back.
    """

    @property
    def name(self) -> str: ...

    def search(self, query: Vectors, k: int, allowed: Allowed | None = None) -> Found:
        """The `k` nearest of the allowed rows (of all that were not removed, if None)."""

    def search_many(self, queries: Vectors, k: int, allowed: Allowed | None = None) -> list[Found]:
        """The same for many questions at once, beside other work: what is wanted is little time in all, not a quick answer."""

    def score(self, query: Vectors, numbers: Numbers) -> Scores:
        """The cosine of each of these rows; NaN where there is none."""

    @property
    def unsealed(self) -> bool:
        """Is there work for `seal`?"""

    def seal(self, stop: Stop) -> None:
        """Bring faster structures up to date, beside searches that go on; gives up when `stop` says so."""

    def pack(self) -> Sealed:
        """What `seal` has made so far, to be put away."""

    def unpack(self, sealed: Sealed) -> None:
        """Take up what was put away, over the same rows; what another maker made is left."""

    def __len__(self) -> int: ...

    @property
    def memory_bytes(self) -> int:
        """What this tier holds besides the shared rows."""
