"""File sizes in buckets and neutral dates hide the writes, at no cost of durability."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pytest
from store.vaults import connect, database_key

from engram.env import Env
from engram.settings import Settings
from engram.store.folder import VaultFolder
from engram.store.limits import StoreLimits
from engram.store.sqlite import connection as opening
from engram.store.sqlite.padding import Padding
from engram.store.sqlite.store import SqliteStore
from engram.types import Memory, Reader

BUCKET = 512 * 1024
NEUTRAL = 86_400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.db"


@pytest.fixture
def connection(path: Path) -> Iterator[apsw.Connection]:
    connection = opening.connect_to_write(path, database_key(), synchronous="full", cache_kib=1024)
    connection.execute("CREATE TABLE padding (key INTEGER PRIMARY KEY, bytes BLOB NOT NULL); CREATE TABLE t (words)")
    yield connection
    connection.close()


def make_padding(jitter: int = 64, bucket: int = 512, dice: Callable[[int], bytes] | None = None) -> Padding:
    env = Env() if dice is None else Env(random=dice)
    return Padding(lambda: Settings(size_bucket_kib=bucket, write_patience_s=0.1), env, StoreLimits(size_jitter_kib=jitter))


def size(connection: apsw.Connection) -> int:
    return int(connection.execute("PRAGMA page_count").get) * 4096


def free(connection: apsw.Connection) -> int:
    return int(connection.execute("PRAGMA freelist_count").get)


def write(connection: apsw.Connection, padding: Padding, length: int) -> None:
    with connection:
        connection.execute("INSERT INTO t VALUES (zeroblob(?))", (length,))
        padding.pad(connection)


def test_the_database_ends_at_a_bucket_boundary_after_every_commit(connection: apsw.Connection) -> None:
    padding = make_padding()
    sizes = []
    for n in range(200):
        write(connection, padding, 100 + 37 * n)
        sizes.append(size(connection))
        assert connection.execute("SELECT count(*) FROM padding").get == 0
    assert {one % BUCKET for one in sizes} == {0}
    assert sizes == sorted(sizes)
    assert 1 < len(set(sizes)) < 10


@pytest.mark.parametrize("length", [1, 4096, BUCKET - 1, BUCKET, 3 * BUCKET + 17])
def test_the_database_ends_at_a_bucket_boundary_after_a_large_write(connection: apsw.Connection, length: int) -> None:
    write(connection, make_padding(), length)
    assert size(connection) % BUCKET == 0
    assert size(connection) <= length + 3 * BUCKET


def test_a_rollback_undoes_the_padding(connection: apsw.Connection) -> None:
    write(connection, make_padding(), 10)
    before = size(connection)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO t VALUES (zeroblob(?))", (BUCKET,))
    make_padding().pad(connection)
    connection.execute("ROLLBACK")
    assert size(connection) == before


def test_the_write_at_which_the_database_grows_is_random(path: Path, tmp_path: Path) -> None:
    """With equal writes, another random number grows the file at another write."""

    def grew_at(lot: int) -> int:
        place = tmp_path / f"{lot}.db"
        connection = opening.connect_to_write(place, database_key(), synchronous="normal", cache_kib=1024)
        connection.execute("CREATE TABLE padding (key INTEGER PRIMARY KEY, bytes BLOB NOT NULL); CREATE TABLE t (words)")
        padding = make_padding(jitter=256, dice=lambda n: lot.to_bytes(n, "big"))
        write(connection, padding, 1)
        first = size(connection)
        for n in range(200):
            write(connection, padding, 3000)
            if size(connection) != first:
                connection.close()
                return n
        raise AssertionError("never grew")

    assert len({grew_at(lot) for lot in (0, 20, 40, 60)}) > 1


def test_padding_to_buckets_can_be_switched_off(connection: apsw.Connection) -> None:
    padding = make_padding(bucket=0)
    before = size(connection)
    write(connection, padding, 10)
    assert padding.bucket == 0
    assert size(connection) - before < BUCKET
    with connection:
        connection.execute("DELETE FROM t")
        padding.shrink(connection)
    assert free(connection) == 0


def test_the_database_shrinks_by_whole_buckets_and_keeps_some_room(connection: apsw.Connection) -> None:
    padding = make_padding()
    write(connection, padding, 8 * BUCKET)
    large = size(connection)
    with connection:
        connection.execute("DELETE FROM t")
        padding.shrink(connection)
    small = size(connection)
    assert small < large - 4 * BUCKET
    assert small % BUCKET == 0
    assert free(connection) >= 64
    with connection:
        padding.shrink(connection)
    assert size(connection) == small


def test_the_log_has_the_same_length_before_the_first_write_as_after_many(connection: apsw.Connection, path: Path) -> None:
    log = path.with_name("a.db-wal")
    padding = make_padding()
    padding.prime(connection, log)
    primed = log.stat().st_size
    assert primed >= 200 * 4096
    for _ in range(20):
        write(connection, padding, 100)
    assert log.stat().st_size == primed
    assert size(connection) % BUCKET == 0


def test_commits_stay_durable_after_the_log_is_primed(connection: apsw.Connection, path: Path) -> None:
    make_padding().prime(connection, path.with_name("a.db-wal"))
    assert connection.execute("PRAGMA synchronous").get == 2


def test_commits_stay_durable_after_priming_the_log_was_interrupted(connection: apsw.Connection, path: Path) -> None:
    """Priming writes without syncing; syncing must be restored even if another process holds the vault meanwhile."""
    other = connect(path)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(apsw.BusyError):
        make_padding().prime(connection, path.with_name("no such log"))
    assert connection.execute("PRAGMA synchronous").get == 2
    other.execute("ROLLBACK")
    other.close()


def test_the_files_of_a_vault_show_a_neutral_date_after_writing_and_closing(
    open_store: Callable[..., SqliteStore], folder: VaultFolder
) -> None:
    store = open_store()
    for n in range(3):
        store.memories.add(Reader(), [Memory(text=f"number {n}")])
    store.close()
    assert {path.name: path.stat().st_mtime for path in folder.path.iterdir() if path.stat().st_mtime != NEUTRAL} == {}
    assert folder.database.stat().st_size % BUCKET == 0


def test_neutral_dates_can_be_switched_off(open_store: Callable[..., SqliteStore], folder: VaultFolder) -> None:
    store = open_store(neutral_times=False)
    store.memories.add(Reader(), [Memory(text="a")])
    store.close()
    assert folder.database.stat().st_mtime != NEUTRAL
