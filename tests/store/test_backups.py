"""Backups are made daily, three are kept and can be restored; checks find damage; both are the owner's."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import apsw
import pytest
from hand_clock import HandClock
from store.vaults import CREDENTIALS, OWNER, database_key

from engram.env import Env
from engram.errors import AccessDenied, EngramError, NotFound
from engram.settings import LiveSettings, Settings
from engram.store.folder import VaultFolder
from engram.store.sqlite import backups, migrations
from engram.store.sqlite.store import SqliteStore
from engram.store.sqlite.vault import open_exclusively
from engram.types import Backup, Memory, Reader, Scope

ME = Reader(Scope(agent="rex"))
DAY = 86_400.0
OpenStore = Callable[..., SqliteStore]


def keep(store: SqliteStore, *texts: str) -> list[Memory]:
    return store.memories.add(ME, [Memory(text=text, scope=ME.scope) for text in texts])


def restore(folder: VaultFolder, env: Env, number: int | None = None) -> Backup:
    live = LiveSettings({}, monotonic=env.monotonic)
    with open_exclusively(folder.path, live, env, CREDENTIALS) as (place, key):
        return backups.restore(place, key, number, live.now)


def test_a_backup_is_due_a_day_after_the_last_if_something_changed(open_store: OpenStore, env: Env, clock: HandClock) -> None:
    store = open_store(env)
    assert not store.health.backup_due()  # nothing is in it yet
    keep(store, "a")
    assert store.health.backup_due()
    store.health.backup(OWNER)
    assert not store.health.backup_due()
    clock.advance(2 * DAY)
    assert not store.health.backup_due()  # nothing changed
    keep(store, "b")
    assert store.health.backup_due()
    store.health.backup(OWNER)
    keep(store, "c")
    clock.advance(DAY - 1)
    assert not store.health.backup_due()
    clock.advance(1)
    assert store.health.backup_due()


def test_automatic_backups_can_be_switched_off(open_store: OpenStore, env: Env) -> None:
    store = open_store(env, backup_hours=0)
    keep(store, "a")
    assert not store.health.backup_due()


def test_a_clock_that_was_set_back_does_not_stop_backups_for_years(open_store: OpenStore, env: Env, clock: HandClock) -> None:
    store = open_store(env)
    keep(store, "a")
    clock.set(clock.now() + timedelta(days=3650))
    store.health.backup(OWNER)
    clock.set(clock.now() - timedelta(days=3650))
    keep(store, "b")
    clock.advance(2 * DAY)
    assert store.health.backup_due()


def test_the_three_newest_backups_are_kept_and_each_reports_its_size(
    open_store: OpenStore, env: Env, clock: HandClock, folder: VaultFolder
) -> None:
    store = open_store(env)
    for n in range(5):
        keep(store, f"number {n}")
        clock.advance(DAY)
        made = store.health.backup(OWNER)
        assert (made.memories, made.made_at, made.intact) == (n + 1, clock.now(), True)
    listed = store.health.backups(OWNER)
    assert [(b.number, b.memories) for b in listed] == [(5, 5), (4, 4), (3, 3)]
    assert [b.made_at for b in listed] == [clock.now() - timedelta(days=n) for n in range(3)]
    wanted = [f"{n:06d}.{end}" for n in (3, 4, 5) for end in ("db", "toml")]
    assert sorted(p.name for p in folder.backups.iterdir()) == wanted
    health = store.health.report(OWNER)
    assert (health.backups, health.last_backup) == (3, clock.now())


def test_a_backup_has_a_copy_of_the_header_that_opens_it(open_store: OpenStore, env: Env, folder: VaultFolder) -> None:
    store = open_store(env)
    keep(store, "a")
    made = store.health.backup(OWNER)
    assert made.path.with_suffix(".toml").read_bytes() == folder.header.read_bytes()
    assert not made.path.read_bytes().startswith(b"SQLite format 3")


def test_readers_and_writers_go_on_during_a_backup(open_store: OpenStore) -> None:
    import threading

    store = open_store()
    keep(store, *(f"number {n}" for n in range(500)))
    stop = threading.Event()
    trouble: list[BaseException] = []

    def use() -> None:
        n = 0
        while not stop.is_set():
            n += 1
            try:
                keep(store, f"meanwhile {n}")
                store.memories.page(ME, limit=10)
            except BaseException as error:
                trouble.append(error)
                return

    thread = threading.Thread(target=use)
    thread.start()
    made = [store.health.backup(OWNER) for _ in range(4)]
    stop.set()
    thread.join(120)
    assert trouble == []
    assert all(backup.intact and backup.memories >= 500 for backup in made)


def test_the_newest_or_a_chosen_backup_is_restored_and_the_old_database_kept(
    open_store: OpenStore, env: Env, folder: VaultFolder
) -> None:
    store = open_store(env)
    keep(store, "one")
    store.health.backup(OWNER)
    keep(store, "two")
    store.health.backup(OWNER)
    keep(store, "three")
    store.close()

    def texts() -> list[str]:
        store = open_store(env)
        found = sorted(m.text for m in store.memories.page(ME, limit=9))
        assert store.text.search(ME, ["one"], limit=9)
        assert store.health.check(OWNER) == []
        keep(store, "scratch")  # it can be written
        store.close()
        return found

    assert restore(folder, env).number == 2
    assert texts() == ["one", "two"]
    assert restore(folder, env, 1).number == 1
    assert texts() == ["one"]
    assert len(list(folder.backups.glob("replaced-*.db"))) == 2


@pytest.mark.parametrize("number", [0, 7, -1])
def test_restoring_an_unknown_backup_is_not_found_and_changes_nothing(
    open_store: OpenStore, env: Env, folder: VaultFolder, number: int
) -> None:
    store = open_store(env)
    keep(store, "a")
    store.health.backup(OWNER)
    store.close()
    before = folder.database.read_bytes()
    with pytest.raises(NotFound):
        restore(folder, env, number)
    assert folder.database.read_bytes() == before


def test_a_damaged_backup_is_reported_and_skipped(open_store: OpenStore, env: Env, folder: VaultFolder) -> None:
    store = open_store(env)
    keep(store, "a")
    store.health.backup(OWNER)
    keep(store, "b")
    newest = store.health.backup(OWNER).path
    whole = bytearray(newest.read_bytes())
    whole[100] ^= 1
    newest.write_bytes(whole)
    (folder.backups / "000009.db").write_bytes(b"no database at all")
    (folder.backups / "notes.db").write_bytes(b"not ours")
    assert [(b.number, b.intact) for b in store.health.backups(OWNER)] == [(9, False), (2, False), (1, True)]
    store.close()
    assert restore(folder, env).number == 1
    with pytest.raises(NotFound):
        restore(folder, env, 2)


def test_a_damaged_backup_does_not_count_among_those_kept(open_store: OpenStore, env: Env, folder: VaultFolder) -> None:
    """Garbage files with high numbers must not displace every good backup."""
    store = open_store(env)
    keep(store, "a")
    folder.backups.mkdir()
    for number in (7, 8, 9):
        (folder.backups / f"{number:06d}.db").write_bytes(b"rubbish")
    made = store.health.backup(OWNER)
    assert made.path.exists()
    assert made.intact


def test_backups_and_checks_are_reserved_for_the_owner(open_store: OpenStore) -> None:
    store = open_store()
    for call in (store.health.backup, store.health.backups, store.health.check):
        with pytest.raises(AccessDenied):
            call(ME)


def test_a_failed_backup_raises_an_engram_error_and_leaves_no_file(open_store: OpenStore, folder: VaultFolder) -> None:
    store = open_store()
    keep(store, "a")
    folder.backups.write_text("a file where the folder should be")
    with pytest.raises(EngramError):
        store.health.backup(OWNER)
    keep(store, "b")
    assert store.health.backup_due()


def test_a_check_finds_nothing_in_a_sound_vault_and_notices_a_wrong_text_index(open_store: OpenStore) -> None:
    store = open_store()
    keep(store, "a")
    assert store.health.check(OWNER) == []


def test_an_erasure_reports_that_older_backups_hold_the_memory(open_store: OpenStore) -> None:
    store = open_store()
    kept = keep(store, "secret", "also secret")
    assert store.erasure.erase(ME, [kept[0].id]).notes == ()
    store.health.backup(OWNER)
    assert any("1 backup made" in note for note in store.erasure.erase(ME, [kept[1].id]).notes)


def test_a_restore_is_refused_while_the_vault_is_open(open_store: OpenStore, env: Env, folder: VaultFolder) -> None:
    store = open_store(env)
    keep(store, "a")
    store.health.backup(OWNER)
    with pytest.raises(EngramError) as caught:
        restore(folder, env)
    assert caught.value.code == "E1006"


def test_maintenance_uses_the_key_it_was_given(open_store: OpenStore, env: Env, folder: VaultFolder) -> None:
    store = open_store(env)
    keep(store, "a")
    store.health.backup(OWNER)
    assert [b.intact for b in backups.backups(folder, database_key())] == [True]
    wrong = database_key()
    wrong.wipe()
    assert [b.intact for b in backups.backups(folder, wrong)] == [False]
    assert Settings().backups_kept == 3


def test_mending_a_vault_saves_every_table() -> None:
    """A table that is added later must be saved too."""
    fresh = apsw.Connection(":memory:")
    migrations.migrate(fresh, Env().now())
    made = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'lexicon%' AND name NOT LIKE 'sqlite_%'"
    tables = {str(row[0]) for row in fresh.execute(made)}
    assert tables - {name for name, _ in backups._TABLES} == {"schema_version", "padding"}
