"""What filters go by, one narrow column each, by row number: scope, kind, status, category and time.

A reader's visibility and a question's filter become one array of booleans, by numpy; it is kept until something changes,
and then only what changed is looked at again. Columns are written and masks made under the lock of whoever owns this.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from engram.env import to_micros
from engram.frozen import frozen
from engram.guard.scopes import Visibility
from engram.index.vectors.protocol import Allowed, Keys, Mask, Numbers
from engram.index.vectors.rows import Column, Rows
from engram.store.protocol import Filter


@frozen
class Condition:
    """Who asks, and for what: everything that a mask depends on, so that equal ones share it.

    `Filter.attributes` and `Filter.as_of` are not here: they have no column, the store looks them up.
    """

    visibility: Visibility
    kinds: tuple[str, ...]
    categories: tuple[str, ...]
    without: tuple[str, ...]
    statuses: tuple[str, ...]
    since: int | None
    until: int | None

    @classmethod
    def of(cls, visibility: Visibility, where: Filter) -> Condition:
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
class Fresh:
    """The marks of some rows, column by column."""

    scopes: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.object_]
    statuses: npt.NDArray[np.object_]
    categories: npt.NDArray[np.object_]
    times: npt.NDArray[np.int64]

    def part(self, chosen: Mask) -> Fresh:
        return Fresh(self.scopes[chosen], self.kinds[chosen], self.statuses[chosen], self.categories[chosen], self.times[chosen])


@frozen
class Packed:
    """Marks as they are put away: scope, kind, status, category and time; the words of the three in the middle."""

    columns: tuple[npt.NDArray[Any], ...]
    words: tuple[tuple[str, ...], ...]


class Marks:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._scope = Column(np.int32)
        self._kind = _Words(np.uint8)
        self._status = _Words(np.uint8)
        self._category = _Words(np.uint16)
        self._time = Column(np.int64)
        self._known_scopes: set[int] = set()
        self._largest_scope = 0
        self._touched: list[Numbers] = []
        self._dropped = 0
        self._masks: OrderedDict[Condition, tuple[int, Allowed]] = OrderedDict()

    @property
    def memory_bytes(self) -> int:
        columns = (self._scope, self._kind.column, self._status.column, self._category.column, self._time)
        masks = sum(len(allowed) * 9 // 8 for _, allowed in tuple(self._masks.values()))  # at once: others ask too
        return self._rows.count * sum(column.values.itemsize for column in columns) + masks

    # ── writing ────────────────────────────────────────────────────────────────────────────────────────────────────

    def append(self, first: int, fresh: Fresh) -> bool:
        """Marks of the rows from `first` on; True if a scope was among them that was never seen here."""
        self._scope.put(first, fresh.scopes)
        self._kind.put(first, fresh.kinds)
        self._status.put(first, fresh.statuses)
        self._category.put(first, fresh.categories)
        self._time.put(first, fresh.times)
        return self._meet(fresh.scopes)

    def rewrite(self, numbers: Numbers, fresh: Fresh) -> bool:
        """Other marks for rows that stay."""
        self._scope.values[numbers] = fresh.scopes
        self._kind.rewrite(numbers, fresh.kinds)
        self._status.rewrite(numbers, fresh.statuses)
        self._category.rewrite(numbers, fresh.categories)
        self._time.values[numbers] = fresh.times
        self.touch(numbers)
        return self._meet(fresh.scopes)

    def touch(self, numbers: Numbers) -> None:
        """These rows were changed or removed: kept masks must look at them again."""
        if not len(numbers):
            return
        self._touched.append(numbers)
        if len(self._touched) > _HISTORY:
            del self._touched[0]
            self._dropped += 1

    def forget(self) -> None:
        """Let go of what can be made again."""
        self._masks.clear()

    def copy_to(self, other: Marks, numbers: Numbers) -> None:
        """Give these rows' marks to an empty one, in this order."""
        for mine, theirs in ((self._scope, other._scope), (self._time, other._time)):
            theirs.put(0, mine.values[numbers])
        for words, others in ((self._kind, other._kind), (self._status, other._status), (self._category, other._category)):
            words.copy_to(others, numbers)
        other._known_scopes = set(self._known_scopes)
        other._largest_scope = self._largest_scope

    def pack(self, numbers: Numbers) -> Packed:
        """Copies of these rows' marks, and the words that numbers in them stand for."""
        words = (self._kind, self._status, self._category)
        columns = (self._scope, *(each.column for each in words), self._time)
        return Packed(tuple(column.values[numbers] for column in columns), tuple(each.words for each in words))

    def learn(self, words: Sequence[Sequence[str]]) -> None:
        """Take up the words of a `Packed`, before its columns."""
        for mine, theirs in zip((self._kind, self._status, self._category), words, strict=True):
            mine.learn(theirs)

    def unpack(self, first: int, columns: Sequence[npt.NDArray[Any]]) -> None:
        """Take up columns of a `Packed` as the marks of the rows from `first` on."""
        mine = (self._scope, self._kind.column, self._status.column, self._category.column, self._time)
        for column, values in zip(mine, columns, strict=True):
            column.put(first, values)
        self._meet(columns[0])

    def _meet(self, scopes: npt.NDArray[np.int32]) -> bool:
        new = set(np.unique(scopes).tolist()) - self._known_scopes
        self._known_scopes |= new
        self._largest_scope = max(self._largest_scope, *new, 0)
        return bool(new)

    # ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────

    def allowed(self, condition: Condition, scopes: Keys | None) -> Allowed:
        """The mask of a condition over all rows, kept for the next time."""
        count = self._rows.count
        now = self._dropped + len(self._touched)
        kept = self._masks.get(condition)
        if kept is not None and kept[0] == now and len(kept[1]) == count:
            self._masks.move_to_end(condition)
            return kept[1]
        mask = None
        if kept is not None and kept[0] >= self._dropped:
            mask = self._amended(condition, scopes, kept[1].mask, self._touched[kept[0] - self._dropped :])
        made = Allowed(self.admits(condition, scopes, slice(0, count)) if mask is None else mask)
        self._masks[condition] = now, made
        self._masks.move_to_end(condition)
        while len(self._masks) > max(_FEWEST, _MASK_BYTES // max(count, 1)):
            self._masks.popitem(last=False)
        return made

    def _amended(self, condition: Condition, scopes: Keys | None, old: Mask, touched: list[Numbers]) -> Mask | None:
        count = self._rows.count
        again = np.concatenate([*touched, np.arange(len(old), count)])
        if len(again) > count // 4:
            return None
        mask = np.empty(count, np.bool_)
        mask[: len(old)] = old
        mask[again] = self.admits(condition, scopes, again)
        return mask

    def admits(self, condition: Condition, scopes: Keys | None, at: Numbers | slice) -> Mask:
        """Which of these rows are there, visible and asked for. `scopes`: keys of those visible, None for all."""
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
"""Changes that kept masks are brought up to date from; older masks are made anew."""

_FEWEST = 4
_MASK_BYTES = 2 << 20
"""Masks that are kept: so many bytes, and no fewer than so many."""


class _Words:
    """A column of words, each kept as a small number."""

    def __init__(self, kind: npt.DTypeLike) -> None:
        self.column = Column(kind)
        self._codes: dict[str, int] = {}

    def put(self, count: int, words: npt.NDArray[np.object_]) -> None:
        codes = self._encode(words)
        self.column.put(count, codes)

    def rewrite(self, numbers: Numbers, words: npt.NDArray[np.object_]) -> None:
        codes = self._encode(words)
        self.column.values[numbers] = codes

    def among(self, chosen: tuple[str, ...], at: Numbers | slice) -> Mask:
        codes = [self._codes[word] for word in chosen if word in self._codes]
        return _among(self.column.values[at], np.asarray(codes, np.int64), len(self._codes))

    def copy_to(self, other: _Words, numbers: Numbers) -> None:
        other._codes = dict(self._codes)
        other.column = Column(self.column.values.dtype)
        other.column.put(0, self.column.values[numbers])

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self._codes)

    def learn(self, words: Sequence[str]) -> None:
        self._codes = {word: code for code, word in enumerate(words)}
        self._widen()

    def _encode(self, words: npt.NDArray[np.object_]) -> npt.NDArray[np.int64]:
        known = self._codes
        codes = np.fromiter((known.setdefault(word, len(known)) for word in words.tolist()), np.int64, len(words))
        self._widen()
        return codes

    def _widen(self) -> None:
        if len(self._codes) - 1 > np.iinfo(self.column.values.dtype).max:  # categories may be anybody's
            wider = Column(np.int32)
            wider.put(0, self.column.values)
            self.column = wider


def _among(values: npt.NDArray[Any], chosen: Keys, largest: int) -> Mask:
    """Which of `values` (0 … largest) are chosen: one look-up in a table each."""
    table = np.zeros(largest + 1, np.bool_)
    table[chosen[chosen <= largest]] = True
    found: Mask = table[values]
    return found
