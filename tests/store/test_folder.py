"""The vault as a folder: its header, the modes of its files, and foreign files that are left alone."""

from __future__ import annotations

import os
import stat
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store.vaults import OWNER, quick_folder, sqlite_store

from engram.crypto.key_sources import KeyHeader
from engram.crypto.keys import Kdf
from engram.errors import EncryptionFailed, EngramError, NotFound, VaultDamaged, VaultTooNew
from engram.store.folder import Header, VaultFolder, _table, neutralise, read_header, write_header, write_private
from engram.store.sqlite.store import SqliteStore
from engram.types import Memory, Reader

KEY_HEADER = KeyHeader("01JVAULT", "file", "0123456789abcdef")
WRAPPED = KeyHeader("v", "passphrase", "0123456789abcdef", Kdf("scrypt", b"s" * 16, {"log_n": 14, "lanes": 1}), b"w" * 60)
PIECES = ["\n", "\r", "\r\n", "\t", " ", '"', "#", "# ", "[", "]", "=", ".", "0", "-", "_", "é", "\\", "x = 1\n", "\n[key]\n",
          "[a]\n", "\u2028", "\x85", "\x0b", "\x00", "\x7f", "\ufeff"]  # fmt: skip
posix_only = pytest.mark.skipif(os.name != "posix", reason="file modes of POSIX")


@pytest.fixture
def header(tmp_path: Path) -> Path:
    path = tmp_path / "vault.toml"
    write_header(path, Header("aegis", KEY_HEADER))
    return path


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# ── the header ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("key", [KEY_HEADER, WRAPPED])
@pytest.mark.parametrize("cipher", ["aegis", "sqlcipher"])
def test_a_header_comes_back_as_it_was_written(tmp_path: Path, key: KeyHeader, cipher: str) -> None:
    path = tmp_path / "vault.toml"
    write_header(path, Header(cipher, key))
    assert read_header(path) == Header(cipher, key)
    write_header(path, Header(cipher, KEY_HEADER))  # over an older one
    assert read_header(path).key == KEY_HEADER
    assert sorted(p.name for p in tmp_path.iterdir()) == ["vault.toml"]


@given(position=st.integers(0, 10_000), value=st.integers(1, 255))
def test_a_flipped_byte_in_the_header_is_damage_or_changes_nothing(position: int, value: int) -> None:
    with quick_folder() as place:
        path = place / "vault.toml"
        write_header(path, Header("aegis", WRAPPED))
        whole = bytearray(path.read_bytes())
        whole[position % len(whole)] ^= value
        path.write_bytes(whole)
        try:
            assert read_header(path) == Header("aegis", WRAPPED)  # a comment or a space
        except VaultDamaged as error:
            assert error.code == "E1002"  # noqa: PT017


@given(st.integers(0, 10_000))
def test_a_header_cut_short_is_damage(length: int) -> None:
    with quick_folder() as place:
        path = place / "vault.toml"
        write_header(path, Header("aegis", WRAPPED))
        whole = path.read_bytes()
        path.write_bytes(whole[: length % (len(whole) - 1)])
        with pytest.raises(VaultDamaged):
            read_header(path)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 99,
        b"\xff\xfe",
        b"format = 1\n",
        b"format = 'x'\n",
        b"[key]\n",
        b"format = 1\nkey = 3\n",
        b"= =",
        b"a = " + b"[" * 9999,
    ],
)
def test_a_file_that_is_not_a_header_is_damage(header: Path, content: bytes) -> None:
    header.write_bytes(content)
    with pytest.raises(VaultDamaged, match="backups"):
        read_header(header)


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(PIECES)), min_size=1, max_size=4))
def test_a_header_is_read_as_any_toml_is(changes: list[tuple[int, str]]) -> None:
    text = '# Engram vault.\nformat = 1\ncipher = "aegis"\n\n[key]\nsalt = "00ff"\nlanes = 4\n'
    for place, piece in changes:
        text = text[: place % len(text)] + piece + text[place % len(text) :]
    try:
        wanted: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(tomllib.TOMLDecodeError):
            _table(text)
    else:
        assert _table(text) == wanted


def test_a_missing_header_says_where_to_find_another(tmp_path: Path) -> None:
    with pytest.raises(VaultDamaged, match="backups"):
        read_header(tmp_path / "vault.toml")


def test_an_unreadable_header_raises_an_engram_error(tmp_path: Path) -> None:
    (tmp_path / "vault.toml").mkdir()
    with pytest.raises(EngramError):
        read_header(tmp_path / "vault.toml")


def test_a_header_of_a_later_format_is_refused_with_its_version(tmp_path: Path) -> None:
    path = tmp_path / "vault.toml"
    write_header(path, Header("aegis", KEY_HEADER, format=7))
    with pytest.raises(VaultTooNew, match="format 7") as caught:
        read_header(path)
    assert caught.value.code == "E1007"


def test_a_header_of_a_later_format_with_a_wrong_checksum_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "vault.toml"
    write_header(path, Header("aegis", KEY_HEADER))
    path.write_text(path.read_text().replace("format = 1", "format = 7"))
    with pytest.raises(VaultDamaged):
        read_header(path)


def test_an_unknown_cipher_in_the_header_is_refused(open_store: Callable[..., SqliteStore], folder: VaultFolder) -> None:
    open_store().close()
    header = read_header(folder.header)
    write_header(folder.header, Header("rot13", header.key))
    with pytest.raises(EncryptionFailed, match="rot13"):
        open_store()


def test_the_header_holds_no_secret(open_store: Callable[..., SqliteStore], folder: VaultFolder) -> None:
    open_store().close()
    assert bytes(range(32)).hex() not in folder.header.read_text()


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
