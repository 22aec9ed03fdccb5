"""The job that rehearses important memories before they fade (K10, §44.2), and lets those overlaid by newer ones fade faster.

A rehearsal restores half of a memory's retention and lengthens its half-life, as in spaced repetition, so that the next one is
due later; after a few rehearsals without use it may fade. Emotional memories are rehearsed sooner (§45, contract 1).
Interference: an event very similar to a newer and stronger one loses half of its half-life, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from engram.dream.edges import Neighbour, neighbours
from engram.dream.job import Job, JobContext, JobPage, by_scope
from engram.dream.limits import DreamLimits
from engram.rules.lifecycle import Layer, RetentionPolicy, Verification, layer_of, retention_policy, verification
from engram.rules.strength import fades, falls_below_at, strength
from engram.settings import Settings
from engram.types import Memory
from engram.values.dreams import Cursor, Proposal, Recheck, Rehearse, Reweigh
from engram.values.episodes import rehearsal_attributes, rehearsals_of
from engram.values.frozen import replace

NAME = "replay"
_RISK = 0.35
"""Retention below which a memory is rehearsed; below a quarter an event is stale."""
_IMPORTANT, _OFTEN_USED, _AROUSING = 0.7, 5, 0.6
_AROUSAL_RISK = 0.1  # added to `_RISK` for emotional memories
_OVERLAID = 0.5  # strength of an overlaid memory
_OVERLAY_CLOSENESS = 1.6
"""Multiple of the closeness at which memories are linked: the same thing on another day."""
_CANDIDATES = 6
_EVENTS = (Layer.WORKING, Layer.EPISODIC)


def page(context: JobContext, cursor: Cursor) -> JobPage:
    touched = context.touched_or_due(NAME, cursor)
    rehearsed = [
        proposal for memory in touched.memories for proposal in proposals(memory, context.now, context.limits, context.settings)
    ]
    return touched.page([*rehearsed, *_interfering(context, touched.memories)])


def proposals(memory: Memory, now: datetime, limits: DreamLimits, settings: Settings) -> list[Proposal]:
    """Return a rehearsal if the memory is about to fade, and the date on which it will be next."""
    if not is_worth_rehearsing(memory, limits):
        return []
    risk = _RISK + (_AROUSAL_RISK if memory.affect.arousal > _AROUSING else 0.0)
    at = falls_below_at(memory, risk, now, settings)
    if at is None or at > now:
        return [Recheck(memory.id, at)]
    times = rehearsals_of(memory)[0] + 1
    after = replace(memory, attributes={**memory.attributes, **rehearsal_attributes(times, now)})
    again = falls_below_at(after, risk, now, settings) if times < limits.dream_rehearsals else None
    return [Rehearse(memory.id, times), Recheck(memory.id, again)]


def is_worth_rehearsing(memory: Memory, limits: DreamLimits) -> bool:
    """True for an event that is important, used or helpful, not disputed, and not rehearsed too often already."""
    matters = memory.importance >= _IMPORTANT or memory.accesses >= _OFTEN_USED or memory.helpful > 0
    doubted = memory.flagged or verification(memory) is Verification.DISPUTED
    is_event = fades(memory) and layer_of(memory) in _EVENTS
    return matters and is_event and not doubted and rehearsals_of(memory)[0] < limits.dream_rehearsals


def _interfering(context: JobContext, memories: Iterable[Memory]) -> list[Reweigh]:
    """Return the loss of strength of older memories by interference of these."""
    overlaid: dict[str, Reweigh] = {}
    for group in by_scope(memories):
        neighbours_of = neighbours(context, group, _CANDIDATES) if context.index is not None else {}
        for memory in group:
            for older in _overlaid(memory, neighbours_of.get(memory.id, ()), context):
                overlaid[older.id] = Reweigh(older.id, strength=_OVERLAID)
    return list(overlaid.values())


def _overlaid(newer: Memory, near: Sequence[Neighbour], context: JobContext) -> list[Memory]:
    return [
        neighbour.memory
        for neighbour in near
        if neighbour.nearer >= _OVERLAY_CLOSENESS * context.limits.dream_nearer
        and overlays(newer, neighbour.memory, context.now, context.limits, context.settings)
    ]


def overlays(newer: Memory, older: Memory, now: datetime, limits: DreamLimits, settings: Settings) -> bool:
    """True if the newer memory interferes with the older one, given that they are very similar."""
    if newer.learned_at is None or older.learned_at is None or newer.learned_at <= older.learned_at:
        return False
    event = fades(older) and retention_policy(older) is not RetentionPolicy.PROTECTED and layer_of(older) in _EVENTS
    free = older.strength > _OVERLAID and not is_worth_rehearsing(older, limits)
    return event and free and strength(newer, now, settings) > strength(older, now, settings)


REPLAY = Job(NAME, "Rehearse important memories before they fade; weaken those that newer ones overlay.", page, light=True)
