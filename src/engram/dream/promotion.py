"""Memories move to the layer that use has brought them to (M13): what was in mind settles, an event that is asked for again and
again is knowledge, and knowledge that was an event and faded is one again.

Use leaves no trace in the log of changes, so what may move is looked at again by the calendar: at twice its age, which is some
ten times in three years.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from engram.dream.job import Desk, Job, Page
from engram.rules.lifecycle import Layer, Sort, layer_of, moved, sort_of
from engram.rules.strength import retention
from engram.settings import Settings
from engram.types import Memory
from engram.values.dreams import Cursor, Proposal, Recheck, SetLayer

NAME = "promote"
_SOONEST = timedelta(days=1)
_SETTLES = timedelta(minutes=30)


def page(desk: Desk, cursor: Cursor) -> Page:
    touched = desk.touched_or_due(NAME, cursor)
    return touched.page([one for memory in touched.memories for one in revisions(memory, desk.now, desk.settings)])


def revisions(memory: Memory, now: datetime, settings: Settings) -> list[Proposal]:
    """Where it belongs by now, if that is elsewhere, and when to look again."""
    if not _may_move(memory):
        return []
    there = moved(memory, now, retention(memory, now, settings))
    placed: list[Proposal] = [] if there is None else [SetLayer(memory.id, there.value)]
    age = timedelta(0) if memory.learned_at is None else now - memory.learned_at
    soonest = _SETTLES if there is None and layer_of(memory) is Layer.WORKING else _SOONEST
    return [*placed, Recheck(memory.id, now + max(age, soonest))]


def _may_move(memory: Memory) -> bool:
    """Events, and what was put below where it belongs; what is pinned stays."""
    return not memory.pinned and (sort_of(memory) is Sort.NARRATIVE or layer_of(memory) in (Layer.WORKING, Layer.EPISODIC))


PROMOTE = Job(NAME, "Move memories to the layer that use has brought them to.", page, light=True)
