"""An observer of the file system sees sizes in coarse steps, one date, and nothing of single writes (V11)."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import pytest
from promises.children import Nursery
from promises.vaults_at_hand import OWNER, open_vault, store_of, word

from engram.errors import VaultLocked
from engram.store.limits import StoreLimits
from engram.types import Memory

BUCKET = 512 * 1024
NEUTRAL = 86_400 * 10**9


def sizes(path: Path) -> tuple[int, int]:
    log = path / "vault.db-wal"
    return (path / "vault.db").stat().st_size, log.stat().st_size if log.exists() else -1


def dated(path: Path) -> dict[str, tuple[int, int]]:
    """Return files that show another date than the neutral one. By stat only: opening a file would touch it."""
    found = {}
    for file in path.rglob("*"):
        if file.is_file():
            stat = file.stat()
            if (stat.st_atime_ns, stat.st_mtime_ns) != (NEUTRAL, NEUTRAL):
                found[str(file.relative_to(path))] = (stat.st_atime_ns, stat.st_mtime_ns)
    return found


def soon_neutral(path: Path, patience_s: float = 60.0) -> dict[str, tuple[int, int]]:
    """Wait until the writer has reset the dates, which it does after it has answered; return the files that keep another."""
    deadline = time.monotonic() + patience_s
    while (found := dated(path)) and time.monotonic() < deadline:
        time.sleep(0.005)
    return found


def test_single_writes_do_not_show_in_the_size_of_a_file(path: Path) -> None:
    """V11: 200 memories one by one, over four sessions: whole buckets only, rarely a new one, a log of constant length."""
    open_vault(path).close()
    seen, logs = [sizes(path)[0]], set()
    for session in range(4):
        with open_vault(path) as mem:
            mem.remember(f"{word(session, 'first')} of the session")
            logs.add(sizes(path)[1])
            for number in range(50):
                mem.remember(f"{word(number, f's{session}')} " + "z" * (number * 7 % 300))
                database, log = sizes(path)
                seen.append(database)
                logs.add(log)
        seen.append(sizes(path)[0])
        assert sizes(path)[1] == -1, "the log outlived the session"
    assert {size % BUCKET for size in seen} == {0}
    changes = sum(a != b for a, b in itertools.pairwise(seen))
    assert changes <= 4, "the size follows the writes"
    assert len(logs) == 1, f"the log changes its length with the writes: {sorted(logs)}"


def test_updates_erasures_and_batches_keep_the_database_at_a_multiple_of_the_bucket_size(path: Path) -> None:
    """V11: after every write."""
    with open_vault(path) as mem:
        store = store_of(mem)
        for number in range(20):
            kept = store.memories.add(OWNER, [Memory(text=f"{word(n, str(number))} " + "z" * 400) for n in range(25)])
            mem.update(kept[0].id, text=f"{word(number, 'new')} " + "y" * 3000)
            mem.forget(kept[1].id, kept[2].id, erase=True)
            assert sizes(path)[0] % BUCKET == 0
    assert sizes(path)[0] % BUCKET == 0


def test_the_file_shrinks_by_buckets_when_much_is_erased(path: Path) -> None:
    """V10, V11: on closing, and never to a size between two buckets."""
    with open_vault(path) as mem:
        store = store_of(mem)
        kept = store.memories.add(OWNER, [Memory(text=f"{word(n, 'big')} " + "z" * 6000) for n in range(500)])
    large = sizes(path)[0]
    with open_vault(path) as mem:
        mem.forget(*(memory.id for memory in kept), erase=True)
    small = sizes(path)[0]
    assert small < large
    assert small % BUCKET == large % BUCKET == 0


def test_two_vaults_with_the_same_writes_do_not_grow_at_the_same_write(tmp_path: Path) -> None:
    """V11: the free room that triggers growth is random, so that growth does not count the writes."""
    moments = set()
    for number in range(5):
        path = tmp_path / f"vault-{number}"
        with open_vault(path, tuning=[StoreLimits(size_jitter_kib=1024)]) as mem:
            start = sizes(path)[0]
            for count in range(120):
                mem.remember(f"{word(count, 'same')} " + "z" * 8_000)
                if sizes(path)[0] != start:
                    break
            moments.add(count)
    assert len(moments) > 1


def test_files_show_a_neutral_date_after_a_write_and_after_closing(path: Path) -> None:
    """V11: database, log, lock, header and the rest, whether the session wrote or only read."""
    with open_vault(path) as mem:
        for number in range(5):
            mem.list()
            mem.remember(f"{word(number, 'date')} said")
            assert soon_neutral(path) == {}
        mem.backup()
        mem.remember("after the backup")
        assert soon_neutral(path) == {}
    assert dated(path) == {}
    with open_vault(path) as mem:
        mem.list()
    assert dated(path) == {}, "a session that only read shows when it was"


def test_files_show_a_neutral_date_after_an_open_with_a_wrong_key(path: Path) -> None:
    """V11: nobody learns when a key was tried."""
    open_vault(path).close()
    for file in path.rglob("*"):
        os.utime(file, ns=(NEUTRAL, NEUTRAL))
    with pytest.raises(VaultLocked):
        open_vault(path, key=bytes(32))
    assert dated(path) == {}


def test_the_log_keeps_its_length_when_another_process_comes_and_goes(children: Nursery, path: Path) -> None:
    """V11, V8: a process that closes must not truncate the log of one that stays, whose writes would then show."""
    with open_vault(path) as mem:
        mem.remember("first")
        before = sizes(path)[1]
        children.run("come_and_go", path=str(path), name="guest", rounds=2)
        lengths = set()
        for number in range(10):
            mem.remember(f"{word(number, 'stay')} said")
            lengths.add(sizes(path)[1])
        assert lengths == {before}


def test_no_file_name_of_a_vault_depends_on_its_memories(path: Path) -> None:
    """V11: no name in the vault has a word, a date or a count of memories in it."""
    with open_vault(path) as mem:
        mem.remember(f"{word(0, 'named')} said", category=word(0, "category"))
        mem.backup()
        names = {str(file.relative_to(path)) for file in path.rglob("*")}
    known = {
        ".gitignore",
        ".nomedia",
        ".noindex",
        "vault.db",
        "vault.db-wal",
        "vault.db-shm",
        "vault.toml",
        "vault.lock",
        "vault.turn",
        "vault.fill",
    }
    assert names - known == {"backups", "backups/000001.db", "backups/000001.toml"}
