"""What was just said: the last turns as they came, in memory only (§3, tier 1).

A turn that has aged is handed on to working memory, and so is one that is pushed out before that; each once. An aged turn stays
until it is pushed out: "change that to blue" may come after a minute's thought.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from engram.frozen import frozen
from engram.types import Turn


@frozen
class Heard:
    """A turn and when it came; `known` if the vault has heard it too."""

    turn: Turn
    at: datetime
    known: bool = False


@frozen
class Ring:
    """The last turns, oldest first; the first `handed` of them have been handed on."""

    turns: tuple[Heard, ...] = ()
    handed: int = 0

    @property
    def just_said(self) -> Turn | None:
        """The last turn: no search, no store."""
        return self.turns[-1].turn if self.turns else None


def hear(ring: Ring, turn: Turn, now: datetime, capacity: int, known: bool = False) -> tuple[Ring, tuple[Heard, ...]]:
    """The ring with one more turn, and what it pushed out that had not been handed on."""
    turns = (*ring.turns, Heard(turn, now, known))
    over = max(len(turns) - capacity, 0)
    return Ring(turns[over:], max(ring.handed - over, 0)), turns[ring.handed : over]


def ripen(ring: Ring, now: datetime, after_s: float) -> tuple[Ring, tuple[Heard, ...]]:
    """Hand on what is `after_s` old or older."""
    limit = now - timedelta(seconds=after_s)
    ripe = ring.handed
    while ripe < len(ring.turns) and ring.turns[ripe].at <= limit:
        ripe += 1
    return Ring(ring.turns, ripe), ring.turns[ring.handed : ripe]
