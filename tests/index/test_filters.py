"""Filter masks: equal to the filter applied row by row, whether made from scratch or updated after changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engram.env import from_micros, to_micros
from engram.guard.visibility import Visibility, readable
from engram.index.vectors.filters import ColumnValues, FilterColumns, RowFilter
from engram.index.vectors.matrix import Rows
from engram.types import Kind, Policy, Reader, Role, Scope, Status
from engram.values.query import Filter

OWNER = readable(Reader(policy=Policy.ALL, role=Role.OWNER))
REX = readable(Reader(Scope(agent="rex")))

marks = st.tuples(
    st.integers(1, 6),
    st.sampled_from(["proposition", "fact", "skill"]),
    st.sampled_from(["active", "archived"]),
    st.sampled_from(["fact", "goal", "preference"]),
    st.integers(0, 10),
)
filters = st.builds(
    Filter,
    kinds=st.sampled_from([(), (Kind.FACT,), (Kind.FACT, Kind.SKILL), (Kind.EPISODE,)]),
    categories=st.sampled_from([(), ("goal",), ("goal", "nobody has this")]),
    statuses=st.sampled_from([(), (Status.ACTIVE,)]),
    since=st.none() | st.integers(0, 10).map(from_micros),
    until=st.none() | st.integers(0, 10).map(from_micros),
)
Mark = tuple[int, str, str, str, int]


def fresh(some: list[Mark]) -> ColumnValues:
    scopes, kinds, statuses, categories, times = zip(*some, strict=True) if some else ((),) * 5
    words: list[Any] = [np.asarray(column, np.object_) for column in (kinds, statuses, categories)]
    return ColumnValues(np.asarray(scopes, np.int32), words[0], words[1], words[2], np.asarray(times, np.int64))


def append(rows: Rows, made: FilterColumns, some: list[Mark]) -> bool:
    new = made.append(rows.count, fresh(some))
    keys = np.arange(rows.count, rows.count + len(some))
    rows.add(keys, np.ones(len(some), np.float32), np.ones((len(some), 1), np.int8))
    return new


def admitted(mark: Mark | None, where: Filter, scopes: set[int] | None) -> bool:
    if mark is None:
        return False
    scope, kind, status, category, time = mark
    return (
        (scopes is None or scope in scopes)
        and (not where.kinds or kind in where.kinds)
        and (not where.statuses or status in where.statuses)
        and (not where.categories or category in where.categories)
        and (where.since is None or time >= to_micros(where.since))
        and (where.until is None or time < to_micros(where.until))
    )


@given(st.data())
def test_a_mask_equals_the_filter_applied_to_each_row(data: st.DataObject) -> None:
    rows = Rows(1)
    made = FilterColumns(rows)
    model: list[Mark | None] = []
    # Few filters, asked repeatedly, so that cached masks are updated.
    asked: list[tuple[Visibility, set[int] | None, Filter]] = [
        (OWNER, None, data.draw(filters)),
        (REX, data.draw(st.sets(st.integers(1, 9))), data.draw(filters)),
    ]
    for step in data.draw(st.lists(st.sampled_from(["append", "rewrite", "remove", "ask", "ask", "forget"]), max_size=25)):
        alive = [number for number, mark in enumerate(model) if mark is not None]
        if step == "append":
            some = data.draw(st.lists(marks, max_size=12))
            append(rows, made, some)
            model += some
        elif step == "rewrite" and alive:
            number, mark = data.draw(st.sampled_from(alive)), data.draw(marks)
            made.rewrite(np.asarray([number]), fresh([mark]))
            model[number] = mark
        elif step == "remove" and alive:
            number = data.draw(st.sampled_from(alive))
            rows.remove(np.asarray([number]))
            made.touch(np.asarray([number]))
            model[number] = None
        elif step == "forget":
            made.drop_masks()
        else:
            visibility, scopes, where = data.draw(st.sampled_from(asked))
            keys = None if scopes is None else np.fromiter(scopes, np.int64, len(scopes))
            allowed = made.allowed(RowFilter.of(visibility, where), keys)
            assert allowed.mask.tolist() == [admitted(mark, where, scopes) for mark in model]
            assert allowed.count == allowed.mask.sum()


def test_a_mask_is_cached_until_a_row_changes() -> None:
    rows = Rows(1)
    made = FilterColumns(rows)
    append(rows, made, [(1, "fact", "active", "goal", 0)] * 10)
    condition = RowFilter.of(OWNER, Filter())
    first = made.allowed(condition, None)
    assert made.allowed(RowFilter.of(OWNER, Filter()), None) is first
    append(rows, made, [(1, "fact", "active", "goal", 0)])
    assert made.allowed(condition, None) is not first
    assert len(first) == 10


def test_adding_rows_reports_a_scope_that_is_new() -> None:
    rows = Rows(1)
    made = FilterColumns(rows)
    assert append(rows, made, [(3, "fact", "active", "goal", 0)])
    assert not append(rows, made, [(3, "fact", "active", "goal", 0)])
    assert append(rows, made, [(3, "fact", "active", "goal", 0), (2, "fact", "active", "goal", 0)])


def test_a_column_widens_for_more_than_256_words() -> None:
    rows = Rows(1)
    made = FilterColumns(rows)
    for number in range(700):
        append(rows, made, [(1, f"kind {number}", "active", "goal", 0)])
    mask = made.allowed(RowFilter.of(OWNER, Filter(kinds=("kind 3", "kind 600"))), None).mask  # type: ignore[arg-type]
    assert np.flatnonzero(mask).tolist() == [3, 600]


def test_the_mask_cache_is_bounded_by_memory() -> None:
    rows = Rows(1)
    made = FilterColumns(rows)
    append(rows, made, [(1, "fact", "active", "goal", 0)] * 1000)
    start = from_micros(0)
    for hour in range(5000):
        made.allowed(RowFilter.of(OWNER, Filter(since=start + timedelta(hours=hour))), None)
    assert made.memory_bytes < 4 << 20
