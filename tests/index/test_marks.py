"""Masks are what a filter says, row by row, however they were arrived at: made anew, or amended after changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engram.env import from_micros, to_micros
from engram.guard.scopes import Visibility, readable
from engram.index.vectors.marks import Condition, Fresh, Marks
from engram.index.vectors.rows import Rows
from engram.store.protocol import Filter
from engram.types import Kind, Policy, Reader, Role, Scope, Status

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


def fresh(some: list[Mark]) -> Fresh:
    scopes, kinds, statuses, categories, times = zip(*some, strict=True) if some else ((),) * 5
    words: list[Any] = [np.asarray(column, np.object_) for column in (kinds, statuses, categories)]
    return Fresh(np.asarray(scopes, np.int32), words[0], words[1], words[2], np.asarray(times, np.int64))


def append(rows: Rows, made: Marks, some: list[Mark]) -> bool:
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
def test_a_mask_is_the_filter_row_by_row(data: st.DataObject) -> None:
    rows = Rows(1)
    made = Marks(rows)
    model: list[Mark | None] = []
    # Few conditions asked again and again, so that kept masks are amended.
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
            made.forget()
        else:
            visibility, scopes, where = data.draw(st.sampled_from(asked))
            keys = None if scopes is None else np.fromiter(scopes, np.int64, len(scopes))
            allowed = made.allowed(Condition.of(visibility, where), keys)
            assert allowed.mask.tolist() == [admitted(mark, where, scopes) for mark in model]
            assert allowed.count == allowed.mask.sum()


def test_a_mask_is_kept_until_something_changes() -> None:
    rows = Rows(1)
    made = Marks(rows)
    append(rows, made, [(1, "fact", "active", "goal", 0)] * 10)
    condition = Condition.of(OWNER, Filter())
    first = made.allowed(condition, None)
    assert made.allowed(Condition.of(OWNER, Filter()), None) is first
    append(rows, made, [(1, "fact", "active", "goal", 0)])
    assert made.allowed(condition, None) is not first
    assert len(first) == 10


def test_a_scope_that_comes_up_for_the_first_time_is_told() -> None:
    rows = Rows(1)
    made = Marks(rows)
    assert append(rows, made, [(3, "fact", "active", "goal", 0)])
    assert not append(rows, made, [(3, "fact", "active", "goal", 0)])
    assert append(rows, made, [(3, "fact", "active", "goal", 0), (2, "fact", "active", "goal", 0)])


def test_more_words_than_a_byte_can_count() -> None:
    rows = Rows(1)
    made = Marks(rows)
    for number in range(700):
        append(rows, made, [(1, f"kind {number}", "active", "goal", 0)])
    mask = made.allowed(Condition.of(OWNER, Filter(kinds=("kind 3", "kind 600"))), None).mask  # type: ignore[arg-type]
    assert np.flatnonzero(mask).tolist() == [3, 600]


def test_as_many_masks_are_kept_as_memory_allows() -> None:
    rows = Rows(1)
    made = Marks(rows)
    append(rows, made, [(1, "fact", "active", "goal", 0)] * 1000)
    start = from_micros(0)
    for hour in range(5000):
        made.allowed(Condition.of(OWNER, Filter(since=start + timedelta(hours=hour))), None)
    assert made.memory_bytes < 4 << 20
