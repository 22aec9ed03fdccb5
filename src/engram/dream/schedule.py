"""When an open vault rests by itself (K13): it is switched on, nobody asked for a while, and a pass was left before its end, or
the last one is long enough ago and something was kept or changed, or has fallen due, since. Asking takes a few small reads.

One pass at a time in all processes is the store's to hold (`begin_pass`); stopping between two pages is the vault's.
"""

from __future__ import annotations

from datetime import timedelta

from engram.dream.job import Desk
from engram.dream.jobs import CONSOLIDATE, light
from engram.values.dreams import PassStatus
from engram.values.frozen import frozen


@frozen
class Idle:
    """When somebody last asked and what time it is, by a clock that only goes forward."""

    used_at: float
    now: float


def verb_due(desk: Desk, idle: Idle) -> str:
    """What it is time for; empty if nothing is. A dream that was left before its end is gone on with as one."""
    settings = desk.settings
    if not settings.dream or idle.now - idle.used_at < settings.dream_idle_s:
        return ""
    return desk.store.left_behind(desk.reader) or (CONSOLIDATE if _wants_one(desk) else "")


def _wants_one(desk: Desk) -> bool:
    last = next(iter(desk.store.passes(desk.reader, limit=1)), None)
    if last is not None and last.ending is PassStatus.RUNNING:
        return True  # left behind by somebody else, unless they are at it
    every = timedelta(hours=desk.settings.dream_every_h)
    if last is not None and abs(desk.now - last.began_at) < every:  # a clock may be put right
        return False
    latest = desk.store.latest_change(desk.reader)
    behind = any(desk.store.reach(desk.reader, job.name).change < latest > 0 for job in light())
    return behind or any(desk.store.due(desk.reader, job.name, desk.now, 1) for job in light())
