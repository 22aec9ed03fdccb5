"""How far to rely on a hit (§7): relevance, accuracy, freshness, utility, and 0.35 / 0.25 / 0.20 / 0.20 of them."""

from __future__ import annotations

import math
from datetime import datetime

from engram.types import Memory, Status, Trust

_HALF_LIFE_DAYS = 30.0
_SHARES = (0.35, 0.25, 0.20, 0.20)
_WITNESS, _HELPFUL, _UNHELPFUL, _CONTRADICTED = 0.05, 0.05, 0.1, 0.2


def trust(memory: Memory, relevance: float, now: datetime, contradicted: bool = False) -> Trust:
    """Freshness halves in a month; utility follows importance, use and praise."""
    when = memory.happened_at or memory.learned_at or now
    age = max((now - when).total_seconds() / 86_400.0, 0.0)
    freshness = 0.5 ** (age / _HALF_LIFE_DAYS)
    utility = min(memory.importance + 0.1 * math.log1p(memory.accesses) + _HELPFUL * memory.helpful, 1.0)
    parts = (_within(relevance), accuracy(memory, contradicted), freshness, utility)
    return Trust(*parts, composite=sum(share * part for share, part in zip(_SHARES, parts, strict=True)))


def accuracy(memory: Memory, contradicted: bool = False) -> float:
    """What was believed when it was kept; more with every witness and every use that helped; less where it did not help,
    where a memory stands against it, and where it has been called into question."""
    doubt = contradicted or memory.status is Status.CHALLENGED
    return surety(memory.confidence, memory.corroborations, memory.helpful, memory.unhelpful, doubt)


def surety(confidence: float, witnesses: float, helpful: float, unhelpful: float, doubt: float) -> float:
    """How sure a memory is, or some are in the mean; `doubt` is the share in dispute."""
    return _within(confidence + _WITNESS * witnesses + _HELPFUL * helpful - _UNHELPFUL * unhelpful - _CONTRADICTED * doubt)


def _within(value: float) -> float:
    return min(max(value, 0.0), 1.0)
