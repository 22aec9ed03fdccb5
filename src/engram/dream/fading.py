"""What has faded is put away (K3, K5): guesses that nobody bore out after 30 days, slight events after 90. `restore` brings them
back.

How strong a memory is follows from its dates, its uses and the moment (`memory/strength.py`): nothing is written for time that
passes. When a memory would be let go of, if nobody used it again, is worked out once, when it is new or changes; a pass looks
at what fell due since the last one, and not at all that is old. What was used meanwhile gets another date.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from engram.dream.job import PAGE, Desk, Job, Page
from engram.memory.lifecycle import expired
from engram.passes import Archive, Cursor, Due, Revision
from engram.settings import Settings
from engram.types import Memory

_FURTHEST = timedelta(days=3650)
_PRECISE = timedelta(hours=6)


def page(desk: Desk, cursor: Cursor) -> Page:
    """What changed gets its date; when that is done, what is due is looked at."""
    touched = desk.touched(cursor)
    if touched.memories or touched.more:
        return Page(_looked_at(touched.memories, desk), touched.cursor, more=True, since=touched.since, visited=touched.visited)
    due = desk.store.due(desk.reader, FADE.name, desk.now, PAGE)
    return Page(_looked_at(due, desk), touched.cursor, more=len(due) == PAGE, since=touched.since, visited=len(due))


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


def _looked_at(memories: Sequence[Memory], desk: Desk) -> tuple[Revision, ...]:
    return tuple(one for memory in memories for one in _fate(memory, desk))


def _fate(memory: Memory, desk: Desk) -> tuple[Revision, ...]:
    why = expired(memory, desk.now, desk.settings)
    if why:
        return Archive(memory.id, why), Due(memory.id, None)
    return (Due(memory.id, lasts_until(memory, desk.now, desk.settings)),)


FADE = Job("fade", "Put away what has faded and what nobody bore out.", page, light=True)
