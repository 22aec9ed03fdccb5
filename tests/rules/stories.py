"""Episodes for tests, and a vault to record them in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hand_clock import HandClock
from recall.vaults import KEY

import engram
from engram.engine import Engram
from engram.types import Memory
from engram.values.episodes import Episode, EpisodeEvent, EpisodeOutcome

START = datetime(2026, 1, 1, 9, tzinfo=UTC)


def event(type: str, text: str = "", ok: bool | None = None) -> EpisodeEvent:
    return EpisodeEvent(START, type, text, ok=ok)


def did(*texts: str) -> tuple[EpisodeEvent, ...]:
    return tuple(event("did", text) for text in texts)


def story(
    goal: str,
    events: Sequence[EpisodeEvent] = (),
    outcome: EpisodeOutcome = EpisodeOutcome.SUCCESS,
    result: str = "",
    number: int = 0,
    minutes: float = 10.0,
    **context: str,
) -> Episode:
    began = START + timedelta(hours=number)
    memory = Memory(text=goal, id=f"E{number}", attributes=context)
    return Episode(memory, goal, outcome, result, 0.0, began, began + timedelta(minutes=minutes), tuple(events))


def open_story(path: Path, clock: HandClock, **more: Any) -> Engram:
    settings = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False}
    return engram.open(path / "vault", key=KEY, agent="rex", settings=settings, clock=clock.now, **more)
