"""When an open vault consolidates by itself (K13): it is switched on, nobody asked for a while, memory is not short, the last
pass is long enough ago, and something was kept or changed, or has fallen due, since. Asking for that takes a few small reads.

One pass at a time in all processes is the store's to hold (`begin_pass`); stopping between two pages is the vault's.
"""

from __future__ import annotations

from datetime import timedelta

from engram.dream.job import Desk
from engram.dream.jobs import light
from engram.frozen import frozen
from engram.passes import Ending


@frozen
class Idle:
    """When somebody last asked and what time it is, by a clock that only goes forward, and how short memory is."""

    used_at: float
    now: float
    pressure: str = "normal"


def is_time(desk: Desk, idle: Idle) -> bool:
    settings = desk.settings
    if not settings.dream or idle.pressure == "critical" or idle.now - idle.used_at < settings.dream_idle_s:
        return False
    last = next(iter(desk.store.passes(desk.reader, limit=1)), None)
    if last is not None and last.ending is Ending.RUNNING:
        return True  # left behind by a process that ended, unless another one is at it
    if last is not None and abs(desk.now - last.began_at) < timedelta(hours=settings.dream_every_h):  # a clock may be put right
        return False
    latest = desk.store.latest_change(desk.reader)
    behind = any(desk.store.reach(desk.reader, job.name).change < latest > 0 for job in light())
    return behind or any(desk.store.due(desk.reader, job.name, desk.now, 1) for job in light())
