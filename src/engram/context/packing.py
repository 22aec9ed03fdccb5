"""Which memories stand in a block of so many tokens, and at which tier: the most value for the tokens there are.

Each memory has up to four forms. The best one is sure of a place at some tier; then step by step whatever adds the most value
for a token, a further memory or a longer form of one that is in, until nothing more fits. Steps of one memory only get dearer
for what they add (its convex hull), so going by value per token is optimal but for the last misfit; what room that leaves
goes to the next steps that still fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise


class Tier(IntEnum):
    """How much of a memory stands in a prompt."""

    FULL = 0
    SUMMARY = 1
    KEY_FACT = 2
    TAG = 3


FIDELITY = {Tier.FULL: 1.0, Tier.SUMMARY: 0.95, Tier.KEY_FACT: 0.8, Tier.TAG: 0.15}
"""What a shorter form is worth of the whole: a tag only tells that there is something to ask for."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What could be packed: its worth, and what each tier costs as it would stand in the block (None: no such form)."""

    worth: float
    costs: tuple[int | None, int | None, int | None, int | None]


Step = tuple[float, int, int, int, Tier]
"""Into the block, or from one form to the next longer: (-gain per token, place, how-manieth of its candidate, cost, tier)."""


def pack(candidates: Sequence[Candidate], budget: int) -> list[Tier | None]:
    """The tier of each candidate, None if it is left out. The costs of what is in add up to no more than `budget`."""
    chosen: list[Tier | None] = [None] * len(candidates)
    taken = [0] * len(candidates)
    steps = [_steps(place, candidate) for place, candidate in enumerate(candidates)]
    left = budget
    best = max(range(len(candidates)), key=lambda place: candidates[place].worth, default=None)
    if best is not None:
        chosen[best], cost = _longest(candidates[best], left)
        taken[best] = next((step[2] + 1 for step in steps[best] if step[4] == chosen[best]), len(steps[best]))
        left -= cost
    # Steps of one candidate only get dearer for what they add, so they come up in their order.
    for _, place, number, cost, tier in sorted(step for some in steps for step in some):
        if number == taken[place] and cost <= left:
            chosen[place] = tier
            taken[place] += 1
            left -= cost
    return chosen


def _longest(candidate: Candidate, left: int) -> tuple[Tier | None, int]:
    """The first hit is never dropped for being long: the longest form that fits into half the room, else any that fits."""
    for room in (left // 2, left):
        for tier in Tier:
            cost = candidate.costs[tier]
            if cost is not None and cost <= room:
                return tier, cost
    return None, 0


def _steps(place: int, candidate: Candidate) -> list[Step]:
    """The forms on the convex hull of cost and value, from nothing up."""
    worth = candidate.worth
    hull: list[tuple[int, float, Tier]] = [(0, 0.0, Tier.TAG)]
    for cost, value, tier in sorted(
        (cost, FIDELITY[tier] * worth, tier) for tier, cost in zip(Tier, candidate.costs, strict=True) if cost
    ):
        if value <= hull[-1][1]:
            continue
        while len(hull) > 1 and _rate(hull[-2], hull[-1]) <= _rate(hull[-2], (cost, value, tier)):
            hull.pop()
        hull.append((cost, value, tier))
    return [
        (-_rate(before, after), place, number, after[0] - before[0], after[2])
        for number, (before, after) in enumerate(pairwise(hull))
    ]


def _rate(one: tuple[int, float, Tier], other: tuple[int, float, Tier]) -> float:
    return (other[1] - one[1]) / max(other[0] - one[0], 1)
