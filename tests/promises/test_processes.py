"""Several processes on one vault: nothing is lost, no scope is crossed, no lock stays behind (V1, V6, V8, M11)."""

from __future__ import annotations

import os
import shutil
import time
import tomllib
from pathlib import Path

import pytest
from promises.children import Nursery
from promises.tiers import short_and_long
from promises.vaults_at_hand import OWNER, agent, credentials, halves, inside, open_vault, store_of, word
from recall.vaults import open_engram

from engram.env import Env
from engram.errors import VaultBusy
from engram.settings import LiveSettings
from engram.store.sqlite import migrations
from engram.store.sqlite.maintenance import restore_backup
from engram.store.sqlite.vault import open_exclusively
from engram.types import Scope

NAMES = ["ann", "bob", "cyd", "dee"]


@short_and_long("rounds", 20, 120)
def test_four_processes_that_write_and_read_at_once_lose_nothing_and_cross_no_scope(
    children: Nursery, path: Path, rounds: int
) -> None:
    """V8, M11: each agent sees its own and the global memories only, and every acknowledged row is there at the end."""
    open_vault(path).close()
    crowd = [
        children.start("take_part", path=str(path), name=name, others=[n for n in NAMES if n != name], rounds=rounds)
        for name in NAMES
    ]
    for child in crowd:
        child.line()
    for child in crowd:
        child.tell()
    printed = []
    for child in crowd:
        while not (line := child.line()).get("done"):
            printed.append(line)
    for child in crowd:
        child.tell()
        assert child.rest() == []
        assert child.wait() == 0
    assert [line for line in printed if "leak" in line] == [], "a memory was seen out of its scope"
    texts = {line["id"]: line["text"] for line in printed if "ack" in line}
    with open_vault(path) as mem:
        stored = {memory.id: memory.text for memory in store_of(mem).memories.get(OWNER, list(texts))}
        assert stored == texts
        assert mem.health().counts.memories == len(texts) == 4 * 2 * rounds
        for name in NAMES:
            view = mem.as_reader(agent(name))
            assert view.health().counts.memories == rounds + 4 * rounds
    assert halves(path) == {}
    assert not path.joinpath("vault.db-wal").exists()


def test_a_committed_write_is_in_the_next_read_of_every_other_process(children: Nursery, path: Path) -> None:
    """V8: rows and text search alike, with no waiting in between; private memories stay unseen."""
    with open_vault(path, reader=agent("writer")) as mem:
        watchers = [children.start("see_at_once", path=str(path)) for _ in range(2)]
        for watcher in watchers:
            watcher.line()
        for number in range(20):
            private = number % 4 == 3
            text = f"{word(number, 'seen')} for {'one' if private else 'all'}"
            kept = mem.remember(text, scope=Scope(agent="writer") if private else Scope())
            for watcher in watchers:
                watcher.tell({"id": kept.id, "word": word(number, "seen")})
                seen = watcher.line()
                assert seen == ({"text": None, "hits": []} if private else {"text": text, "hits": [kept.key]})


def test_processes_that_come_and_go_lose_nothing_and_disturb_nobody(children: Nursery, path: Path) -> None:
    """V8: processes open and close (the last one to close removes the log) while others write and one stays open."""
    with open_vault(path) as mem:
        crowd = [children.start("come_and_go", path=str(path), name=name, rounds=12) for name in NAMES[:3]]
        own = [mem.remember(f"{word(number, 'stays')} stays").id for number in range(60)]
        acked = [line["ack"] for child in crowd for line in child.rest()]
        assert [child.wait() for child in crowd] == [0, 0, 0]
        assert len(acked) == 36
        assert len(store_of(mem).memories.get(OWNER, acked + own)) == 96
    assert halves(path) == {}
    with open_vault(path) as mem:
        assert len(store_of(mem).memories.get(OWNER, acked + own)) == 96


def test_no_process_removes_the_log_of_another_that_has_the_vault_open(children: Nursery, path: Path) -> None:
    """V8: SQLite's lock on the database must outlive every other use of the file in the process that holds it.

    POSIX drops all locks of a process on a file when the process closes any descriptor of that file, so a plain
    `open(…).close()` beside SQLite is enough to lose them (sqlite.org/howtocorrupt.html, 2.2).
    """
    with open_vault(path) as mem:
        mem.list()  # a reading connection first; the writing one comes after it
        mem.remember(f"{word(0, 'mine')} mine")
        assert children.run("take_the_log_away", path=str(path)) == [{"mode": "wal"}]
        kept = [mem.remember(f"{word(number, 'mine')} mine").id for number in range(1, 20)]
        other = children.start("see_at_once", path=str(path))
        other.line()
        other.tell({"id": kept[-1], "word": word(19, "mine")})
        assert other.line()["text"] is not None, "a later process does not see an acknowledged write"
    with open_vault(path) as mem:
        assert len(store_of(mem).memories.get(OWNER, kept)) == 19


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells who holds which lock")
def test_an_open_vault_holds_its_locks_whatever_else_the_process_does_with_the_files(path: Path) -> None:
    """V8: the locks themselves, as the kernel lists them, after each kind of use."""

    def held() -> set[str]:
        names = {file.stat().st_ino: file.name for file in path.iterdir()}
        lines = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        mine = [line for line in lines if str(os.getpid()) in line]
        return {names[inode] for line in mine if (inode := int(line[5].rpartition(":")[2])) in names}

    with open_vault(path) as mem:
        mem.list()
        wanted = {"vault.db", "vault.lock"}
        lost = {"reading": wanted - held()}
        mem.remember("written")
        lost["writing"] = wanted - held()
        mem.backup()
        lost["a backup"] = wanted - held()
        with open_vault(path):
            pass
        lost["opening and closing it a second time"] = wanted - held()
    assert {after: names for after, names in lost.items() if names} == {}


def test_a_killed_process_leaves_no_lock(children: Nursery, path: Path) -> None:
    """V8: the next writer, the next maintenance and the next opener need not wait."""
    open_vault(path).close()
    for _ in range(3):
        holder = children.start("hold_open", path=str(path))
        holder.line()
        busy = children.run("have_it_alone", path=str(path))
        assert busy == [{"code": "E1006"}]
        holder.kill()
        keeper = children.start("have_it_alone", path=str(path))
        assert keeper.line() == {"alone": True}
        keeper.kill()
        with open_vault(path) as mem:
            mem.remember("written at once")


@pytest.mark.parametrize("key", [True, False], ids=["given", "key file"])
@short_and_long("rounds", 2, 12)
def test_processes_that_race_to_create_a_vault_make_one_vault_with_one_key(
    children: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bool, rounds: int
) -> None:
    """V1, V3: all end up in the same vault, and exactly one of them made it."""
    for number in range(rounds):
        path = tmp_path / f"vault-{number}"
        keys = tmp_path / f"keys-{number}"
        monkeypatch.setenv("ENGRAM_CONFIG", str(keys / "config.toml"))
        crowd = [children.start("open_at_once", path=str(path), settings={"key_source": "file"}, key=key) for _ in range(4)]
        for child in crowd:
            child.line()
        for child in crowd:
            child.tell()
        opened = [child.line() for child in crowd]
        for child in crowd:
            child.tell()
        assert [child.line()["count"] for child in crowd] == [4] * 4
        assert [child.wait() for child in crowd] == [0] * 4
        assert sum(bool(line["notice"]) for line in opened) == 1
        assert len(list(keys.rglob("*.key"))) == (0 if key else 1), "a key was made for a vault that does not exist"
        assert not [file.name for file in path.iterdir() if ".new" in file.name]


@pytest.mark.parametrize("seconds", [0.0, 0.6], ids=["quick", "lasting"])
def test_processes_that_race_to_migrate_a_vault_migrate_it_once(children: Nursery, tmp_path: Path, seconds: float) -> None:
    """V6: one process runs the migration, however long it takes; the others wait and find it done."""
    path = tmp_path / "vault"
    with open_vault(path) as mem:
        mem.remember(f"{word(0, 'old')} old")
    crowd = [children.start("migrate_at_once", path=str(path), seconds=seconds) for _ in range(4)]
    for child in crowd:
        child.line()
    for child in crowd:
        child.tell()
    said = [child.line() for child in crowd]
    with inside(path) as connection:
        assert connection.execute("SELECT count(*) FROM second").get == 1
        assert connection.execute("SELECT count(*) FROM schema_version").get == migrations.VERSION + 1
    assert sorted(line.get("steps", line.get("code")) for line in said) == [0, 0, 0, 1]


def test_an_older_release_refuses_a_vault_that_another_process_migrated(children: Nursery, path: Path) -> None:
    """V6: with E1007, whose text names both versions."""
    open_vault(path).close()
    child = children.start("migrate_at_once", path=str(path), seconds=0.0)
    child.line()
    child.tell()
    assert child.line() == {"steps": 1}
    assert children.run("try_to_open", path=str(path), settings={})[0]["code"] == "E1007"


def test_maintenance_is_refused_while_a_process_has_the_vault_open(children: Nursery, path: Path) -> None:
    """V9: with E1006, and it runs when that process has closed the vault."""
    open_vault(path).close()
    holder = children.start("hold_open", path=str(path))
    holder.line()
    assert children.run("have_it_alone", path=str(path)) == [{"code": "E1006"}]
    holder.tell()
    assert holder.wait() == 0
    keeper = children.start("have_it_alone", path=str(path))
    assert keeper.line() == {"alone": True}


def test_a_process_that_opens_the_vault_during_maintenance_waits_as_long_as_its_patience(children: Nursery, path: Path) -> None:
    """V9: an impatient one is refused with E1006, a patient one opens when the maintenance is over."""
    open_vault(path).close()
    keeper = children.start("have_it_alone", path=str(path))
    assert keeper.line() == {"alone": True}
    refused = children.run("try_to_open", path=str(path), settings={"write_patience_s": 0.3})[0]
    assert refused["code"] == "E1006"
    patient = children.start("try_to_open", path=str(path), settings={"write_patience_s": 100.0})
    time.sleep(0.3)  # so that it most likely waits when the maintenance ends; the outcome is the same if it does not
    keeper.tell()
    assert keeper.line() == {"over": True}
    assert patient.line()["code"] == ""


def test_a_recall_while_a_backup_is_restored_gives_the_old_state_the_new_one_or_a_refusal(children: Nursery, path: Path) -> None:
    """V9: never half of each, and never an empty answer."""
    with open_engram(path, words_only=True) as mem:
        mem.remember("The harbour is in Oslo")
        mem.as_reader(OWNER).backup()
        mem.remember("The harbour was moved to Rome")
    asking = children.start("ask_again_and_again", path=str(path), question="Where is the harbour?")
    asking.line()
    live = LiveSettings({"write_patience_s": 100.0}, monotonic=time.monotonic)
    answers = [asking.line()]
    for _ in range(3):
        restore_backup(path, live, Env(), credentials(), 1)
        answers.append(asking.line())
    asking.tell()
    answers += asking.rest()
    before, after = ["The harbour was moved to Rome", "The harbour is in Oslo"], ["The harbour is in Oslo"]
    wrong = [
        answer
        for answer in answers
        if sorted(answer.get("found", [])) not in (sorted(before), after) and answer.get("code") != "E1006"
    ]
    assert wrong == []
    assert answers[-1] == {"found": after}


def test_two_processes_that_ingest_the_same_turns_keep_each_once(children: Nursery, path: Path) -> None:
    """C14: the second process skips a turn that the first has stored, and no memory is corroborated by it."""
    open_engram(path).close()
    both = [children.start("ingest_the_same", path=str(path), turns=60) for _ in range(2)]
    for child in both:
        child.line()
    for child in both:
        child.tell()
    counts = [child.line() for child in both]
    assert sum(count["turns"] for count in counts) == sum(count["known"] for count in counts) == 60
    with open_engram(path) as mem:
        memories = mem.list(limit=100)
        assert len(memories) == 60
        assert {memory.corroborations for memory in memories} == {0}
        assert {len(mem.words(memory.id)) for memory in memories} == {1}


def test_processes_that_write_with_the_same_idempotency_key_make_one_write(children: Nursery, path: Path) -> None:
    """S14: the later ones get the answer that the first got."""
    open_vault(path).close()
    crowd = [children.start("remember_once", path=str(path), key="k", text="The harbour is in Oslo", rounds=3) for _ in range(4)]
    for child in crowd:
        child.line()
    for child in crowd:
        child.tell()
    answers = [child.line() for child in crowd]
    assert len({id_ for answer in answers for id_ in answer["ids"]}) == 1
    assert {count for answer in answers for count in answer["corroborations"]} == {0}


def test_closing_one_of_two_open_vaults_of_a_process_keeps_the_lock_of_the_other(children: Nursery, path: Path) -> None:
    """V8: maintenance of another process stays refused."""
    first = open_vault(path)
    second = open_vault(path)
    first.remember("one")
    second.remember("two")
    second.close()
    assert children.start("have_it_alone", path=str(path)).line() == {"code": "E1006"}
    assert first.health().counts.memories == 2
    first.remember("three")
    first.close()
    assert not path.joinpath("vault.db-wal").exists()


def test_maintenance_in_the_process_that_has_the_vault_open_is_refused_too(path: Path) -> None:
    """V8: the process's own lock does not let it in."""
    live = LiveSettings({"write_patience_s": 0.1}, monotonic=time.monotonic)
    with open_vault(path), pytest.raises(VaultBusy), open_exclusively(path, live, Env(), credentials()):
        pass


def test_an_erasure_while_another_process_writes_is_reported_as_done(children: Nursery, path: Path) -> None:
    """V8, V12: a committed erasure is not reported as failed because the log could not be emptied at once."""
    open_vault(path).close()
    busy = children.start("write_without_end", path=str(path), seed=5)
    busy.line()
    busy.tell()
    said = children.run("erase_beside_a_writer", path=str(path), rounds=15)
    busy.kill()
    assert [line["code"] for line in said] == [""] * 15
    with inside(path) as connection:
        assert connection.execute("SELECT count(*) FROM contents WHERE text LIKE '% doomed'").get == 0


def test_a_copied_vault_opens_in_another_place_with_its_key(path: Path, tmp_path: Path) -> None:
    """V1: the folder is the whole vault."""
    with open_vault(path) as mem:
        kept = mem.remember(f"{word(0, 'moved')} moved")
    shutil.copytree(path, tmp_path / "elsewhere")
    with open_vault(tmp_path / "elsewhere") as mem:
        assert mem.get(kept.id) == kept
    assert tomllib.loads((tmp_path / "elsewhere" / "vault.toml").read_text())["format"] == 1
