"""Compute the trust of a hit (§7): 0.35 relevance, 0.25 accuracy, 0.20 freshness, 0.20 utility. Pure."""

from __future__ import annotations

import math
from datetime import datetime

from engram.types import Memory, Status, Trust

_HALF_LIFE_DAYS = 30.0
_SHARES = (0.35, 0.25, 0.20, 0.20)
_WITNESS, _HELPFUL, _UNHELPFUL, _CONTRADICTED = 0.05, 0.05, 0.1, 0.2


def trust(memory: Memory, relevance: float, now: datetime, contradicted: bool = False) -> Trust:
    """Return the trust of a memory as a hit: freshness halves in a month; utility follows importance, use and feedback."""
    when = memory.happened_at or memory.learned_at or now
    age = max((now - when).total_seconds() / 86_400.0, 0.0)
    freshness = 0.5 ** (age / _HALF_LIFE_DAYS)
    utility = min(memory.importance + 0.1 * math.log1p(memory.accesses) + _HELPFUL * memory.helpful, 1.0)
    parts = (_within(relevance), accuracy(memory, contradicted), freshness, utility)
    return Trust(*parts, composite=sum(share * part for share, part in zip(_SHARES, parts, strict=True)))


def accuracy(memory: Memory, contradicted: bool = False) -> float:
    """Return the confidence in a memory: more with each corroboration and helpful use, less if it is unhelpful or in dispute."""
    disputed = contradicted or memory.status is Status.CHALLENGED
    return adjusted_confidence(memory.confidence, memory.corroborations, memory.helpful, memory.unhelpful, disputed)


def adjusted_confidence(confidence: float, witnesses: float, helpful: float, unhelpful: float, disputed: float) -> float:
    """Return a confidence adjusted by corroborations, feedback and dispute; means over several memories work as well."""
    return _within(confidence + _WITNESS * witnesses + _HELPFUL * helpful - _UNHELPFUL * unhelpful - _CONTRADICTED * disputed)


def _within(value: float) -> float:
    return min(max(value, 0.0), 1.0)
