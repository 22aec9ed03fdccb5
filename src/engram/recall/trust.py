"""How far to rely on a hit (§7): relevance, accuracy, freshness, utility, and 0.35 / 0.25 / 0.20 / 0.20 of them."""

from __future__ import annotations

import math
from datetime import datetime

from engram.types import Memory, Trust

_HALF_LIFE_DAYS = 30.0
_SHARES = (0.35, 0.25, 0.20, 0.20)


def trust(memory: Memory, relevance: float, now: datetime) -> Trust:
    """Accuracy rises with every independent witness; freshness halves in a month; utility follows importance and use."""
    accuracy = min(memory.confidence + 0.05 * memory.corroborations, 1.0)
    when = memory.happened_at or memory.learned_at or now
    age = max((now - when).total_seconds() / 86_400.0, 0.0)
    freshness = 0.5 ** (age / _HALF_LIFE_DAYS)
    utility = min(memory.importance + 0.1 * math.log1p(memory.accesses), 1.0)
    parts = (min(max(relevance, 0.0), 1.0), accuracy, freshness, utility)
    return Trust(*parts, composite=sum(share * part for share, part in zip(_SHARES, parts, strict=True)))
