"""What the tests of the store share: a folder, and vaults in it that are closed in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from store.vaults import sqlite_store

from engram.env import Env
from engram.store.folder import VaultFolder
from engram.store.sqlite.store import SqliteStore


@pytest.fixture
def folder(tmp_path: Path) -> VaultFolder:
    return VaultFolder(tmp_path / "vault")


@pytest.fixture
def open_store(folder: VaultFolder) -> Iterator[Callable[..., SqliteStore]]:
    """Open the test's vault, as often as wanted; in real time unless `env` is given."""
    opened: list[SqliteStore] = []

    def do(env: Env | None = None, *, tuning: Iterable[object] = (), **settings: object) -> SqliteStore:
        opened.append(sqlite_store(folder.path, env, tuning=tuning, **settings))
        return opened[-1]

    yield do
    for store in opened:
        store.close()
