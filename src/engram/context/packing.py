"""Which memories stand in a block of so many tokens, and at which tier: the most value for the tokens there are.

Each memory has up to four forms. The best one is sure of a place at some tier; then step by step whatever adds the most value
for a token, a further memory or a longer form of one that is in, until nothing more fits. Steps of one memory only get dearer
for what they add (its convex hull), so going by value per token is optimal but for the last misfit; what room that leaves
goes to the next steps that still fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from engram.values.frozen import frozen


class Tier(IntEnum):
    """How much of a memory stands in a prompt."""

    FULL = 0
    SUMMARY = 1
    KEY_FACT = 2
    TAG = 3


FIDELITY = {Tier.FULL: 1.0, Tier.SUMMARY: 0.95, Tier.KEY_FACT: 0.63, Tier.TAG: 0.15}
"""What a shorter form is worth of the whole. A key fact keeps 63 % of the words that answer a question (LoCoMo, development
split); a tag has no less of them, but does not say what of them: it only tells that there is something to ask for."""


@frozen
class Candidate:
    """What could be packed: its worth, and what each tier costs as it would stand in the block (None: no such form)."""

    worth: float
    costs: tuple[int | None, int | None, int | None, int | None]


Step = tuple[float, int, int, int, Tier]
"""Into the block, or from one form to the next longer: (-gain per token, place, how-manieth of its candidate, cost, tier)."""


def ranked(candidates: Sequence[Candidate]) -> list[Step]:
    """All steps, the best value for a token first; what budgets of any size are filled by."""
    return sorted(step for place, candidate in enumerate(candidates) for step in _steps(place, candidate))


def pack(candidates: Sequence[Candidate], budget: int, steps: Sequence[Step] | None = None) -> list[Tier | None]:
    """The tier of each candidate, None if it is left out. The costs of what is in add up to no more than `budget`."""
    chosen: list[Tier | None] = [None] * len(candidates)
    taken = [0] * len(candidates)
    steps = ranked(candidates) if steps is None else steps
    left = budget
    best = max(range(len(candidates)), key=lambda place: candidates[place].worth, default=None)
    if best is not None:
        chosen[best], cost = _longest(candidates[best], left)
        taken[best] = next((step[2] + 1 for step in steps if step[1] == best and step[4] == chosen[best]), len(Tier))
        left -= cost
    # Steps of one candidate only get dearer for what they add, so they come up in their order.
    for _, place, number, cost, tier in steps:
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


_TIERS = tuple(Tier)
_WORTHS = tuple(FIDELITY.values())


def _steps(place: int, candidate: Candidate) -> list[Step]:
    """The forms on the convex hull of cost and value, from nothing up."""
    worth, costs = candidate.worth, candidate.costs
    steps: list[Step] = []
    at_cost, at_value = 0, 0.0
    waiting = sorted([(cost, _WORTHS[tier] * worth, tier) for tier, cost in enumerate(costs) if cost])
    while waiting:
        # The next form is the one that adds most for a token; of those that add as much, the longest.
        rate, cost, value, tier = max([((v - at_value) / max(c - at_cost, 1), c, v, t) for c, v, t in waiting])
        if value <= at_value:
            break
        steps.append((-rate, place, len(steps), cost - at_cost, _TIERS[tier]))
        at_cost, at_value = cost, value
        waiting = [form for form in waiting if form[0] > cost and form[1] > value]
    return steps
