"""Packing memories into a block: the most value per token."""

from __future__ import annotations

from itertools import product
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from engram.context.packing import FIDELITY, PackingCandidate, Tier, pack

costs = st.tuples(
    st.integers(1, 60), st.none() | st.integers(1, 40), st.none() | st.integers(1, 20), st.none() | st.integers(1, 5)
)
candidate_lists = st.lists(st.builds(PackingCandidate, st.floats(0.01, 10), costs), max_size=5)


def _cost(candidates: list[PackingCandidate], chosen: list[Tier | None]) -> int:
    return sum(candidate.costs[tier] or 0 for candidate, tier in zip(candidates, chosen, strict=True) if tier is not None)


def _value(candidates: list[PackingCandidate], chosen: list[Tier | None]) -> float:
    return sum(candidate.worth * FIDELITY[tier] for candidate, tier in zip(candidates, chosen, strict=True) if tier is not None)


@given(candidate_lists, st.integers(0, 200))
def test_the_chosen_forms_never_cost_more_than_the_budget(candidates: list[PackingCandidate], budget: int) -> None:
    chosen = pack(candidates, budget)
    assert len(chosen) == len(candidates)
    assert _cost(candidates, chosen) <= budget
    assert all(tier is None or candidate.costs[tier] is not None for candidate, tier in zip(candidates, chosen, strict=True))


@given(candidate_lists, st.integers(0, 200))
def test_the_best_candidate_is_never_dropped_if_any_form_of_it_fits(candidates: list[PackingCandidate], budget: int) -> None:
    chosen = pack(candidates, budget)
    best = max(range(len(candidates)), key=lambda place: candidates[place].worth, default=None)
    if best is not None and any(cost is not None and cost <= budget for cost in candidates[best].costs):
        assert chosen[best] is not None


def test_the_choice_has_nearly_the_best_value_on_average() -> None:
    """Against all choices, on small random cases. In one case it may be far off, if only a form off the convex hull fits."""
    rng = Random(7)
    shares = []
    for _ in range(300):
        candidates = [_random_candidate(rng) for _ in range(rng.randint(1, 4))]
        budget = rng.randint(20, 120)
        every = product(*[[None, *(tier for tier in Tier if candidate.costs[tier] is not None)] for candidate in candidates])
        best = max(_value(candidates, list(way)) for way in every if _cost(candidates, list(way)) <= budget)
        shares.append(_value(candidates, pack(candidates, budget)) / best if best else 1.0)
    assert sum(shares) / len(shares) > 0.95


def _random_candidate(rng: Random) -> PackingCandidate:
    shorter = (rng.choice([None, rng.randint(1, most)]) for most in (40, 20, 5))
    return PackingCandidate(rng.uniform(0.5, 2.0), (rng.randint(1, 60), *shorter))


def test_all_candidates_stand_in_full_if_there_is_room() -> None:
    candidates = [PackingCandidate(1.0, (30, 20, 10, 2)) for _ in range(5)]
    assert pack(candidates, 150) == [Tier.FULL] * 5


def test_in_little_room_many_short_forms_are_preferred_to_few_full_ones() -> None:
    candidates = [PackingCandidate(1.0, (60, 40, 10, 2)) for _ in range(10)]
    chosen = pack(candidates, 150)
    assert sum(tier is not None for tier in chosen) == 10
    assert _cost(candidates, chosen) > 0.9 * 150


def test_a_long_best_candidate_is_shortened_not_dropped() -> None:
    chosen = pack([PackingCandidate(9.0, (5000, 400, 15, 3)), PackingCandidate(1.0, (20, None, None, None))], 60)
    assert chosen == [Tier.KEY_FACT, Tier.FULL]


def test_without_candidates_or_budget_nothing_is_chosen() -> None:
    assert pack([], 100) == []
    assert pack([PackingCandidate(1.0, (10, None, None, None))], 0) == [None]
