"""The schedule of automatic passes (K13). A pass is due if dreaming is switched on, the vault was idle for a while, and either a
pass is unfinished, or the last one is long enough ago and something was stored, changed or fell due since. Checking costs a few
small reads.

The store ensures one pass at a time across processes (`begin_pass`); the vault stops a pass between two pages.
"""

from __future__ import annotations

from datetime import timedelta

from engram.dream.job import JobContext
from engram.dream.jobs import CONSOLIDATE, light_jobs
from engram.values.dreams import PassStatus
from engram.values.frozen import frozen


@frozen
class Idle:
    """The time of the last use and the current time, by a monotonic clock."""

    used_at: float
    now: float


def verb_due(context: JobContext, idle: Idle) -> str:
    """Return the verb that is due; empty if none is. An unfinished dream is resumed as a dream."""
    settings = context.settings
    if not settings.dream or idle.now - idle.used_at < settings.dream_idle_s:
        return ""
    return context.store.dreams.unfinished(context.reader) or (CONSOLIDATE if _consolidation_due(context) else "")


def _consolidation_due(context: JobContext) -> bool:
    last = next(iter(context.store.dreams.select(context.reader, limit=1)), None)
    if last is not None and last.ending is PassStatus.RUNNING:
        return True  # another reader's: unfinished, or still running
    every = timedelta(hours=context.settings.dream_every_h)
    if last is not None and abs(context.now - last.began_at) < every:  # abs: the clock may have been set back
        return False
    latest = context.store.changes.latest(context.reader)
    behind = any(context.store.dreams.cursor(context.reader, job.name).change < latest > 0 for job in light_jobs())
    return behind or any(context.store.dreams.due(context.reader, job.name, context.now, 1) for job in light_jobs())
