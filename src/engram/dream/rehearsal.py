"""What matters and is about to fade is rehearsed (K10, §44.2), and what newer memories overlay fades faster.

A rehearsal gives back half of a memory's strength and makes it last longer, as spaced repetition does, so that the next one is
due later; after some of them that nobody used, it may fade. What stirs is rehearsed sooner (§45, contract 1). Interference: an
event that is very like a newer and stronger one gets in its way, and loses half of its half-life, once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from engram.dream.edges import Near, neighbours
from engram.dream.job import Desk, Job, Page, by_scope
from engram.rules.lifecycle import Keeping, Layer, Verification, keeping, layer_of, verification
from engram.rules.strength import fades, sinks_below, strength
from engram.settings import Settings
from engram.types import Memory
from engram.values.dreams import Cursor, Proposal, Recheck, Rehearse, Reweigh
from engram.values.episodes import rehearsal_attributes, rehearsals_of
from engram.values.frozen import replace

NAME = "replay"
_RISK = 0.35
"""What is left of a memory that is about to fade: an event with less than a quarter is stale."""
_MATTERS, _USED, _STIRS = 0.7, 5, 0.6
_SOONER = 0.1
_OVERLAID = 0.5
_ALIKE = 1.6
"""Times as near as what is linked: the same thing on another day."""
_ASKED = 6
_EVENTS = (Layer.WORKING, Layer.EPISODIC)


def page(desk: Desk, cursor: Cursor) -> Page:
    touched = desk.touched_or_due(NAME, cursor)
    rehearsed = [one for memory in touched.memories for one in revisions(memory, desk.now, desk.settings)]
    return touched.page([*rehearsed, *_interfering(desk, touched.memories)])


def revisions(memory: Memory, now: datetime, settings: Settings) -> list[Proposal]:
    """Rehearse it if it is at risk, and say when it will be next."""
    if not is_worth(memory, settings):
        return []
    risk = _RISK + (_SOONER if memory.affect.arousal > _STIRS else 0.0)
    at = sinks_below(memory, risk, now, settings)
    if at is None or at > now:
        return [Recheck(memory.id, at)]
    times = rehearsals_of(memory)[0] + 1
    after = replace(memory, attributes={**memory.attributes, **rehearsal_attributes(times, now)})
    again = sinks_below(after, risk, now, settings) if times < settings.dream_rehearsals else None
    return [Rehearse(memory.id, times), Recheck(memory.id, again)]


def is_worth(memory: Memory, settings: Settings) -> bool:
    """Events that matter, were asked for or helped, and that nobody doubts; each a few times."""
    counts = memory.importance >= _MATTERS or memory.accesses >= _USED or memory.helpful > 0
    doubted = memory.flagged or verification(memory) is Verification.DISPUTED
    known = fades(memory) and layer_of(memory) in _EVENTS and not doubted
    return counts and known and rehearsals_of(memory)[0] < settings.dream_rehearsals


def _interfering(desk: Desk, memories: Iterable[Memory]) -> list[Reweigh]:
    """What older memories lose by these."""
    overlaid: dict[str, Reweigh] = {}
    for here in by_scope(memories):
        near = neighbours(desk, here, _ASKED) if desk.index is not None else {}
        for memory in here:
            for older in _overlaid(memory, near.get(memory.id, ()), desk.now, desk.settings):
                overlaid[older.id] = Reweigh(older.id, strength=_OVERLAID)
    return list(overlaid.values())


def _overlaid(newer: Memory, near: Sequence[Near], now: datetime, settings: Settings) -> list[Memory]:
    return [
        one.memory for one in near if one.nearer >= _ALIKE * settings.dream_nearer and overlays(newer, one.memory, now, settings)
    ]


def overlays(newer: Memory, older: Memory, now: datetime, settings: Settings) -> bool:
    """Does this one get in the way of that, which is so like it?"""
    if newer.learned_at is None or older.learned_at is None or newer.learned_at <= older.learned_at:
        return False
    event = fades(older) and keeping(older) is not Keeping.PROTECTED and layer_of(older) in _EVENTS
    free = older.strength > _OVERLAID and not is_worth(older, settings)
    return event and free and strength(newer, now, settings) > strength(older, now, settings)


REPLAY = Job(NAME, "Rehearse what matters and is about to fade; what newer memories overlay fades faster.", page, light=True)
