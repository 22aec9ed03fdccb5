"""Half-life, retention, strength and importance of a memory (K3, K4). Pure: functions of the memory and the moment.

Retention, 0 … 1, halves with each half-life since the last use. The half-life is longer for memories that are used often
(spacing), for a person's own words than for derived ones (trust), and for emotional content (affect). Shapes of forgetting: `l2`
is Ebbinghaus's curve; `huber` follows it for one half-life and then decays as 1/t, so that memories used much and long ago are
not lost at once; `elastic` also subtracts a constant share, so that weak memories go soon. A rehearsal during a dream (K10)
restores half of the retention and lengthens the half-life; interference of newer memories (`Memory.strength` below 1) shortens
it.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engram.types import Kind, Memory, Source
from engram.values.episodes import rehearsals_of

if TYPE_CHECKING:  # the table of operations imports this module, and must not load the settings
    from engram.settings import Settings

_DAY = 86_400.0
_HOUR, _LIFETIME = 1 / 24, 36_500.0
_SPACING = 0.3
"""Factor of ln(uses) in the half-life, and the largest strength that use adds."""
_HALF_LIFE_FACTORS = {Source.USER: 1.0, Source.TOOL: 0.7, Source.ASSISTANT: 0.7, Source.IMPORT: 0.5, Source.INFERRED: 1 / 3}
"""Factor of the half-life by source; inferred memories fade three times as fast as a user's own words."""
_SOURCE_IMPORTANCE = {Source.USER: 1.0, Source.TOOL: 0.7, Source.ASSISTANT: 0.7, Source.IMPORT: 0.5, Source.INFERRED: 0.5}
"""Contribution of a source to importance."""
_SPARSE = 0.1  # share that the `elastic` curve subtracts
_REHEARSED = 0.5  # retention right after a rehearsal
_SHORTEST = 0.1  # least factor of the half-life by `Memory.strength`


def half_life(memory: Memory, settings: Settings) -> float:
    """Return the days in which an unused memory loses half of its retention."""
    spacing = 1.0 + _SPACING * math.log1p(memory.accesses + rehearsals_of(memory)[0])
    days = settings.half_life_days * _HALF_LIFE_FACTORS[memory.source] * spacing * (1.0 + _unit_interval(memory.affect.arousal))
    return days * max(_unit_interval(memory.strength), _SHORTEST)


def retention(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return the share of a memory that is left since its last use or rehearsal, 0 … 1."""
    life, mode = half_life(memory, settings), settings.retention_mode
    since_use = forgetting_curve(_days_since_use(memory, now) / life, mode)
    rehearsed_at = rehearsals_of(memory)[1]
    if rehearsed_at is None:
        return since_use
    return max(since_use, _REHEARSED * forgetting_curve(_days(rehearsed_at, now) / life, mode))


def falls_below_at(memory: Memory, least: float, now: datetime, settings: Settings) -> datetime | None:
    """Return when retention will fall below `least` if the memory is not used; None if that is over 100 years away."""
    if retention(memory, now, settings) < least:
        return now
    early, late = 0.0, _LIFETIME
    if retention(memory, now + timedelta(days=late), settings) >= least:
        return None
    while late - early > _HOUR:
        middle = (early + late) / 2.0
        early, late = (middle, late) if retention(memory, now + timedelta(days=middle), settings) >= least else (early, middle)
    return now + timedelta(days=late)


def forgetting_curve(half_lives: float, mode: str) -> float:
    """Return the retention after this many half-lives."""
    age = max(half_lives, 0.0)
    curve = math.exp2(-age)
    if mode == "huber":
        return curve if age <= 1.0 else 0.5 / (1.0 + math.log(2.0) * (age - 1.0))
    if mode == "elastic":
        return max(curve * (1.0 + _SPARSE) - _SPARSE, 0.0)
    return curve


def strength(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return initial strength times retention, plus the strength gained by use (at most 0.3); 1 for a pinned memory."""
    if memory.pinned:
        return 1.0
    initial = min(0.5 + 0.5 * memory.importance + 0.5 * _unit_interval(memory.affect.arousal), 1.0)
    gained = min(0.1 * math.log1p(memory.accesses), _SPACING) * retention(memory, now, settings)
    return _unit_interval(initial * retention(memory, now, settings) + gained)


def importance(memory: Memory, now: datetime, settings: Settings, *, layer_boost: float = 0.5) -> float:
    """Return the current importance, 0 … 1: the weighted mean of nine parts.

    They are the assigned importance (weight 3), and with weight 1: uses, recency, affect, steadiness of use, layer, source,
    corroboration, and ACT-R's base level.
    """
    parts = (
        (3.0, memory.importance),
        (1.0, min(math.log1p(memory.accesses) / math.log(51.0), 1.0)),
        (1.0, retention(memory, now, settings)),
        (1.0, _unit_interval(memory.affect.arousal)),
        (1.0, steadiness(memory, now)),
        (1.0, layer_boost),
        (1.0, _SOURCE_IMPORTANCE[memory.source]),
        (1.0, 1.0 - 0.5 ** (memory.corroborations + memory.helpful)),
        (1.0, _sigmoid(base_level(memory, now))),
    )
    return sum(weight * part for weight, part in parts) / sum(weight for weight, _ in parts)


def base_level(memory: Memory, now: datetime, decay: float = 0.5) -> float:
    """Return ACT-R's activation, ln Σ t⁻ᵈ over all uses, estimated from their number, the first and the last of them."""
    age = max(_days(memory.learned_at, now), 1 / 24)
    last = min(max(_days(memory.accessed_at or memory.learned_at, now), 1 / 24), age)
    uses = memory.accesses + 1
    if uses == 1:
        return -decay * math.log(age)
    # The last use exactly, the others spread evenly over the lifetime (Petrov's approximation with one use remembered).
    rest = (uses - 1) * age ** (-decay) / (1.0 - decay)
    return math.log(last ** (-decay) + rest)


def steadiness(memory: Memory, now: datetime) -> float:
    """Return the share of its lifetime after which a memory was last used; 0 if it never was. High: used throughout."""
    if not memory.accesses or memory.accessed_at is None or memory.learned_at is None:
        return 0.0
    life = max((now - memory.learned_at).total_seconds(), 1.0)
    return _unit_interval((memory.accessed_at - memory.learned_at).total_seconds() / life)


def fades(memory: Memory) -> bool:
    """False for skills and pinned memories, which stay until they are forgotten on request."""
    return not memory.pinned and memory.kind is not Kind.SKILL


def _days_since_use(memory: Memory, now: datetime) -> float:
    used = [moment for moment in (memory.accessed_at, memory.learned_at) if moment is not None]
    return _days(max(used), now) if used else 0.0


def _days(moment: datetime | None, now: datetime) -> float:
    return 0.0 if moment is None else max((now - moment).total_seconds() / _DAY, 0.0)


def _sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


def _unit_interval(value: float) -> float:
    return min(max(value, 0.0), 1.0)
