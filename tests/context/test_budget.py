"""The tokens granted to the sections of a window."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engram.context.budget import grants, redistribute
from engram.context.sections import HISTORY, PROFILES, RECALLED, WORKING

profiles = st.sampled_from(sorted(PROFILES))


@given(profiles, st.integers(0, 3_000_000))
def test_grants_add_up_to_at_most_the_budget(name: str, budget: int) -> None:
    given_ = grants(PROFILES[name].claims, budget)
    assert 0 <= sum(given_.values()) <= budget
    assert all(tokens >= 0 for tokens in given_.values())


def test_a_large_budget_is_granted_by_shares() -> None:
    assert grants(PROFILES["chat"].claims, 1000) == {WORKING: 150, RECALLED: 400, HISTORY: 450}


def test_in_a_small_budget_history_loses_first_and_memory_last() -> None:
    tight = grants(PROFILES["chat"].claims, 100)
    assert tight[WORKING] >= 32
    assert tight[RECALLED] >= 64
    assert tight[HISTORY] < 45
    tighter = grants(PROFILES["chat"].claims, 60)
    assert (tighter[WORKING], tighter[HISTORY]) == (32, 0)
    assert tighter[RECALLED] > 0


@given(profiles, st.integers(0, 10_000), st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 5000))
def test_unused_tokens_are_redistributed_and_their_sum_stays(name: str, budget: int, a: int, b: int, c: int) -> None:
    claims = PROFILES[name].claims
    first, wanted = grants(claims, budget), {WORKING: a, RECALLED: b, HISTORY: c}
    settled = redistribute(claims, first, wanted)
    assert sum(settled.values()) <= budget
    assert all(settled[part] <= wanted[part] for part in wanted)
    assert sum(settled.values()) == min(sum(first.values()), a + b + c)


def test_memory_gets_the_tokens_that_history_does_not_use() -> None:
    claims = PROFILES["chat"].claims
    assert redistribute(claims, grants(claims, 1000), {WORKING: 0, RECALLED: 2000, HISTORY: 100}) == {
        WORKING: 0,
        RECALLED: 900,
        HISTORY: 100,
    }
