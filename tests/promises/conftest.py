"""What the promises share: child processes, and vaults whose key and owner are known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from promises.children import Nursery


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def children(nursery: Nursery) -> Iterator[Nursery]:
    """Start programs of `programs.py`; whatever still runs when the test is over is killed."""
    yield nursery
    nursery.clear()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a test's vault goes; nothing is there yet."""
    return tmp_path / "vault"
