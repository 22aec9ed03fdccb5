"""A pass killed after any page is resumed where it was (kill -9 of real processes)."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from dream.vaults import keep, rows
from recall.vaults import KEY

from engram.dream.limits import DreamLimits
from engram.engine import Engram
from engram.store.limits import StoreLimits
from engram.types import Status
from engram.values.dreams import PassStatus

SETTINGS = {
    "agent": "rex",
    "model": "none",
    "backup_hours": 0,
    "harden_process": False,
    "close_on_sigterm": False,
    "dream": False,
}
_PROGRAM = """
import os, signal, sys
from engram.dream.runner import Progress
sys.path.insert(0, sys.argv[2])
from dream.test_killed import opened
def tell(progress: Progress) -> None:
    os.kill(os.getpid(), signal.SIGKILL)
with opened(sys.argv[1]) as mem:
    mem.consolidate(jobs=["merge"], progress=tell)
"""


def opened(path: Path | str) -> Engram:
    return Engram.open(path, key=KEY, settings=SETTINGS, tuning=[StoreLimits(dream_lease_s=1.0), DreamLimits(dream_probes=10)])


def test_a_pass_whose_process_is_killed_resumes_where_it_was(tmp_path: Path) -> None:
    with opened(tmp_path / "vault") as mem:
        keep(mem, *(f"Shelf {number}{also} holds jars of plum jam" for number in range(70) for also in ("", " also")))
    for _ in range(2):
        killed = subprocess.run(
            [sys.executable, "-c", _PROGRAM, str(tmp_path / "vault"), str(Path(__file__).parents[1])],
            check=False,
            capture_output=True,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
        time.sleep(1.1)  # until its lease has expired

    with opened(tmp_path / "vault") as mem:
        [left] = mem.dreams()
        done = mem.consolidate(jobs=["merge"])
        assert (left.ending, done.pass_id) == (PassStatus.RUNNING, left.id)
        assert 0 < len(done.ids) < 70
        assert mem.dreams()[0].counts == {"merge.merged": 70}
        assert sum(one.status is Status.MERGED for one in mem.list(limit=500, status=None)) == 70
        kept = rows(mem._vault.store)
        assert not mem.consolidate(jobs=["merge"]).ids
        assert rows(mem._vault.store) == kept
