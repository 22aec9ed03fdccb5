"""Opening a vault: crashes are noticed, and a read-only vault is released like any other."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from store.vaults import KEY, OWNER, database_key

from engram.env import Env
from engram.errors import DiskFull, EngramError
from engram.rules.store_rules import MemoryRules
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.folder import VaultFolder
from engram.store.sqlite.gate import Gate
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.vault import VaultHandle, open_vault
from engram.types import Memory, Reader

ME = Reader()
OpenStore = Callable[..., SqliteStore]


def read_only_store(folder: VaultFolder) -> tuple[SqliteStore, VaultHandle]:
    """As `open_vault` makes it on a medium that cannot be written; here by hand, because root can write anywhere."""
    env = Env()
    opened = VaultHandle(folder, database_key(), bytearray(b"a" * 32), VaultLock(folder.lock, env), read_only=True)
    live = LiveSettings({}, monotonic=env.monotonic)
    return SqliteStore(Gate(opened, live, env, MemoryRules(live))), opened


def test_closing_a_read_only_vault_releases_files_and_keys(open_store: OpenStore, folder: VaultFolder) -> None:
    made = open_store()
    made.memories.add(ME, [Memory(text="a")])
    made.close()
    store, opened = read_only_store(folder)
    assert [m.text for m in store.memories.page(ME, limit=5)] == ["a"]
    store.close()
    store.close()
    assert set(opened.key._material) == {0}
    assert set(opened.audit_key) == {0}
    with pytest.raises(EngramError, match="closed"):
        store.memories.page(ME, limit=5)


def test_a_read_only_vault_can_be_read_and_not_written(
    open_store: OpenStore, folder: VaultFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = open_store()
    kept = made.memories.add(ME, [Memory(text="a")])[0]
    made.close()
    monkeypatch.setattr(VaultFolder, "has_room_to_write", lambda self: False)
    before = folder.database.read_bytes()
    store, _ = read_only_store(folder)
    assert store.memories.get(ME, [kept.id]) == [kept]
    assert [hit.key for hit in store.text.search(ME, ["a"], limit=5)] == [kept.key]
    with pytest.raises(DiskFull):
        store.memories.add(ME, [Memory(text="b")])
    with pytest.raises(DiskFull):
        store.erasure.erase(ME, [kept.id])
    assert store.health.report(ME).writes == "read-only"
    assert not store.health.backup_due()
    assert isinstance(store.audit.select(ME, limit=5), list)
    store.close()
    assert folder.database.read_bytes() == before


CRASH = """
import os, sys
from pathlib import Path
from engram.env import Env
from engram.crypto.keys import MasterKey
from engram.settings import LiveSettings
from engram.rules.store_rules import MemoryRules
from engram.store.sqlite.vault import Credentials, open_vault
from engram.types import Memory, Reader
env = Env()
live = LiveSettings({}, monotonic=env.monotonic)
key = Credentials(lambda: MasterKey(bytearray.fromhex(sys.argv[2])))
store, _ = open_vault(Path(sys.argv[1]), live, env, MemoryRules(live), key)
store.memories.add(Reader(), [Memory(text="acknowledged")])
os._exit(9)
"""


def test_a_crash_is_reported_once_and_no_acknowledged_write_is_lost(open_store: OpenStore, folder: VaultFolder) -> None:
    assert subprocess.run([sys.executable, "-c", CRASH, str(folder.path), KEY.hex()], timeout=120).returncode == 9
    store = open_store()
    assert store.health.report(OWNER).crashed_before
    assert any("did not close" in warning for warning in store.health.report(OWNER).warnings)
    assert [m.text for m in store.memories.page(ME, limit=5)] == ["acknowledged"]
    store.close()
    again = open_store()
    assert not again.health.report(OWNER).crashed_before
    assert [m.text for m in again.memories.page(ME, limit=5)] == ["acknowledged"]


def test_opening_a_vault_while_another_process_writes_does_not_report_a_crash(open_store: OpenStore) -> None:
    first = open_store()
    first.memories.add(ME, [Memory(text="a")])
    assert not open_store().health.report(OWNER).crashed_before


def test_a_vault_is_not_created_if_its_key_cannot_be_stored(tmp_path: Path) -> None:
    def keeping(*place: str) -> LiveSettings:
        return LiveSettings({"key_source": "file", "key_file": str(tmp_path.joinpath(*place))}, monotonic=Env().monotonic)

    (tmp_path / "file").touch()
    nowhere, inside, somewhere = keeping("file", "vault.key"), keeping("vault", "vault.key"), keeping("vault.key")
    for settings in (nowhere, inside):
        with pytest.raises(EngramError):
            open_vault(tmp_path / "vault", settings, Env(), MemoryRules(settings), Credentials())
        assert not (tmp_path / "vault").exists()

    (tmp_path / "vault").mkdir()  # somebody's own
    with pytest.raises(EngramError):
        open_vault(tmp_path / "vault", nowhere, Env(), MemoryRules(nowhere), Credentials())
    assert {entry.name for entry in (tmp_path / "vault").iterdir()} <= {"vault.lock"}

    store, _ = open_vault(tmp_path / "vault", somewhere, Env(), MemoryRules(somewhere), Credentials())
    store.close()
    assert (tmp_path / "vault" / ".gitignore").read_text() == "*\n"
