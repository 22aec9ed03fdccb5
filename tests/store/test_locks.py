"""Locks between processes: a lock is held until it is released, whatever else its process opens and closes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from store.vaults import KEY

from engram.env import Env
from engram.errors import EngramError, VaultBusy
from engram.store.folder import VaultFolder
from engram.store.sqlite.locks import VaultLock
from engram.store.sqlite.store import SqliteStore
from engram.types import Memory, Reader

ME = Reader()
OpenStore = Callable[..., SqliteStore]

ELSEWHERE = """
import sys
from pathlib import Path
from engram.env import Env
from engram.errors import EngramError
from engram.crypto.keys import MasterKey
from engram.settings import LiveSettings
from engram.store.sqlite.locks import VaultLock
from engram.rules.store_rules import MemoryRules
from engram.store.sqlite.vault import Credentials, open_vault
from engram.types import Memory, Reader
what, path, key = sys.argv[1:]
env = Env()
if what in ("acquire_exclusive", "acquire_shared"):
    try:
        getattr(VaultLock(Path(path), env), what)(0.0)
        print("got it")
    except EngramError as error:
        print(error.code)
else:
    live = LiveSettings({}, monotonic=env.monotonic)
    store, _ = open_vault(Path(path), live, env, MemoryRules(live), Credentials(lambda: MasterKey(bytearray.fromhex(key))))
    if what == "write":
        store.memories.add(Reader(), [Memory(text="from elsewhere")])
    print(sorted(memory.text for memory in store.memories.page(Reader(), limit=99)))
    store.close()
"""


def elsewhere(what: str, path: Path) -> str:
    """Do it in another process; what it said."""
    arguments = [sys.executable, "-c", ELSEWHERE, what, str(path), KEY.hex()]
    return subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=120).stdout.strip()


def test_a_shared_lock_keeps_out_an_exclusive_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = VaultLock(path, Env())
    lock.acquire_shared(0.0)
    assert elsewhere("acquire_exclusive", path) == "E1006"
    assert elsewhere("acquire_shared", path) == "got it"
    lock.release()
    lock.release()
    assert elsewhere("acquire_exclusive", path) == "got it"


def test_an_exclusive_lock_keeps_out_all_others(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = VaultLock(path, Env())
    lock.acquire_exclusive(0.0)
    assert elsewhere("acquire_exclusive", path) == elsewhere("acquire_shared", path) == "E1006"
    lock.acquire_shared(0.0)  # from exclusive to shared
    assert elsewhere("acquire_shared", path) == "got it"
    assert elsewhere("acquire_exclusive", path) == "E1006"


def test_two_locks_of_one_process_exclude_each_other_too(tmp_path: Path) -> None:
    first, second = VaultLock(tmp_path / "lock", Env()), VaultLock(tmp_path / "lock", Env())
    first.acquire_exclusive(0.0)
    with pytest.raises(VaultBusy):
        second.acquire_shared(0.0)
    assert not second.try_exclusive()
    first.release()
    assert second.try_exclusive()


def test_closing_a_second_descriptor_of_the_lock_file_does_not_release_the_first(tmp_path: Path) -> None:
    """POSIX drops all locks of a process on a file when *any* descriptor of it is closed."""
    path = tmp_path / "lock"
    first, second = VaultLock(path, Env()), VaultLock(path, Env())
    first.acquire_shared(0.0)
    second.acquire_shared(0.0)
    second.release()
    assert elsewhere("acquire_exclusive", path) == "E1006"
    assert not second.try_exclusive()
    assert elsewhere("acquire_exclusive", path) == "E1006"


def test_a_lock_is_waited_for_as_long_as_the_patience_says(tmp_path: Path, env: Env) -> None:
    first, second = VaultLock(tmp_path / "lock", env), VaultLock(tmp_path / "lock", env)
    first.acquire_exclusive(0.0)
    before = env.monotonic()
    with pytest.raises(VaultBusy):
        second.acquire_shared(3.0)
    assert 3.0 <= env.monotonic() - before < 4.0, "on the clock that the test drives"


def test_a_lock_file_that_cannot_be_made_raises_an_engram_error(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    for path in (tmp_path / "lock", tmp_path / "no such folder" / "lock"):
        with pytest.raises(EngramError):
            VaultLock(path, Env()).acquire_shared(0.0)


def test_a_vault_opened_twice_stays_locked_when_one_of_them_is_closed(open_store: OpenStore, folder: VaultFolder) -> None:
    first, second = open_store(), open_store()
    first.memories.add(ME, [Memory(text="one")])
    second.close()
    assert elsewhere("acquire_exclusive", folder.lock) == "E1006"
    first.close()
    assert elsewhere("acquire_exclusive", folder.lock) == "got it"


def test_a_process_that_closes_the_vault_does_not_remove_the_log_of_another(open_store: OpenStore, folder: VaultFolder) -> None:
    """The last process to close checkpoints the log and deletes it; the lock on the database tells which is the last."""
    store = open_store()
    store.memories.page(ME, limit=1)
    store.memories.add(ME, [Memory(text="one")])
    log = folder.wal.stat().st_ino
    assert elsewhere("write", folder.path) == "['from elsewhere', 'one']"
    assert folder.wal.exists()
    assert folder.wal.stat().st_ino == log
    store.memories.add(ME, [Memory(text="two")])
    assert elsewhere("read", folder.path) == "['from elsewhere', 'one', 'two']"


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="Linux shows who holds what")
def test_the_database_stays_locked_as_long_as_it_is_open(open_store: OpenStore, folder: VaultFolder) -> None:
    """SQLite keeps a shared lock on a database in write-ahead mode; opening the file beside it would drop that lock."""
    import os

    def locked() -> bool:
        inode = str(folder.database.stat().st_ino)
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        return any(line[4] == str(os.getpid()) and line[5].endswith(":" + inode) for line in lines if len(line) > 5)

    store = open_store()
    store.memories.page(ME, limit=1)
    assert locked()
    store.memories.add(ME, [Memory(text="one")])
    assert locked()
    other = open_store()
    other.memories.add(ME, [Memory(text="two")])
    assert locked()
    other.close()
    assert locked()
