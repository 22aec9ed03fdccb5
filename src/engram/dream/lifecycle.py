"""What has faded is put away (K3, K5): guesses that nobody bore out after 30 days, slight events after 90. `restore` brings them
back.

How strong a memory is follows from its dates, its uses and the moment (`rules/strength.py`): nothing is written for time that
passes. When a memory would be let go of, if nobody used it again, is worked out once, when it is new or changes; a pass looks
at what fell due since the last one, and not at all that is old. What was used meanwhile gets another date.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from engram.dream.job import Desk, Job, Page
from engram.rules.lifecycle import expired
from engram.settings import Settings
from engram.types import Memory
from engram.values.dreams import Archive, Cursor, Proposal, Recheck

_NAME = "fade"
_FURTHEST = timedelta(days=3650)
_PRECISE = timedelta(hours=6)


def page(desk: Desk, cursor: Cursor) -> Page:
    """What changed gets its date; what is due is put away, or gets another one."""
    touched = desk.touched_or_due(_NAME, cursor)
    return touched.page([one for memory in touched.memories for one in _fate(memory, desk)])


def lasts_until(memory: Memory, now: datetime, settings: Settings) -> datetime | None:
    """The moment from which it may be put away if nobody uses it again, to a quarter of a day; None if that is not in sight.

    Being let go of is for good: whatever `expired` asks for only grows with time, so that the moment is found by halving.
    """
    early, late = now, now + _FURTHEST
    if not expired(memory, late, settings):
        return None
    while late - early > _PRECISE:
        middle = early + (late - early) / 2
        early, late = (early, middle) if expired(memory, middle, settings) else (middle, late)
    return late


def _fate(memory: Memory, desk: Desk) -> tuple[Proposal, ...]:
    why = expired(memory, desk.now, desk.settings)
    if why:
        return Archive(memory.id, why), Recheck(memory.id, None)
    return (Recheck(memory.id, lasts_until(memory, desk.now, desk.settings)),)


FADE = Job(_NAME, "Put away what has faded and what nobody bore out.", page, light=True)
