"""The vault as a folder: the modes of its files, and foreign files that are left alone."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from store.vaults import OWNER, sqlite_store

from engram.errors import NotFound, VaultDamaged
from engram.store.folder import VaultFolder, neutralise, write_private
from engram.types import Memory, Reader

posix_only = pytest.mark.skipif(os.name != "posix", reason="file modes of POSIX")


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ── the folder ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@posix_only
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_of_a_vaults_files_may_read_them(folder: VaultFolder, umask: int) -> None:
    old = os.umask(umask)
    try:
        store = sqlite_store(folder.path)
        store.memories.add(Reader(), [Memory(text="a")])
        store.memories.page(Reader(), limit=1)
        store.health.backup(OWNER)
        files = [path for path in folder.path.rglob("*") if path.is_file()]
        assert {"vault.db", "vault.db-wal", "vault.db-shm", "vault.toml", "vault.lock"} <= {path.name for path in files}
        assert {path.name: oct(rights(path)) for path in files if rights(path) != 0o600} == {}
        assert {rights(path) for path in (folder.path, folder.backups)} == {0o700}
        store.close()
        assert all(rights(path) == 0o600 for path in folder.path.rglob("*") if path.is_file())
    finally:
        os.umask(old)


@posix_only
def test_a_folder_that_was_open_to_others_is_closed_to_them(folder: VaultFolder) -> None:
    folder.path.mkdir(mode=0o755)
    sqlite_store(folder.path).close()
    assert rights(folder.path) == 0o700


def test_a_vaults_folder_has_markers_for_git_and_for_indexers(folder: VaultFolder) -> None:
    sqlite_store(folder.path).close()
    assert (folder.path / ".gitignore").read_text() == "*\n"
    assert (folder.path / ".nomedia").exists()
    assert (folder.path / ".noindex").exists()


def test_a_folder_with_unrelated_files_is_not_made_a_vault(folder: VaultFolder) -> None:
    folder.path.mkdir()
    (folder.path / "thesis.txt").write_text("years of work")
    before = folder.path.stat().st_mode
    with pytest.raises(NotFound, match="other files") as caught:
        sqlite_store(folder.path)
    assert "thesis" not in str(caught.value)
    assert [path.name for path in folder.path.iterdir()] == ["thesis.txt"]
    assert folder.path.stat().st_mode == before


def test_unrelated_files_may_be_added_to_a_vault_later(folder: VaultFolder) -> None:
    sqlite_store(folder.path).close()
    (folder.path / ".DS_Store").write_text("")
    sqlite_store(folder.path).close()


@pytest.mark.parametrize("below", ["", "below", "far/below"])
def test_a_file_in_place_of_the_folder_is_named_in_the_error(folder: VaultFolder, below: str) -> None:
    folder.path.write_text("I am a file")
    with pytest.raises(NotFound, match="is a file"):
        sqlite_store(folder.path / below)
    assert folder.path.read_text() == "I am a file"


def test_a_vault_is_made_in_a_folder_that_holds_only_the_markers(folder: VaultFolder) -> None:
    """An interrupted creation leaves such a folder."""
    folder.make()
    (folder.path / ".gitignore.new").write_text("")
    folder.newborn.write_bytes(b"half a database")
    store = sqlite_store(folder.path)
    store.memories.add(Reader(), [Memory(text="a")])
    store.close()


def test_a_database_without_its_header_is_not_replaced_by_a_new_vault(folder: VaultFolder) -> None:
    sqlite_store(folder.path).close()
    folder.header.unlink()
    before = folder.database.read_bytes()
    with pytest.raises(VaultDamaged, match=r"vault\.toml"):
        sqlite_store(folder.path)
    assert folder.database.read_bytes() == before


def test_a_header_without_its_database_is_not_replaced_by_a_new_vault(folder: VaultFolder) -> None:
    sqlite_store(folder.path).close()
    folder.database.unlink()
    with pytest.raises(VaultDamaged, match="restore-backup"):
        sqlite_store(folder.path)
    assert not folder.database.exists()


def test_an_interrupted_creation_is_finished_by_the_next_open(folder: VaultFolder) -> None:
    sqlite_store(folder.path).close()
    folder.database.rename(folder.newborn)
    store = sqlite_store(folder.path)
    store.memories.add(Reader(), [Memory(text="a")])
    assert folder.database.exists()
    assert not folder.newborn.exists()
    store.close()


# ── files ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@posix_only
def test_write_private_replaces_a_file_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o666)
    (tmp_path / "file.new").write_text("left behind")
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert rights(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_neutral_dates_are_set_on_files_that_exist_and_missing_files_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("x")
    neutralise(path)
    assert path.stat().st_mtime == path.stat().st_atime == 86_400
    neutralise(tmp_path / "missing")


def test_a_log_that_is_removed_meanwhile_counts_as_missing(tmp_path: Path) -> None:
    folder, asked = VaultFolder(tmp_path), threading.Event()

    def come_and_go() -> None:
        while not asked.is_set():
            folder.wal.write_bytes(b"log")
            folder.wal.unlink()

    other = threading.Thread(target=come_and_go)
    other.start()
    try:
        assert {folder.has_log for _ in range(20_000)} <= {True, False}
    finally:
        asked.set()
        other.join()
    assert not folder.has_log
