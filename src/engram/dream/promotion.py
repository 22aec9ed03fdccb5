"""The job that moves memories between layers by their use (M13): working memories become episodic, often used events become
semantic, and semantic memories that were events become episodic again when they fade.

Use is not in the change log, so that memories which may move are visited again by date: at twice their age, about ten times in
three years.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from engram.dream.job import Job, JobContext, JobPage
from engram.rules.lifecycle import Layer, MemorySort, layer_of, sort_of, target_layer
from engram.rules.strength import retention
from engram.settings import Settings
from engram.types import Memory
from engram.values.dreams import Cursor, Proposal, Recheck, SetLayer

NAME = "promote"
_SOONEST = timedelta(days=1)
_SETTLES = timedelta(minutes=30)


def page(context: JobContext, cursor: Cursor) -> JobPage:
    touched = context.touched_or_due(NAME, cursor)
    return touched.page(
        [proposal for memory in touched.memories for proposal in proposals(memory, context.now, context.settings)]
    )


def proposals(memory: Memory, now: datetime, settings: Settings) -> list[Proposal]:
    """Return the move to another layer, if there is one, and the date of the next visit."""
    if not _may_move(memory):
        return []
    layer = target_layer(memory, now, retention(memory, now, settings))
    moves: list[Proposal] = [] if layer is None else [SetLayer(memory.id, layer.value)]
    age = timedelta(0) if memory.learned_at is None else now - memory.learned_at
    soonest = _SETTLES if layer is None and layer_of(memory) is Layer.WORKING else _SOONEST
    return [*moves, Recheck(memory.id, now + max(age, soonest))]


def _may_move(memory: Memory) -> bool:
    """True for events and for memories in the working or episodic layer, unless they are pinned."""
    return not memory.pinned and (sort_of(memory) is MemorySort.NARRATIVE or layer_of(memory) in (Layer.WORKING, Layer.EPISODIC))


PROMOTE = Job(NAME, "Promote or demote memories between layers by their use.", page, light=True)
