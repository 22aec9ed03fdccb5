"""The verbs of limits for callers from the network: rate, delay, coarse scores, and memories that may go into a prompt."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from typing import TypeVar

from engram.deadline import wait_limit
from engram.errors import DiskFull, WriteFailed
from engram.guard import limits
from engram.recall.selection import without_flagged
from engram.types import Memory
from engram.verbs.view import View

T = TypeVar("T")


def ration(view: View, session: str | None = None) -> None:
    """Count a question from the network, over all processes; raise `RateLimited` if there are too many.

    Counted by the minute, and by session if there is one. The rate of an agent stops one that runs away; a guest may be anybody.
    A vault that cannot be written at the moment answers without counting.
    """
    vault = view.vault
    rates = limits.question_rates(vault.live.now, view.reader.role, bool(session))
    if rates.per_minute or rates.per_session:
        with suppress(DiskFull, WriteFailed):
            vault.store.quotas.count_question(view.reader, session or "", vault.env.now(), rates)


def release(view: View, since: float | None = None, timeout: float | None = None) -> float:
    """Delay the answer to a call that began at `since` to the next point of the grid (`answer_grid_ms`); return the time now.

    Times are of the monotonic clock. The delay ends `timeout` seconds after `since` at the latest, or at the current deadline.
    """
    env = view.vault.env
    if since is not None:
        elapsed = env.monotonic() - since
        most = math.inf if timeout is None or not timeout > 0 else timeout - elapsed
        pause = wait_limit(limits.grid_delay(elapsed, view.vault.live.now.answer_grid_ms / 1000, most))
        if pause:
            env.sleep(pause)
    return env.monotonic()


def coarse(view: View, answer: T) -> T:
    """Return an answer as callers from the network get it: scores in steps, with noise if that is set, and no timings."""
    env = view.vault.env
    return limits.coarsen(answer, view.vault.live.now.score_noise, lambda: int.from_bytes(env.random(6)) / (1 << 48))


def sound(view: View, memories: Iterable[Memory]) -> list[Memory]:
    """Return the memories that may go into a prompt, without those that are flagged as attacks."""
    return without_flagged(memories, view.vault.live.now)
