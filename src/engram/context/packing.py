"""Choose the memories of a block of so many tokens, and the form of each: the most value per token. Pure.

Each memory has up to four forms. The best one is sure of a place in some form. Then, step by step, the block takes whatever adds
the most value per token, a further memory or a longer form of one that is in, until nothing more fits. The steps of one memory
lie on the convex hull of cost and value, so the greedy order is optimal but for the last step that does not fit; the room that
this leaves goes to the next steps that fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from engram.values.frozen import frozen


class Tier(IntEnum):
    """The form of a memory in a prompt."""

    FULL = 0
    SUMMARY = 1
    KEY_FACT = 2
    TAG = 3


FIDELITY = {Tier.FULL: 1.0, Tier.SUMMARY: 0.82, Tier.KEY_FACT: 0.63, Tier.TAG: 0.15}
"""Value of a form against the whole text. A key fact keeps 63 % of the words that answer a question (LoCoMo, development
split); a tag has as many of them without what they say: it only shows that there is something to ask for. Only a text over thirty
tokens has a summary: it keeps 66 % of the words where its key fact keeps 29 % (LongMemEval-train), which is 0.82 on the way from
the key fact to the whole."""


@frozen
class PackingCandidate:
    """A memory that could be packed: its worth, and the tokens of each form in the block (None: it has no such form)."""

    worth: float
    costs: tuple[int | None, int | None, int | None, int | None]


Step = tuple[float, int, int, int, Tier]
"""A step into the block or from one form to a longer one: (-gain per token, candidate, number of the step, cost, tier)."""


def ranked(candidates: Sequence[PackingCandidate]) -> list[Step]:
    """Return the steps of all candidates, the most value per token first; they serve budgets of any size."""
    return sorted(step for place, candidate in enumerate(candidates) for step in _steps(place, candidate))


def pack(candidates: Sequence[PackingCandidate], budget: int, steps: Sequence[Step] | None = None) -> list[Tier | None]:
    """Return the tier of each candidate, None if it is left out; the costs add up to at most `budget`."""
    chosen: list[Tier | None] = [None] * len(candidates)
    taken = [0] * len(candidates)
    steps = ranked(candidates) if steps is None else steps
    left = budget
    best = max(range(len(candidates)), key=lambda place: candidates[place].worth, default=None)
    if best is not None:
        chosen[best], cost = _longest(candidates[best], left)
        taken[best] = next((step[2] + 1 for step in steps if step[1] == best and step[4] == chosen[best]), len(Tier))
        left -= cost
    # The steps of one candidate add less and less per token, so they come up in their order.
    for _, place, number, cost, tier in steps:
        if number == taken[place] and cost <= left:
            chosen[place] = tier
            taken[place] += 1
            left -= cost
    return chosen


def _longest(candidate: PackingCandidate, left: int) -> tuple[Tier | None, int]:
    """Return the longest form that fits into half the room, else any that fits: the best one is never dropped for length."""
    for room in (left // 2, left):
        for tier in Tier:
            cost = candidate.costs[tier]
            if cost is not None and cost <= room:
                return tier, cost
    return None, 0


_TIERS = tuple(Tier)
_WORTHS = tuple(FIDELITY.values())


def _steps(place: int, candidate: PackingCandidate) -> list[Step]:
    """Return the steps of a candidate: its forms on the convex hull of cost and value, shortest first."""
    worth, costs = candidate.worth, candidate.costs
    steps: list[Step] = []
    at_cost, at_value = 0, 0.0
    waiting = sorted([(cost, _WORTHS[tier] * worth, tier) for tier, cost in enumerate(costs) if cost])
    while waiting:
        # The next form is the one that adds most per token; of equal ones the longest.
        rate, cost, value, tier = max([((v - at_value) / max(c - at_cost, 1), c, v, t) for c, v, t in waiting])
        if value <= at_value:
            break
        steps.append((-rate, place, len(steps), cost - at_cost, _TIERS[tier]))
        at_cost, at_value = cost, value
        waiting = [form for form in waiting if form[0] > cost and form[1] > value]
    return steps
