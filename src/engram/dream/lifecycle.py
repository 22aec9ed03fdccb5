"""The job that archives faded memories (K3, K5): uncorroborated guesses after 30 days, minor events after 90. `restore` brings
them back.

The strength of a memory is computed from its dates, its uses and the moment (`rules/strength.py`), so time alone writes nothing.
The date on which a memory may be archived if it is not used again is computed once, when it is new or changed; a pass visits only
memories whose date has come. A memory that was used meanwhile gets a later date.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from engram.dream.job import Job, JobContext, JobPage
from engram.rules.lifecycle import archive_reason
from engram.settings import Settings
from engram.types import Memory
from engram.values.dreams import Archive, Cursor, Proposal, Recheck

_NAME = "fade"
_FURTHEST = timedelta(days=3650)
_PRECISE = timedelta(hours=6)


def page(context: JobContext, cursor: Cursor) -> JobPage:
    """Give changed memories their date; archive those that are due, or give them a later date."""
    touched = context.touched_or_due(_NAME, cursor)
    return touched.page([proposal for memory in touched.memories for proposal in _proposals(memory, context)])


def archive_date(memory: Memory, now: datetime, settings: Settings) -> datetime | None:
    """Return when a memory may be archived if it is not used again, to a quarter of a day; None if not within ten years.

    `archive_reason` never becomes false again with time, so that bisection finds the moment.
    """
    early, late = now, now + _FURTHEST
    if not archive_reason(memory, late, settings):
        return None
    while late - early > _PRECISE:
        middle = early + (late - early) / 2
        early, late = (early, middle) if archive_reason(memory, middle, settings) else (middle, late)
    return late


def _proposals(memory: Memory, context: JobContext) -> tuple[Proposal, ...]:
    reason = archive_reason(memory, context.now, context.settings)
    if reason:
        return Archive(memory.id, reason), Recheck(memory.id, None)
    return (Recheck(memory.id, archive_date(memory, context.now, context.settings)),)


FADE = Job(_NAME, "Archive memories that have faded and guesses that nothing corroborated.", page, light=True)
