"""A loaded index: rows, the columns that filters compare and a search tier; and store rows turned into columns for it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from engram.index.vectors.filters import ColumnValues, FilterColumns
from engram.index.vectors.matrix import Codes, Keys, Mask, Rows, Scales, decode, restore
from engram.index.vectors.tier import VectorTier
from engram.models.embedders import Vectors
from engram.values.frozen import frozen
from engram.values.query import SpaceRow

_SAMPLE = 512
_PRIOR = 32


@frozen
class LoadedIndex:
    """Everything a search reads. `LiveIndex` replaces it as a whole, so a running search keeps a consistent one."""

    rows: Rows
    columns: FilterColumns
    tier: VectorTier

    @property
    def memory_bytes(self) -> int:
        return self.rows.memory_bytes + self.columns.memory_bytes + self.tier.memory_bytes

    def background(self, query: Vectors, prior: tuple[float, float]) -> tuple[float, float]:
        """Return the mean and standard deviation of a rotated query's cosine over a sample of all vectors.

        A small vault has too few vectors for an estimate, so `prior` counts like `_PRIOR` more of them.
        """
        if not self.rows.count:
            return prior
        sample = np.arange(0, self.rows.count, max(self.rows.count // _SAMPLE, 1), dtype=np.int64)
        scores = self.tier.score(query, sample)
        scores = scores[np.isfinite(scores)]
        if not len(scores):
            return prior
        share = len(scores) / (len(scores) + _PRIOR)
        return share * float(scores.mean()) + (1 - share) * prior[0], share * float(scores.std()) + (1 - share) * prior[1]

    def append(self, batch: RowBatch) -> bool:
        """Add rows; return whether a scope came up that was new here.

        Filter columns are written first, so that no search sees a row without them.
        """
        new = self.columns.append(self.rows.count, batch.values)
        self.rows.add(batch.keys, batch.scales, batch.codes)
        return new

    def update(self, keys: Keys, batch: RowBatch) -> bool:
        """Make the rows of `keys` equal to the store's, given in `batch`; return whether a scope came up that was new here."""
        rows, columns = self.rows, self.columns
        before = rows.find(batch.keys)
        same = before >= 0
        scales, codes = rows.gather(before[same])
        same[same] = (scales == batch.scales[same]) & np.all(codes == batch.codes[same], axis=1)
        outdated = np.concatenate((rows.find(keys[~np.isin(keys, batch.keys)]), before[~same]))
        outdated = outdated[outdated >= 0]
        rows.remove(outdated)
        columns.touch(outdated)
        new = columns.rewrite(before[same], batch.part(same).values)
        return self.append(batch.part(~same)) or new


@frozen
class RowBatch:
    """Rows of the store, column by column."""

    keys: Keys
    scales: Scales
    codes: Codes
    values: ColumnValues

    @classmethod
    def of(cls, rows: Sequence[SpaceRow], dimensions: int) -> RowBatch:
        keys, scopes, kinds, statuses, categories, times, stored = zip(*rows, strict=True) if rows else ((),) * 7
        values = ColumnValues(
            np.fromiter(scopes, np.int32, len(scopes)),
            np.asarray(kinds, np.object_),
            np.asarray(statuses, np.object_),
            np.asarray(categories, np.object_),
            np.fromiter(times, np.int64, len(times)),
        )
        return cls(np.fromiter(keys, np.int64, len(keys)), *decode(stored, dimensions), values)

    def part(self, chosen: Mask) -> RowBatch:
        return RowBatch(self.keys[chosen], self.scales[chosen], self.codes[chosen], self.values.part(chosen))


def vectors_of(rows: Sequence[SpaceRow], keys: Sequence[int], dimensions: int) -> Vectors:
    """Return the vectors of store rows, still rotated, in the order of `keys`; NaN where a key has no row."""
    batch = RowBatch.of(rows, dimensions)
    place_of = {key: place for place, key in enumerate(batch.keys.tolist())}
    places = np.array([place_of.get(key, -1) for key in keys], np.int64)
    vectors = np.full((len(keys), dimensions), np.nan, np.float32)
    vectors[places >= 0] = restore(batch.scales, batch.codes)[places[places >= 0]]
    return vectors


def key_array(keys: Collection[int]) -> Keys:
    return np.fromiter(keys, np.int64, len(keys))
