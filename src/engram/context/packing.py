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


@dataclass(frozen=True, slots=True)
class _Step:
    """From one form of a candidate to the next longer one (or into the block): what it adds and costs."""

    place: int
    tier: Tier
    gain: float
    cost: int
    number: int  # the how-manieth of this candidate

    @property
    def rate(self) -> float:
        return self.gain / max(self.cost, 1)


def pack(candidates: Sequence[Candidate], budget: int) -> list[Tier | None]:
    """The tier of each candidate, None if it is left out. The costs of what is in add up to no more than `budget`."""
    chosen: list[Tier | None] = [None] * len(candidates)
    taken = [0] * len(candidates)
    steps = [_steps(place, candidate) for place, candidate in enumerate(candidates)]
    left = budget
    best = max(range(len(candidates)), key=lambda place: candidates[place].worth, default=None)
    if best is not None:
        left -= _place_best(best, candidates[best], steps[best], chosen, taken, left)
    waiting = sorted((step for some in steps for step in some), key=lambda step: (-step.rate, step.place, step.number))
    progress = True
    while progress:  # a step that did not fit may become possible only after an earlier one of its candidate: few rounds
        progress = False
        for step in waiting:
            if step.number == taken[step.place] and step.cost <= left:
                chosen[step.place] = step.tier
                taken[step.place] += 1
                left -= step.cost
                progress = True
        waiting = [step for step in waiting if step.number >= taken[step.place]]
    return chosen


def _place_best(
    place: int, candidate: Candidate, steps: Sequence[_Step], chosen: list[Tier | None], taken: list[int], left: int
) -> int:
    """The first hit is never dropped for being long: the longest form that fits into half the room, else any that fits."""
    for room in (left // 2, left):
        for tier in Tier:
            cost = candidate.costs[tier]
            if cost is not None and cost <= room:
                chosen[place] = tier
                taken[place] = next((step.number + 1 for step in steps if step.tier == tier), len(steps))
                return cost
    taken[place] = len(steps)
    return 0


def _steps(place: int, candidate: Candidate) -> list[_Step]:
    """The forms on the convex hull of cost and value, from nothing up."""
    forms = sorted((cost, candidate.worth * FIDELITY[tier], tier) for tier in Tier if (cost := candidate.costs[tier]) is not None)
    hull: list[tuple[int, float, Tier | None]] = [(0, 0.0, None)]
    for cost, value, tier in forms:
        if value <= hull[-1][1]:
            continue
        while len(hull) > 1 and _rate(hull[-2], hull[-1]) <= _rate(hull[-2], (cost, value, tier)):
            hull.pop()
        hull.append((cost, value, tier))
    steps = []
    for number, (before, after) in enumerate(pairwise(hull)):
        if after[2] is not None:
            steps.append(_Step(place, after[2], after[1] - before[1], after[0] - before[0], number))
    return steps


def _rate(one: tuple[int, float, Tier | None], other: tuple[int, float, Tier | None]) -> float:
    return (other[1] - one[1]) / max(other[0] - one[0], 1)
