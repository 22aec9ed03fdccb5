"""Killed anywhere, a pass goes on where it was (kill -9 of a real process)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from dream.vaults import keep, rows
from recall.minds import KEY

import engram
from engram.types import Status

SETTINGS = {
    "model": "none",
    "backup_hours": 0,
    "harden_process": False,
    "close_on_sigterm": False,
    "dream": False,
    "dream_lease_s": 1.0,
    "dream_probes": 10,
}
_PROGRAM = """
import os, signal, sys
import engram
from engram.dream.runner import Progress
sys.path.insert(0, sys.argv[2])
from dream.test_killed import KEY, SETTINGS
pages = int(sys.argv[3])
def tell(progress: Progress) -> None:
    global pages
    pages -= 1
    if pages == 0:
        os.kill(os.getpid(), signal.SIGKILL)
with engram.open(sys.argv[1], key=KEY, agent="rex", settings=SETTINGS) as mem:
    mem.consolidate(jobs=["merge"], progress=tell)
"""


@pytest.mark.parametrize("pages", [1, 2])
def test_a_pass_whose_process_is_killed_goes_on_where_it_was(tmp_path: Path, pages: int) -> None:
    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings=SETTINGS) as mem:
        said = [f"Shelf {number}{also} holds jars of plum jam" for number in range(70) for also in ("", " also")]
        keep(mem, *said)
    killed = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "vault"), str(Path(__file__).parents[1]), str(pages)],
        check=False,
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()

    with engram.open(tmp_path / "vault", key=KEY, agent="rex", settings=SETTINGS) as mem:
        left = mem.dreams()[0]
        mem._vault.env.sleep(1.1)  # until the heart has stopped
        done = mem.consolidate(jobs=["merge"])
        assert done.pass_id == left.id
        assert mem.dreams()[0].counts == {"merge.merged": 70}
        assert len(done.ids) < 70
        assert sum(one.status is Status.MERGED for one in mem.list(limit=500, status=None)) == 70
        kept = rows(mem._vault.store)
        assert not mem.consolidate(jobs=["merge"]).ids
        assert rows(mem._vault.store) == kept
