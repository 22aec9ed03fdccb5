"""Process hardening, observed in child processes, because it cannot be undone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from engram.crypto import hardening

SOURCE = Path(hardening.__file__).parents[2]
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc and prctl")


def run(code: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "PYTHONPATH": str(SOURCE)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=cwd, env=environ, timeout=120, check=False
    )


def answer(code: str) -> str:
    done = run(code)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@linux_only
def test_a_hardened_process_is_not_dumpable_and_has_no_core_limit() -> None:
    code = """
import ctypes, resource
from engram.crypto.hardening import harden
notes = harden()
print(notes, ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE))
"""
    assert answer(code) == "() 0 (0, 0)"


@linux_only
def test_a_hardened_process_that_crashes_leaves_no_core_file(tmp_path: Path) -> None:
    crash = """
import os, resource
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
from engram.crypto.hardening import harden
{step}
os.abort()
"""
    open_folder, closed_folder = tmp_path / "open", tmp_path / "closed"
    open_folder.mkdir()
    closed_folder.mkdir()
    assert run(crash.format(step=""), open_folder).returncode < 0
    if not any(open_folder.iterdir()):
        pytest.skip("this machine writes no core files into the working folder")
    assert run(crash.format(step="harden()"), closed_folder).returncode < 0
    assert list(closed_folder.iterdir()) == []


@linux_only
def test_a_raised_core_limit_alone_does_not_bring_dumps_back(tmp_path: Path) -> None:
    code = """
import os, resource
from engram.crypto import hardening
hardening._forbid_attaching()
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
os.abort()
"""
    assert run(code, tmp_path).returncode < 0
    assert list(tmp_path.iterdir()) == []


def test_hardening_twice_reports_the_same_as_once() -> None:
    assert answer("from engram.crypto.hardening import harden; print(harden() == harden())") == "True"


def test_a_platform_without_hardening_is_reported_without_an_error() -> None:
    code = """
import sys
sys.platform = "win32"
from engram.crypto import hardening
print(len(hardening.harden()), hardening.lock_buffer(bytearray(32)), hardening.unlock_buffer(bytearray(32)))
"""
    assert answer(code) == "2 False None"


@linux_only
def test_a_locked_page_stays_locked_until_its_last_buffer_is_unlocked() -> None:
    code = """
import re
from engram.crypto.hardening import lock_buffer, unlock_buffer
def locked():
    return int(re.search(r"VmLck:\\s+(\\d+)", open("/proc/self/status").read())[1])
page = bytearray(32)
shown = [locked(), lock_buffer(page), locked() > 0, lock_buffer(page)]
unlock_buffer(page)
shown.append(locked() > 0)
unlock_buffer(page)
print(*shown, locked())
"""
    assert answer(code) == "0 True True True True 0"


@linux_only
def test_a_lock_over_the_system_limit_returns_false() -> None:
    code = """
import os, resource
from engram.crypto.hardening import lock_buffer
resource.setrlimit(resource.RLIMIT_MEMLOCK, (0, 0))
if os.getuid() == 0:
    os.setuid(65534)
print(lock_buffer(bytearray(32)))
"""
    assert answer(code) == "False"


def test_an_empty_buffer_has_nothing_to_lock() -> None:
    assert hardening.lock_buffer(bytearray()) is False
    hardening.unlock_buffer(bytearray())


@linux_only
def test_resident_memory_grows_with_allocations() -> None:
    code = """
from engram.crypto.hardening import rss_bytes
before = rss_bytes()
ballast = bytearray(b"x" * (64 << 20))
held = rss_bytes()
del ballast
print(1 << 20 < before < 512 << 20, 60 << 20 < held - before < 200 << 20, rss_bytes() < held)
"""
    assert answer(code) == "True True True"


@pytest.mark.skipif(sys.platform == "win32", reason="no getrusage")
def test_without_proc_the_peak_memory_is_returned() -> None:
    assert hardening._peak_rss_bytes() > 1 << 20
