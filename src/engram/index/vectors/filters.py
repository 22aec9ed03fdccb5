"""The columns that filters compare, by row number: scope, kind, status, category and time.

A reader's visibility and a question's filter become one array of booleans. The array is cached; after a change only the changed
rows are compared again. The owner of the columns holds its lock while it writes them or asks for a mask.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from engram.env import to_micros
from engram.guard.visibility import Visibility
from engram.index.vectors.matrix import Allowed, Column, Keys, Mask, Numbers, Rows
from engram.values.frozen import frozen
from engram.values.identity import Scope
from engram.values.query import Filter, read_conditions

_ANYWHERE = Scope()


def has_columns(where: Filter) -> bool:
    """Return True if the index has columns for all conditions of a filter; else the store must find the keys."""
    return not where.attributes and where.as_of is None and where.scope == _ANYWHERE and not read_conditions(where)


@frozen
class RowFilter:
    """Everything a mask depends on: the reader's visibility and the filter. It is the key under which the mask is cached.

    Conditions without a column (`has_columns`) are looked up by the store.
    """

    visibility: Visibility
    kinds: tuple[str, ...]
    categories: tuple[str, ...]
    without: tuple[str, ...]
    statuses: tuple[str, ...]
    since: int | None
    until: int | None

    @classmethod
    def of(cls, visibility: Visibility, where: Filter) -> RowFilter:
        return cls(
            visibility,
            tuple(str(kind) for kind in where.kinds),
            tuple(where.categories),
            tuple(where.without),
            () if where.as_of is not None else tuple(str(status) for status in where.statuses),
            None if where.since is None else to_micros(where.since),
            None if where.until is None else to_micros(where.until),
        )


@frozen
class ColumnValues:
    """Values of the filter columns for some rows, column by column."""

    scopes: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.object_]
    statuses: npt.NDArray[np.object_]
    categories: npt.NDArray[np.object_]
    times: npt.NDArray[np.int64]

    def part(self, chosen: Mask) -> ColumnValues:
        return ColumnValues(
            self.scopes[chosen], self.kinds[chosen], self.statuses[chosen], self.categories[chosen], self.times[chosen]
        )


@frozen
class PackedColumns:
    """Filter columns as a snapshot stores them: scope, kind, status, category, time; and the words of the middle three."""

    columns: tuple[npt.NDArray[Any], ...]
    words: tuple[tuple[str, ...], ...]


class FilterColumns:
    """Scope, kind, status, category and time of each row, and the cached masks made from them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._scope = Column(np.int32)
        self._kind = _CodedColumn(np.uint8)
        self._status = _CodedColumn(np.uint8)
        self._category = _CodedColumn(np.uint16)
        self._time = Column(np.int64)
        self._known_scopes: set[int] = set()
        self._largest_scope = 0
        self._touched: list[Numbers] = []
        self._dropped = 0
        self._masks: OrderedDict[RowFilter, tuple[int, Allowed]] = OrderedDict()

    @property
    def memory_bytes(self) -> int:
        columns = (self._scope, self._kind.codes, self._status.codes, self._category.codes, self._time)
        masks = sum(len(allowed) * 9 // 8 for _, allowed in tuple(self._masks.values()))  # a copy: other threads add masks
        return self._rows.count * sum(column.values.itemsize for column in columns) + masks

    # ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def append(self, first: int, fresh: ColumnValues) -> bool:
        """Set the values of the rows from `first` on; return whether a scope among them is new here."""
        self._scope.put(first, fresh.scopes)
        self._kind.put(first, fresh.kinds)
        self._status.put(first, fresh.statuses)
        self._category.put(first, fresh.categories)
        self._time.put(first, fresh.times)
        return self._add_scopes(fresh.scopes)

    def rewrite(self, numbers: Numbers, fresh: ColumnValues) -> bool:
        """Replace the values of existing rows; return whether a scope among them is new here."""
        self._scope.values[numbers] = fresh.scopes
        self._kind.rewrite(numbers, fresh.kinds)
        self._status.rewrite(numbers, fresh.statuses)
        self._category.rewrite(numbers, fresh.categories)
        self._time.values[numbers] = fresh.times
        self.touch(numbers)
        return self._add_scopes(fresh.scopes)

    def touch(self, numbers: Numbers) -> None:
        """Note that these rows were changed or removed, so that cached masks compare them again."""
        if not len(numbers):
            return
        self._touched.append(numbers)
        if len(self._touched) > _HISTORY:
            del self._touched[0]
            self._dropped += 1

    def drop_masks(self) -> None:
        """Drop the cached masks; they are made again when needed."""
        self._masks.clear()

    def copy_to(self, target: FilterColumns, numbers: Numbers) -> None:
        """Copy the values of these rows to an empty `FilterColumns`, in this order."""
        for column, target_column in ((self._scope, target._scope), (self._time, target._time)):
            target_column.put(0, column.values[numbers])
        for coded, target_coded in (
            (self._kind, target._kind),
            (self._status, target._status),
            (self._category, target._category),
        ):
            coded.copy_to(target_coded, numbers)
        target._known_scopes = set(self._known_scopes)
        target._largest_scope = self._largest_scope

    def pack(self, numbers: Numbers) -> PackedColumns:
        """Return copies of these rows' values, and the words that the codes in them stand for."""
        coded = (self._kind, self._status, self._category)
        columns = (self._scope, *(column.codes for column in coded), self._time)
        return PackedColumns(tuple(column.values[numbers] for column in columns), tuple(column.words for column in coded))

    def set_words(self, words: Sequence[Sequence[str]]) -> None:
        """Set the words of a `PackedColumns`. Call it before `unpack`."""
        for column, column_words in zip((self._kind, self._status, self._category), words, strict=True):
            column.set_words(column_words)

    def unpack(self, first: int, columns: Sequence[npt.NDArray[Any]]) -> None:
        """Set the values of the rows from `first` on from columns of a `PackedColumns`."""
        own = (self._scope, self._kind.codes, self._status.codes, self._category.codes, self._time)
        for column, values in zip(own, columns, strict=True):
            column.put(first, values)
        self._add_scopes(columns[0])

    def _add_scopes(self, scopes: npt.NDArray[np.int32]) -> bool:
        new = set(np.unique(scopes).tolist()) - self._known_scopes
        self._known_scopes |= new
        self._largest_scope = max(self._largest_scope, *new, 0)
        return bool(new)

    # ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────

    def allowed(self, condition: RowFilter, scopes: Keys | None) -> Allowed:
        """Return the mask of a filter over all rows, from the cache if it is still valid."""
        count = self._rows.count
        now = self._dropped + len(self._touched)
        cached = self._masks.get(condition)
        if cached is not None and cached[0] == now and len(cached[1]) == count:
            self._masks.move_to_end(condition)
            return cached[1]
        mask = None
        if cached is not None and cached[0] >= self._dropped:
            mask = self._amended(condition, scopes, cached[1].mask, self._touched[cached[0] - self._dropped :])
        allowed_rows = Allowed(self.admits(condition, scopes, slice(0, count)) if mask is None else mask)
        self._masks[condition] = now, allowed_rows
        self._masks.move_to_end(condition)
        while len(self._masks) > max(_FEWEST, _MASK_BYTES // max(count, 1)):
            self._masks.popitem(last=False)
        return allowed_rows

    def _amended(self, condition: RowFilter, scopes: Keys | None, old: Mask, touched: list[Numbers]) -> Mask | None:
        count = self._rows.count
        again = np.concatenate([*touched, np.arange(len(old), count)])
        if len(again) > count // 4:
            return None
        mask = np.empty(count, np.bool_)
        mask[: len(old)] = old
        mask[again] = self.admits(condition, scopes, again)
        return mask

    def admits(self, condition: RowFilter, scopes: Keys | None, at: Numbers | slice) -> Mask:
        """Return the mask of those rows in `at` that exist, match and lie in `scopes` (visible scope keys; None: all)."""
        mask: Mask = self._rows.alive(self._rows.count)[at].copy()
        if scopes is not None:
            mask &= _among(self._scope.values[at], scopes, self._largest_scope)
        for words, chosen in (
            (self._kind, condition.kinds),
            (self._status, condition.statuses),
            (self._category, condition.categories),
        ):
            if chosen:
                mask &= words.among(chosen, at)
        if condition.without:
            mask &= ~self._category.among(condition.without, at)
        if condition.since is not None:
            mask &= self._time.values[at] >= condition.since
        if condition.until is not None:
            mask &= self._time.values[at] < condition.until
        return mask


_HISTORY = 256
"""Changes remembered for updating cached masks; a mask older than these is made from scratch."""

_FEWEST = 4
_MASK_BYTES = 2 << 20
"""Size of the mask cache: this many bytes, and at least `_FEWEST` masks."""


class _CodedColumn:
    """A column of words, each stored as a small integer code."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self.codes = Column(kind)
        self._code_of: dict[str, int] = {}

    def put(self, count: int, words: npt.NDArray[np.object_]) -> None:
        codes = self._encode(words)
        self.codes.put(count, codes)

    def rewrite(self, numbers: Numbers, words: npt.NDArray[np.object_]) -> None:
        codes = self._encode(words)
        self.codes.values[numbers] = codes

    def among(self, chosen: tuple[str, ...], at: Numbers | slice) -> Mask:
        codes = [self._code_of[word] for word in chosen if word in self._code_of]
        return _among(self.codes.values[at], np.asarray(codes, np.int64), len(self._code_of))

    def copy_to(self, target: _CodedColumn, numbers: Numbers) -> None:
        target._code_of = dict(self._code_of)
        target.codes = Column(self.codes.values.dtype)
        target.codes.put(0, self.codes.values[numbers])

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self._code_of)

    def set_words(self, words: Sequence[str]) -> None:
        self._code_of = {word: code for code, word in enumerate(words)}
        self._widen()

    def _encode(self, words: npt.NDArray[np.object_]) -> npt.NDArray[np.int64]:
        known = self._code_of
        codes = np.fromiter((known.setdefault(word, len(known)) for word in words.tolist()), np.int64, len(words))
        self._widen()
        return codes

    def _widen(self) -> None:
        if len(self._code_of) - 1 > np.iinfo(self.codes.values.dtype).max:  # users may invent any number of categories
            wider = Column(np.int32)
            wider.put(0, self.codes.values)
            self.codes = wider


def _among(values: npt.NDArray[Any], chosen: Keys, largest: int) -> Mask:
    """Return the mask of the `values` (0 … largest) that are in `chosen`, by one table look-up each."""
    table = np.zeros(largest + 1, np.bool_)
    table[chosen[chosen <= largest]] = True
    mask: Mask = table[values]
    return mask
