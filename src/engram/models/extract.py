"""The seam for a language model that reads turns: any function from turns to statements.

What it answers is checked before it is believed (`capture/distil.py`); what it does not answer in time is done without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from engram.frozen import frozen
from engram.types import Fact, Turn


@frozen(kw_only=True)
class Extracted:
    """One statement that a model took from turns. `turn`: from which of them, counted from 0, if it says so.

    `facts`: what it says as subject, predicate and object; the rules read it besides.
    """

    text: str
    category: str = "fact"
    confidence: float = 0.8
    happened_at: datetime | None = None
    turn: int | None = None
    facts: tuple[Fact, ...] = ()


class Extractor(Protocol):
    """Given at `engram.open(extractor=…)`. `context` was said before the turns and is there to understand them by."""

    def __call__(self, turns: Sequence[Turn], context: Sequence[Turn]) -> Sequence[Extracted]: ...
