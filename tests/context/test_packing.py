"""The most value for the tokens there are."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from engram.context.packing import FIDELITY, Candidate, Tier, pack

costs = st.tuples(
    st.integers(1, 60), st.none() | st.integers(1, 40), st.none() | st.integers(1, 20), st.none() | st.integers(1, 5)
)
some = st.lists(st.builds(Candidate, st.floats(0.01, 10), costs), max_size=5)


def _cost(candidates: list[Candidate], chosen: list[Tier | None]) -> int:
    return sum(one.costs[tier] or 0 for one, tier in zip(candidates, chosen, strict=True) if tier is not None)


def _value(candidates: list[Candidate], chosen: list[Tier | None]) -> float:
    return sum(one.worth * FIDELITY[tier] for one, tier in zip(candidates, chosen, strict=True) if tier is not None)


@given(some, st.integers(0, 200))
def test_it_never_costs_more_than_there_is(candidates: list[Candidate], budget: int) -> None:
    chosen = pack(candidates, budget)
    assert len(chosen) == len(candidates)
    assert _cost(candidates, chosen) <= budget
    assert all(tier is None or one.costs[tier] is not None for one, tier in zip(candidates, chosen, strict=True))


@given(some, st.integers(0, 200))
def test_the_best_one_is_never_dropped_if_any_form_of_it_fits(candidates: list[Candidate], budget: int) -> None:
    chosen = pack(candidates, budget)
    best = max(range(len(candidates)), key=lambda place: candidates[place].worth, default=None)
    if best is not None and any(cost is not None and cost <= budget for cost in candidates[best].costs):
        assert chosen[best] is not None


@given(st.lists(st.builds(Candidate, st.floats(0.5, 2), costs), min_size=1, max_size=4), st.integers(20, 120))
def test_it_is_near_the_best_there_is(candidates: list[Candidate], budget: int) -> None:
    """Against all ways: within half, whatever the sizes; the guarantee of going by value for cost with the best one first."""
    every = product(*[[None, *(tier for tier in Tier if one.costs[tier] is not None)] for one in candidates])
    best = max(_value(candidates, list(way)) for way in every if _cost(candidates, list(way)) <= budget)
    assert _value(candidates, pack(candidates, budget)) >= 0.5 * best


def test_all_stand_whole_if_there_is_room() -> None:
    candidates = [Candidate(1.0, (30, 20, 10, 2)) for _ in range(5)]
    assert pack(candidates, 150) == [Tier.FULL] * 5


def test_under_pressure_many_stand_shorter_instead_of_few_whole() -> None:
    candidates = [Candidate(1.0, (60, 40, 10, 2)) for _ in range(10)]
    chosen = pack(candidates, 150)
    assert sum(tier is not None for tier in chosen) == 10
    assert _cost(candidates, chosen) > 0.9 * 150


def test_a_long_best_hit_is_degraded_not_dropped() -> None:
    chosen = pack([Candidate(9.0, (5000, 400, 15, 3)), Candidate(1.0, (20, None, None, None))], 60)
    assert chosen == [Tier.KEY_FACT, Tier.FULL]


def test_nothing_is_nothing() -> None:
    assert pack([], 100) == []
    assert pack([Candidate(1.0, (10, None, None, None))], 0) == [None]
