"""What the tests of dreams share: a vault on words alone whose clock is turned by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hand_clock import HandClock
from recall.minds import KEY

import engram
from engram.engine import Engram


@pytest.fixture
def mem(tmp_path: Path, clock: HandClock) -> Iterator[Engram]:
    given = {"model": "none", "backup_hours": 0, "harden_process": False, "close_on_sigterm": False, "dream": False}
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings=given, clock=clock.now) as mem:
        yield mem
