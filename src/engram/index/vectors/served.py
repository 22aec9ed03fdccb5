"""What is searched: rows, their marks and a tier over them; and the store's rows, column by column, on their way in."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from engram.frozen import frozen
from engram.index.vectors.encoding import Codes, Scales, decode, restore
from engram.index.vectors.marks import Fresh, Marks
from engram.index.vectors.protocol import Keys, Mask, VectorIndex
from engram.index.vectors.rows import Rows
from engram.index.vectors.source import SpaceRow
from engram.models.embed import Vectors

_SAMPLE = 512
_PRIOR = 32


@frozen
class Served:
    """Replaced as a whole."""

    rows: Rows
    marks: Marks
    index: VectorIndex

    @property
    def memory_bytes(self) -> int:
        return self.rows.memory_bytes + self.marks.memory_bytes + self.index.memory_bytes

    @property
    def wasteful(self) -> bool:
        """Is a quarter of the memory held by rows that were removed?"""
        return self.rows.removed > max(256, self.rows.count // 4)

    def background(self, query: Vectors, prior: tuple[float, float]) -> tuple[float, float]:
        """Mean and spread of a turned question's cosine over a sample of all vectors.

        A small vault has too few to tell, so `prior` counts like some more of them.
        """
        if not self.rows.count:
            return prior
        sample = np.arange(0, self.rows.count, max(self.rows.count // _SAMPLE, 1), dtype=np.int64)
        scores = self.index.score(query, sample)
        scores = scores[np.isfinite(scores)]
        if not len(scores):
            return prior
        share = len(scores) / (len(scores) + _PRIOR)
        return share * float(scores.mean()) + (1 - share) * prior[0], share * float(scores.std()) + (1 - share) * prior[1]

    def append(self, batch: Batch) -> bool:
        """Add rows; True if a scope came up that was never seen. Marks go first: a row is never there without them."""
        new = self.marks.append(self.rows.count, batch.marks)
        self.rows.add(batch.keys, batch.scales, batch.codes)
        return new

    def take_in(self, keys: Keys, batch: Batch) -> bool:
        """Make the rows of these keys what the store says they are; True if a scope came up that was never seen."""
        rows, marks = self.rows, self.marks
        before = rows.find(batch.keys)
        same = before >= 0
        scales, codes = rows.gather(before[same])
        same[same] = (scales == batch.scales[same]) & np.all(codes == batch.codes[same], axis=1)
        outdated = np.concatenate((rows.find(keys[~np.isin(keys, batch.keys)]), before[~same]))
        outdated = outdated[outdated >= 0]
        rows.remove(outdated)
        marks.touch(outdated)
        new = marks.rewrite(before[same], batch.part(same).marks)
        return self.append(batch.part(~same)) or new


@frozen
class Batch:
    """Rows of the store, column by column."""

    keys: Keys
    scales: Scales
    codes: Codes
    marks: Fresh

    @classmethod
    def of(cls, found: Sequence[SpaceRow], dimensions: int) -> Batch:
        keys, scopes, kinds, statuses, categories, times, stored = zip(*found, strict=True) if found else ((),) * 7
        marks = Fresh(
            np.fromiter(scopes, np.int32, len(scopes)),
            np.asarray(kinds, np.object_),
            np.asarray(statuses, np.object_),
            np.asarray(categories, np.object_),
            np.fromiter(times, np.int64, len(times)),
        )
        return cls(np.fromiter(keys, np.int64, len(keys)), *decode(stored, dimensions), marks)

    def part(self, chosen: Mask) -> Batch:
        return Batch(self.keys[chosen], self.scales[chosen], self.codes[chosen], self.marks.part(chosen))


def spread(found: Sequence[SpaceRow], keys: Sequence[int], dimensions: int) -> Vectors:
    """The vectors of rows, still turned, in the order of `keys`; NaN where a key has none."""
    batch = Batch.of(found, dimensions)
    at = {key: place for place, key in enumerate(batch.keys.tolist())}
    places = np.array([at.get(key, -1) for key in keys], np.int64)
    made = np.full((len(keys), dimensions), np.nan, np.float32)
    made[places >= 0] = restore(batch.scales, batch.codes)[places[places >= 0]]
    return made


def array(keys: Collection[int]) -> Keys:
    return np.fromiter(keys, np.int64, len(keys))
