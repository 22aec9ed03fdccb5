"""Limits on probing: coarse scores, a time grid for answers, and rate limits on questions. Pure.

Exact scores let any caller that may search probe the vault: "has the user cancer?" 0.94, "diabetes?" 0.12. Callers from outside
therefore get scores in four steps, optionally with noise (§10.16), no timings, and a limited number of questions per minute and
per session. The order of hits is unchanged. Response times reveal nothing either: answers are sent at points of a time grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from typing import Any, TypeVar

from engram.errors import RateLimited
from engram.settings import Settings
from engram.types import Memory, Role
from engram.values.frozen import fields, frozen, is_dataclass, replace

T = TypeVar("T")

_STEPS = ((0.85, 0.9), (0.60, 0.7), (0.40, 0.5))  # scores above the first number are shown as the second
_LOWEST = 0.2
_SCORES = frozenset({"score", "needed", "relevance", "composite", "relevancy", "support"})
_ROUNDED = frozenset({"share", "covered", "ndcg", "accuracy", "freshness", "utility"})


@frozen
class RateLimits:
    """Questions that one identity may ask; 0 means no limit. `minute_setting` names the setting behind `per_minute`."""

    per_minute: int
    per_session: int
    minute_setting: str = "ask_per_minute"


def question_rates(settings: Settings, role: Role, session: bool) -> RateLimits:
    """Return the rate limits of a caller: a guest, who may be anybody and probe, has its own; `session`: it asks in a session."""
    name = "guest_ask_per_minute" if role is Role.GUEST else "ask_per_minute"
    return RateLimits(getattr(settings, name), settings.ask_per_session if session else 0, name)


def score_step(score: float) -> float:
    """Round a score to one of four numbers: high, medium, low or minimal."""
    return next((shown for least, shown in _STEPS if score > least), _LOWEST)


def coarsen(value: T, noise: float = 0.0, chance: Callable[[], float] = lambda: 0.5) -> T:
    """Return an answer with its scores in steps and without timings. `chance` returns a random number in [0, 1)."""
    if isinstance(value, tuple):
        return tuple(coarsen(part, noise, chance) for part in value)  # type: ignore[return-value]
    changed: dict[str, Any] = {}
    kind: Any = type(value)
    for name in _field_names(kind):
        part = getattr(value, name)
        if type(part) in _UNCHANGED:
            continue
        if name == "milliseconds":
            changed[name] = {}
        elif isinstance(part, float):
            if name in _SCORES:
                changed[name] = score_step(part + noise * laplace(chance()) if noise else part)
            elif name in _ROUNDED:
                changed[name] = round(part, 1)
        elif (coarse := coarsen(part, noise, chance)) is not part:
            changed[name] = coarse
    return replace(value, **changed) if changed else value  # type: ignore[type-var]


_UNCHANGED = frozenset({str, int, bool, type(None), Memory})
"""Types that hold no score."""


@cache
def _field_names(kind: type) -> tuple[str, ...]:
    """Return the field names of a value class, or () for any other type. Cached: an answer holds hundreds of values."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) and kind is not Memory else ()


def grid_delay(elapsed: float, grid: float, most: float = math.inf) -> float:
    """Return the seconds to delay an answer that took `elapsed`, up to the next point of the grid and at most `most`.

    Hits, misses and hidden memories take different times. On the grid they look alike, unless one takes so much longer that
    it misses a point (§10.8).
    """
    due = max(math.ceil(elapsed / grid), 1) * grid if grid > 0 else elapsed
    return max(min(due - elapsed, most), 0.0)


def laplace(uniform: float) -> float:
    """Map a uniform draw from [0, 1) to a draw from the Laplace distribution of scale 1."""
    half = min(max(uniform, 1e-12), 1 - 1e-12) - 0.5
    return -math.copysign(math.log1p(-2 * abs(half)), half)


def check_rate(rates: RateLimits, this_minute: Sequence[tuple[float, int]], this_session: int) -> None:
    """Raise RateLimited if another question would exceed the limit per minute or per session.

    `this_minute` lists, soonest first, the seconds until some questions are a minute old, and how many questions those are.
    """
    surplus = sum(count for _, count in this_minute) - rates.per_minute
    if rates.per_minute and surplus >= 0:
        expired = accumulate(count for _, count in this_minute)
        after = next((seconds for (seconds, _), total in zip(this_minute, expired, strict=True) if total > surplus), 60.0)
        raise RateLimited(
            f"The limit of {rates.per_minute} questions a minute is reached.",
            way_out=f"Ask again in {math.ceil(after)} seconds, or raise `{rates.minute_setting}`.",
            after_s=after,
        )
    if rates.per_session and this_session >= rates.per_session:
        raise RateLimited(
            f"The limit of {rates.per_session} questions in a session is reached.",
            way_out="Begin a new session, or raise `ask_per_session`.",
            after_s=3600.0,
        )


def pressure_at(rss: int, settings: Settings) -> str:
    """Return the name of this memory pressure: "normal", "elevated" or "critical"."""
    mib = rss / 2**20
    return "critical" if mib >= settings.ram_critical_mib else "elevated" if mib >= settings.ram_warning_mib else "normal"
