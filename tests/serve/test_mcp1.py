"""A client of the MCP SDK 1, in an environment of its own, against our server: hosts that were not updated have it.

The environment is made once from hashes (`mcp1.lock`) and kept in pytest's cache; where no registry can be reached these
tests are skipped with that reason.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE_S, wait_until
from serve.talking import SERVER, world
from serve.test_mcp_http import serving

import engram
from engram.types import Reader, Role, Scope

HERE = Path(__file__).parent
CLIENT = HERE / "mcp1_client.py"
CORE = 10

pytestmark = pytest.mark.slow  # creates an environment from the package registry


@pytest.fixture(scope="session")
def python_of_old(pytestconfig: pytest.Config) -> Path:
    """Return the interpreter that has the SDK 1 and nothing else."""
    lock = HERE / "mcp1.lock"
    name = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()[:16]
    cache = pytestconfig.cache
    assert cache is not None
    folder = cache.mkdir("mcp1") / name
    if not folder.exists():
        _make(folder, lock)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def _make(folder: Path, lock: Path) -> None:
    """Make the environment in a temporary folder and rename it, so that a parallel run never sees half of one."""
    made = Path(tempfile.mkdtemp(dir=folder.parent)) / "venv"
    venv.create(made, symlinks=os.name != "nt")
    python = made / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install"]
    want = [*pip, "--quiet", "--no-compile", "--only-binary=:all:", "--require-hashes", "--requirement", str(lock)]
    try:
        done = subprocess.run([*want, "--retries=1", "--timeout=10"], capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        pytest.skip("no client of the MCP SDK 1: the package registry did not answer in time")
    if done.returncode:
        if "hash" in done.stderr.lower():
            pytest.fail(f"the lock of the MCP SDK 1 does not fit what the registry has: {done.stderr[-300:]}")
        pytest.skip("no client of the MCP SDK 1: the package registry cannot be reached")
    if not folder.exists():
        made.rename(folder)


def told(python: Path, vault: Path, *arguments: str) -> dict[str, Any]:
    ran = subprocess.run([python, CLIENT, *arguments], capture_output=True, text=True, timeout=120, env=_bare(vault))
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout)
    return found


def _bare(vault: Path) -> dict[str, str]:
    """Return the environment of the client, without our modules: only the server that it starts has them."""
    return {name: value for name, value in world(vault).items() if name not in ("PYTHONPATH", "PYTHONHOME")}


def ours() -> list[str]:
    """Return the command with which the client starts the server, with the modules of this run."""
    return ["env", f"PYTHONPATH={os.pathsep.join(sys.path)}", *SERVER]


def is_whole(found: dict[str, Any]) -> None:
    assert found["server"] == "engram"
    assert found["protocol"] == "2025-11-25"
    assert len(found["tools"]) == CORE
    assert found["described"]
    assert found["kept"]["text"] == "The API runs on Fly.io in Frankfurt"
    assert [hit["memory"]["text"] for hit in found["found"]["hits"]] == ["The API runs on Fly.io in Frankfurt"]
    assert "Frankfurt" in found["text"]
    assert found["wrong"][0] is True
    assert "E2004" in found["wrong"][1]
    assert "memory://recent" in found["resources"]


def test_an_old_client_over_standard_input(python_of_old: Path, tmp_path: Path) -> None:
    is_whole(told(python_of_old, tmp_path / "vault", "stdio", *ours()))


def test_an_old_client_over_http(python_of_old: Path, tmp_path: Path) -> None:
    with engram.open(tmp_path / "vault", settings={"model": "none"}) as opened:
        mem = opened.as_reader(Reader(role=Role.OWNER))
        secret = mem.grant("rex", scope=Scope(agent="rex"), role=Role.AGENT, writes=True).secret
        with serving(mem) as address:
            is_whole(told(python_of_old, tmp_path / "elsewhere", "http", address, secret))


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_old_client_that_is_killed_leaves_no_server(python_of_old: Path, tmp_path: Path) -> None:
    number = tmp_path / "pid"
    start = f"echo $$ > {shlex.quote(str(number))}; exec {shlex.join(ours())}"
    client = subprocess.Popen(
        [python_of_old, CLIENT, "hang", "sh", "-c", start], stdout=subprocess.PIPE, env=_bare(tmp_path / "vault")
    )
    assert client.stdout is not None
    assert b"Frankfurt" in client.stdout.readline()
    server = int(number.read_text())
    assert _alive(server)
    client.send_signal(signal.SIGKILL)
    client.wait(PATIENCE_S)
    client.stdout.close()
    wait_until(lambda: not _alive(server), "the server outlives its client")


def _alive(process: int) -> bool:
    """Return whether the process runs; a zombie does not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
