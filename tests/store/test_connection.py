"""The SQLite binding: one that cannot encrypt is refused, and its errors become Engram's."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from store.vaults import CREDENTIALS, database_key

from engram.crypto.keys import MasterKey
from engram.env import Env
from engram.errors import EncryptionFailed, EngramError, VaultLocked
from engram.rules.store_rules import MemoryRules
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.folder import VaultFolder
from engram.store.sqlite import connection as opening
from engram.store.sqlite.connection import engram_error, require_encryption
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.vault import open_vault
from engram.types import Memory, Reader


def test_the_installed_sqlite_binding_encrypts() -> None:
    require_encryption()


PLAIN = """
import sys, types
import apsw
plain = types.ModuleType("apsw")  # what plain apsw is to us: the same names, but no cipher
plain.__dict__.update({name: value for name, value in vars(apsw).items() if name != "mc_version"})
sys.modules["apsw"] = plain
import engram
try:
    engram.open(sys.argv[1], key=bytes(32))
except engram.EngramError as error:
    print(error)
"""


def test_a_binding_that_cannot_encrypt_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PLAIN, str(tmp_path / "vault")], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("E4002"), done.stderr
    assert "pip install --force-reinstall apsw-sqlite3mc" in done.stdout
    assert list(tmp_path.rglob("vault.db")) == []


@pytest.mark.parametrize("rows", [0, 3])
def test_a_plaintext_database_in_place_of_the_vaults_is_refused_and_not_changed(
    open_store: Callable[..., SqliteStore], folder: VaultFolder, rows: int
) -> None:
    open_store().close()
    folder.database.unlink()
    plain = sqlite3.connect(folder.database)
    plain.execute("CREATE TABLE memories (text)")
    plain.executemany("INSERT INTO memories VALUES (?)", [("in plain sight",)] * rows)
    plain.commit()
    plain.close()
    before = folder.database.read_bytes()
    with pytest.raises(EngramError):
        open_store()
    assert folder.database.read_bytes() == before
    with pytest.raises(EncryptionFailed):
        opening.refuse_plaintext(folder.database)


def test_an_empty_database_in_place_of_the_vaults_is_not_taken_for_a_new_vault(
    open_store: Callable[..., SqliteStore], folder: VaultFolder
) -> None:
    store = open_store()
    store.memories.add(Reader(), [Memory(text="a")])
    store.close()
    folder.database.write_bytes(b"")
    with pytest.raises(EngramError):
        open_store()
    assert folder.database.read_bytes() == b""


def test_a_wrong_key_is_e1001_and_never_gives_an_empty_vault(open_store: Callable[..., SqliteStore], folder: VaultFolder) -> None:
    open_store().close()
    before = folder.database.read_bytes()
    env = Env()
    live = LiveSettings({}, monotonic=env.monotonic)
    wrong = Credentials(lambda: MasterKey(bytearray(b"w" * 32)))
    with pytest.raises(VaultLocked) as caught:
        open_vault(folder.path, live, env, MemoryRules(live), wrong)
    assert caught.value.code == "E1001"
    assert folder.database.read_bytes() == before
    open_vault(folder.path, live, env, MemoryRules(live), CREDENTIALS)[0].close()


@pytest.mark.parametrize("cipher", opening.CIPHERS)
def test_the_first_page_of_the_database_is_not_plaintext(tmp_path: Path, cipher: str) -> None:
    path = tmp_path / "a.db"
    connection = opening.connect_to_write(path, database_key(cipher), synchronous="full", cache_kib=1024)
    connection.execute("CREATE TABLE t (words); INSERT INTO t VALUES ('canary canary canary')")
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()
    assert not path.read_bytes().startswith(b"SQLite format 3")
    assert b"canary" not in path.read_bytes()


def test_the_pragmas_that_the_store_relies_on_are_in_force(tmp_path: Path) -> None:
    connection = opening.connect_to_write(tmp_path / "a.db", database_key(), synchronous="full", cache_kib=1024)
    wanted = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "foreign_keys": 1, "temp_store": 2, "auto_vacuum": 2}
    assert {name: connection.execute(f"PRAGMA {name}").get for name in wanted} == wanted
    assert connection.execute("PRAGMA cache_size").get == -1024
    reader = opening.connect_to_read(tmp_path / "a.db", database_key(), cache_kib=512)
    assert reader.execute("PRAGMA query_only").get == 1
    with pytest.raises(apsw.ReadOnlyError):
        reader.execute("CREATE TABLE t (n)")
    normal = opening.connect_to_write(tmp_path / "a.db", database_key(), synchronous="normal", cache_kib=1024)
    assert normal.execute("PRAGMA synchronous").get == 1


def test_the_repr_of_a_database_key_shows_nothing_and_the_key_can_be_wiped(tmp_path: Path) -> None:
    key = database_key()
    assert key._material.hex() not in repr(key)
    key.wipe()
    assert set(key._material) == {0}


def _error(kind: type[apsw.Error], extended: int = 0) -> apsw.Error:
    error = kind("near 'the canary sings': syntax error")
    error.extendedresult = extended
    return error


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (_error(apsw.FullError), "E1003"),
        (_error(apsw.IOError, apsw.SQLITE_IOERR_WRITE), "E1003"),
        (_error(apsw.IOError, apsw.SQLITE_IOERR_FSYNC), "E1003"),
        (_error(apsw.IOError, apsw.SQLITE_IOERR_TRUNCATE), "E1003"),
        (_error(apsw.ReadOnlyError), "E1003"),
        (_error(apsw.CantOpenError), "E1003"),
        (_error(apsw.PermissionsError), "E1003"),
        (_error(apsw.BusyError), "E1006"),
        (_error(apsw.LockedError), "E1006"),
        (_error(apsw.CorruptError), "E1002"),
        (_error(apsw.NotADBError), "E1002"),
        (_error(apsw.IOError, apsw.SQLITE_IOERR_READ), "E1002"),
        (_error(apsw.ConstraintError), "E4005"),
        (_error(apsw.SQLError), "E1005"),
        (_error(apsw.TooBigError), "E4005"),
    ],
)
def test_every_sqlite_error_becomes_an_engram_error_without_sqlites_text(error: apsw.Error, code: str) -> None:
    told = engram_error(error, "adding")
    assert told.code == code
    assert "canary" not in str(told)
    assert "adding" in str(told)
