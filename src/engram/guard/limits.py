"""What a program that asks may learn from the answers' numbers, and how often it may ask.

Whoever may search can probe: "has the user cancer?" 0.94, "diabetes?" 0.12. So callers from outside get scores in four steps, no
timings, at most so many questions a minute and a session, and noise if that is set (§10.16). The order of hits stays. Nor do they
learn from how long it took: answers go out on a grid. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, TypeVar

from engram.errors import RateLimited
from engram.frozen import fields, frozen, is_dataclass, replace
from engram.types import Memory

T = TypeVar("T")

_STEPS = ((0.85, 0.9), (0.60, 0.7), (0.40, 0.5))
_LEAST = 0.2
_SCORES = frozenset({"score", "needed", "relevance", "composite", "relevancy", "support"})
_ROUNDED = frozenset({"share", "covered", "ndcg", "accuracy", "freshness", "utility"})


@frozen
class RateLimits:
    """How many questions one identity may ask; 0 is any number. `minute_setting` is where the first is set."""

    per_minute: int
    per_session: int
    minute_setting: str = "ask_per_minute"


def score_step(score: float) -> float:
    """High, medium, low or minimal, each as one number."""
    return next((shown for least, shown in _STEPS if score > least), _LEAST)


def coarsen(value: T, noise: float = 0.0, chance: Callable[[], float] = lambda: 0.5) -> T:
    """An answer with its numbers in steps and its timings left out. `chance` is drawn from [0, 1)."""
    if isinstance(value, tuple):
        return tuple(coarsen(one, noise, chance) for one in value)  # type: ignore[return-value]
    changed: dict[str, Any] = {}
    kind: Any = type(value)
    for name in _parts(kind):
        held = getattr(value, name)
        if type(held) in _NEVER:
            continue
        if name == "milliseconds":
            changed[name] = {}
        elif isinstance(held, float):
            if name in _SCORES:
                changed[name] = score_step(held + noise * laplace(chance()) if noise else held)
            elif name in _ROUNDED:
                changed[name] = round(held, 1)
        elif (other := coarsen(held, noise, chance)) is not held:
            changed[name] = other
    return replace(value, **changed) if changed else value  # type: ignore[type-var]


_NEVER = frozenset({str, int, bool, type(None), Memory})
"""What holds no number that tells anything."""


@cache
def _parts(kind: type) -> tuple[str, ...]:
    """The names of a value's parts; none of what is no value. Found out once: an answer has hundreds."""
    return tuple(one.name for one in fields(kind)) if is_dataclass(kind) and kind is not Memory else ()


def grid_delay(elapsed: float, grid: float, most: float = math.inf) -> float:
    """Seconds to hold an answer back that took `elapsed`: up to the next point of a grid, and never longer than `most`.

    What was found, what was not and what may not be seen take different times; on the grid all of them look alike, unless one
    takes so much longer that it misses a point (§10.8).
    """
    due = max(math.ceil(elapsed / grid), 1) * grid if grid > 0 else elapsed
    return max(min(due - elapsed, most), 0.0)


def laplace(uniform: float) -> float:
    """A draw of scale 1 from one of [0, 1)."""
    half = min(max(uniform, 1e-12), 1 - 1e-12) - 0.5
    return -math.copysign(math.log1p(-2 * abs(half)), half)


def check_rate(rates: RateLimits, this_minute: Sequence[tuple[float, int]], this_session: int) -> None:
    """Refuse the question that is one too many, after those of this session and of this minute: of the latter so many will be
    older than a minute in so many seconds, soonest first."""
    surplus = sum(times for _, times in this_minute) - rates.per_minute
    if rates.per_minute and surplus >= 0:
        gone = accumulate(times for _, times in this_minute)
        after = next((left for (left, _), freed in zip(this_minute, gone, strict=True) if freed > surplus), 60.0)
        raise RateLimited(
            f"{rates.per_minute} questions a minute were asked.",
            way_out=f"Ask again in {math.ceil(after)} seconds, or raise `{rates.minute_setting}`.",
            after_s=after,
        )
    if rates.per_session and this_session >= rates.per_session:
        raise RateLimited(
            f"{rates.per_session} questions were asked in this session.",
            way_out="Begin a new session, or raise `ask_per_session`.",
            after_s=3600.0,
        )
