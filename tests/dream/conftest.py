"""Fixtures of the dream tests: vaults with a manual clock, without an encoder and with one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hand_clock import HandClock
from recall.vaults import KEY, NO_PAIRS

import engram
from engram.dream.limits import DreamLimits
from engram.engine import Engram
from engram.models.embedders import hashing_embedder

FILLING = [
    f"{a} {b} stands by the {c}"
    for a in ["Red", "Blue", "Green", "Grey"]
    for b in ["cow", "pig", "hen", "fox"]
    for c in ["mill", "barn", "gate", "ford"]
]


@pytest.fixture
def mem(tmp_path: Path, clock: HandClock) -> Iterator[Engram]:
    given = {
        "model": "none",
        "backup_hours": 0,
        "harden_process": False,
        "close_on_sigterm": False,
        "dream": False,
        "ram_warning_mib": 100_000,  # never reached, however large the test process
        "ram_critical_mib": 200_000,
    }
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings=given, clock=clock.now) as mem:
        mem.settings.tune(DreamLimits(dream_probes=12), NO_PAIRS)
        yield mem


@pytest.fixture
def filled(tmp_path: Path, clock: HandClock) -> Iterator[Engram]:
    """A vault with enough memories to measure closeness, and a loaded index."""
    given = {"backup_hours": 0, "harden_process": False, "close_on_sigterm": False, "dream": False}
    embedder = hashing_embedder()
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings=given, clock=clock.now, embedder=embedder) as mem:
        mem.settings.tune(DreamLimits(dream_probes=12), NO_PAIRS)
        for text in FILLING:
            mem.remember(text)
        assert mem.warm()
        yield mem
