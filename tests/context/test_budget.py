"""Grants before anything is fetched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.context.budget import HISTORY, PROFILES, RECALLED, WORKING, grants, redistribute

profiles = st.sampled_from(sorted(PROFILES))


@given(profiles, st.integers(0, 3_000_000))
def test_grants_add_up_to_no_more_than_there_is(name: str, budget: int) -> None:
    given_ = grants(PROFILES[name].claims, budget)
    assert 0 <= sum(given_.values()) <= budget
    assert all(tokens >= 0 for tokens in given_.values())


def test_shares_hold_where_there_is_plenty() -> None:
    assert grants(PROFILES["chat"].claims, 1000) == {WORKING: 150, RECALLED: 400, HISTORY: 450}


def test_under_pressure_history_gives_first_and_memory_last() -> None:
    tight = grants(PROFILES["chat"].claims, 100)
    assert tight[WORKING] >= 32
    assert tight[RECALLED] >= 64
    assert tight[HISTORY] < 45
    tighter = grants(PROFILES["chat"].claims, 60)
    assert (tighter[WORKING], tighter[HISTORY]) == (32, 0)
    assert tighter[RECALLED] > 0


@given(profiles, st.integers(0, 10_000), st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 5000))
def test_what_one_does_not_use_flows_on_and_nothing_is_made_up(name: str, budget: int, a: int, b: int, c: int) -> None:
    claims = PROFILES[name].claims
    first, wanted = grants(claims, budget), {WORKING: a, RECALLED: b, HISTORY: c}
    settled = redistribute(claims, first, wanted)
    assert sum(settled.values()) <= budget
    assert all(settled[part] <= wanted[part] for part in wanted)
    assert sum(settled.values()) == min(sum(first.values()), a + b + c)


def test_memory_has_what_history_leaves() -> None:
    claims = PROFILES["chat"].claims
    assert redistribute(claims, grants(claims, 1000), {WORKING: 0, RECALLED: 2000, HISTORY: 100}) == {
        WORKING: 0,
        RECALLED: 900,
        HISTORY: 100,
    }
