"""Shared by all tests: an environment without this machine's home, settings and keychain, and a clock driven by hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hand_clock import HandClock
from hypothesis import settings

from engram.env import Env

# Before numpy is loaded: the threads of BLAS wait for each other busily, and beside other programs a decomposition of a large
# matrix takes six times the CPU and eight times the time that one thread takes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# `ci` is the default: the same examples on every run, so that a red build is red again at home. `search` looks for new
# ones: HYPOTHESIS_PROFILE=search pytest.
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100, database=None)
settings.register_profile("search", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def own_world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's user reaches a test, and nothing of a test reaches them; child processes inherit it."""
    world = tmp_path_factory.mktemp("world")
    for name in list(os.environ):
        if name.startswith("ENGRAM_"):
            monkeypatch.delenv(name)
    for name, folder in {
        "HOME": "home",
        "USERPROFILE": "home",
        "XDG_CONFIG_HOME": "home/.config",
        "XDG_DATA_HOME": "home/.local/share",
        "XDG_CACHE_HOME": "home/.cache",
        "XDG_STATE_HOME": "home/.local/state",
    }.items():
        (world / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.setenv(name, str(world / folder))
    monkeypatch.setenv("ENGRAM_CONFIG", str(world / "config" / "config.toml"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")


@pytest.fixture
def config_file(own_world: None) -> Path:
    """The configuration file of this test; not there until the test writes it."""
    path = Path(os.environ["ENGRAM_CONFIG"])
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def env(clock: HandClock) -> Env:
    return Env(now=clock.now, monotonic=clock.monotonic, sleep=clock.sleep)
