"""The vectors in memory, in the order they came: numbers, scales and codes, shared by all tiers.

Rows are only ever appended, and one that was written never changes, so a search needs no lock: it looks at the rows that
were there when it began. Removing sets a bit. Codes lie in blocks, so growing copies nothing; the narrow columns
are replaced by longer ones, and whoever still reads an old one goes on reading it. One thread writes at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from engram.index.vectors.encoding import Codes, Scales, restore
from engram.index.vectors.protocol import Allowed, Keys, Numbers, Scores
from engram.models.embed import Vectors

_BLOCK_BITS = 15
BLOCK = 1 << _BLOCK_BITS
"""Rows in a block: 12 MiB of 384 dimensions, of which the system lends only the pages that were written."""

_STRAY = 16384
"""Keys out of order that are kept in a dictionary before the sorted arrays are made anew."""


class Column:
    """Numbers that grow at the end. Take `values` after the count of rows: it is never shorter."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self.values: npt.NDArray[Any] = np.empty(0, kind)

    def put(self, count: int, fresh: npt.ArrayLike) -> None:
        """Write `fresh` after the first `count`."""
        added = np.asarray(fresh, self.values.dtype)
        need = count + len(added)
        if need > len(self.values):
            longer = np.empty(max(need, len(self.values) * 3 // 2), self.values.dtype)
            longer[:count] = self.values[:count]
            self.values = longer
        self.values[count:need] = added


class Rows:
    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._blocks: list[Codes] = []
        self._keys = Column(np.int64)
        self._scales = Column(np.float32)
        self._alive = Column(np.bool_)
        self._directory = _Directory()
        self._count = 0
        self._removed = 0

    @property
    def count(self) -> int:
        """How many rows there ever were; the next one gets this number."""
        return self._count

    @property
    def removed(self) -> int:
        return self._removed

    def __len__(self) -> int:
        return self._count - self._removed

    @property
    def memory_bytes(self) -> int:
        narrow = self._keys.values.itemsize + self._scales.values.itemsize + self._alive.values.itemsize
        return self._count * (self.dimensions + narrow) + self._directory.memory_bytes

    # ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, keys: Keys, scales: Scales, codes: Codes) -> Numbers:
        """Append rows; a key that is already there must have been removed. Returns their numbers."""
        first, count = self._count, self._count + len(keys)
        done = 0
        while first + done < count:
            place = (first + done) & (BLOCK - 1)
            if not place:
                self._blocks.append(np.empty((BLOCK, self.dimensions), np.int8))
            some = min(BLOCK - place, len(keys) - done)
            self._blocks[-1][place : place + some] = codes[done : done + some]
            done += some
        self._keys.put(first, keys)
        self._scales.put(first, scales)
        self._alive.put(first, np.ones(len(keys), np.bool_))
        numbers = np.arange(first, count)
        self._directory.add(keys, numbers)
        self._count = count  # last: from here on searches see them
        if self._directory.strays > _STRAY:
            living = self.living()
            self._directory = _Directory.of(self._keys.values[living], living)
        return numbers

    def remove(self, numbers: Numbers) -> None:
        alive = self._alive.values
        self._removed += int(np.count_nonzero(alive[numbers]))
        alive[numbers] = False

    # ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────

    def find(self, keys: Keys) -> Numbers:
        """The number of each key; -1 where there is none. Not while another thread writes."""
        numbers = self._directory.find(keys)
        known = numbers >= 0
        known[known] = self._alive.values[numbers[known]]
        return np.where(known, numbers, -1)

    def keys(self, numbers: Numbers) -> Keys:
        return self._keys.values[numbers]

    def scales(self, start: int, stop: int) -> Scales:
        return self._scales.values[start:stop]

    def alive(self, count: int) -> npt.NDArray[np.bool_]:
        """Which of the first `count` rows were not removed. It may change under whoever holds it: only to less."""
        return self._alive.values[:count]

    def living(self) -> Numbers:
        return np.flatnonzero(self.alive(self._count))

    def everything(self) -> Allowed | None:
        """The filter that lets all rows pass that were not removed; None if none was."""
        return Allowed(self.alive(self._count).copy()) if self._removed else None

    def spans(self, start: int, stop: int, most: int = BLOCK) -> Iterator[tuple[int, Codes]]:
        """The codes from `start` to `stop` in pieces that lie in one block, each with the number of its first row."""
        while start < stop:
            place = start & (BLOCK - 1)
            some = min(BLOCK - place, stop - start, most)
            yield start, self._blocks[start >> _BLOCK_BITS][place : place + some]
            start += some

    def gather(self, numbers: Numbers) -> tuple[Scales, Codes]:
        """Scales and codes of chosen rows, in the order asked."""
        codes = np.empty((len(numbers), self.dimensions), np.int8)
        order = np.argsort(numbers, kind="stable")
        ordered = numbers[order]
        ends = np.searchsorted(ordered >> _BLOCK_BITS, np.arange(len(self._blocks)), side="right")
        start = 0
        for block, end in zip(self._blocks, ends.tolist(), strict=False):
            if end > start:
                codes[order[start:end]] = block[ordered[start:end] & (BLOCK - 1)]
            start = end
        return self._scales.values[numbers], codes

    def vectors(self, numbers: Numbers) -> Vectors:
        return restore(*self.gather(numbers))

    def score(self, query: Vectors, numbers: Numbers) -> Scores:
        """The dot product of each row with the question as it is, not as it was rounded for a scan."""
        scores = np.empty(len(numbers), np.float32)
        for start in range(0, len(numbers), _AT_ONCE):
            scales, codes = self.gather(numbers[start : start + _AT_ONCE])
            scores[start : start + _AT_ONCE] = (codes.astype(np.float32) @ query) * scales
        return scores


_AT_ONCE = 4096
"""Rows turned to float32 together: 6 MiB of 384 dimensions."""


class _Directory:
    """From key to row number: sorted arrays for keys that came in order, a dictionary for the few that did not."""

    def __init__(self) -> None:
        self._keys = Column(np.int64)
        self._numbers = Column(np.int32)
        self._count = 0
        self._stray: dict[int, int] = {}

    @classmethod
    def of(cls, keys: Keys, numbers: Numbers) -> _Directory:
        made = cls()
        order = np.argsort(keys)
        made.add(keys[order], numbers[order])
        return made

    @property
    def strays(self) -> int:
        return len(self._stray)

    @property
    def memory_bytes(self) -> int:
        return self._count * 12 + len(self._stray) * 120

    def add(self, keys: Keys, numbers: Numbers) -> None:
        if not len(keys):
            return
        last = self._keys.values[self._count - 1] if self._count else -1
        if keys[0] > last and np.all(keys[1:] > keys[:-1]):
            self._keys.put(self._count, keys)
            self._numbers.put(self._count, numbers)
            self._count += len(keys)
        else:
            self._stray.update(zip(keys.tolist(), numbers.tolist(), strict=True))

    def find(self, keys: Keys) -> Numbers:
        known = self._keys.values[: self._count]
        if len(known):
            at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            numbers = np.where(known[at] == keys, self._numbers.values[at], -1).astype(np.int64)
        else:
            numbers = np.full(len(keys), -1, np.int64)
        if self._stray:
            for i, key in enumerate(keys.tolist()):
                numbers[i] = self._stray.get(key, numbers[i])
        return numbers
