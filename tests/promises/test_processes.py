"""Several processes on one vault: nothing lost, nothing out of scope, no lock left, turns taken (V1, V6, V8, M11)."""

from __future__ import annotations

import os
import shutil
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from promises.children import Nursery
from promises.vaults_at_hand import OWNER, agent, credentials, halves, inside, open_vault, store_of, word
from recall.minds import open_mind

from engram.env import Env
from engram.errors import VaultBusy
from engram.settings import LiveSettings
from engram.store.sqlite import schema
from engram.store.sqlite.maintenance import restore_backup
from engram.store.sqlite.vault import alone
from engram.types import Scope

NAMES = ["ann", "bob", "cyd", "dee"]


def test_four_processes_write_and_read_at_once_and_nothing_is_lost_or_out_of_scope(children: Nursery, path: Path) -> None:
    """V8, M11: each agent sees its own and the global memories only, and every acknowledged row is there at the end."""
    open_vault(path).close()
    crowd = [
        children.start("take_part", path=str(path), name=name, others=[n for n in NAMES if n != name], rounds=40)
        for name in NAMES
    ]
    for child in crowd:
        child.line()
    for child in crowd:
        child.tell()
    said = []
    for child in crowd:
        while not (line := child.line()).get("done"):
            said.append(line)
    for child in crowd:
        child.tell()
        assert child.rest() == []
        assert child.wait() == 0
    assert [line for line in said if "leak" in line] == [], "something was seen out of scope"
    texts = {line["id"]: line["text"] for line in said if "ack" in line}
    with open_vault(path) as mem:
        found = {memory.id: memory.text for memory in store_of(mem).get(OWNER, list(texts))}
        assert found == texts
        assert mem.health().counts.memories == len(texts) == 4 * 2 * 40
        for name in NAMES:
            view = mem.as_reader(agent(name))
            assert view.health().counts.memories == 40 + 4 * 40
    assert halves(path) == {}
    assert not path.joinpath("vault.db-wal").exists()


def test_a_committed_write_is_in_the_next_read_of_every_other_process(children: Nursery, path: Path) -> None:
    """V8: rows and text search alike, with no waiting in between; private ones stay unseen."""
    with open_vault(path, reader=agent("writer")) as mem:
        watchers = [children.start("see_at_once", path=str(path)) for _ in range(2)]
        for watcher in watchers:
            watcher.line()
        for number in range(40):
            private = number % 4 == 3
            text = f"{word(number, 'seen')} for {'one' if private else 'all'}"
            kept = mem.remember(text, scope=Scope(agent="writer") if private else Scope())
            for watcher in watchers:
                watcher.tell({"id": kept.id, "word": word(number, "seen")})
                seen = watcher.line()
                assert seen == ({"text": None, "hits": []} if private else {"text": text, "hits": [kept.key]})


def test_processes_that_come_and_go_lose_nothing_and_disturb_nobody(children: Nursery, path: Path) -> None:
    """V8: opening and closing (the last one out takes the log with it) while others write and one stays open."""
    with open_vault(path) as mem:
        crowd = [children.start("come_and_go", path=str(path), name=name, rounds=12) for name in NAMES[:3]]
        own = [mem.remember(f"{word(number, 'stays')} stays").id for number in range(60)]
        acked = [line["ack"] for child in crowd for line in child.rest()]
        assert [child.wait() for child in crowd] == [0, 0, 0]
        assert len(acked) == 36
        assert len(store_of(mem).get(OWNER, acked + own)) == 96
    assert halves(path) == {}
    with open_vault(path) as mem:
        assert len(store_of(mem).get(OWNER, acked + own)) == 96


def test_nobody_takes_the_log_away_from_a_process_that_has_it_open(children: Nursery, path: Path) -> None:
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
        assert other.line()["text"] is not None, "a later process does not see what this one was told is durable"
    with open_vault(path) as mem:
        assert len(store_of(mem).get(OWNER, kept)) == 19


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="only Linux tells who holds which lock")
def test_an_open_vault_holds_its_locks_whatever_else_the_process_does_with_the_files(path: Path) -> None:
    """V8: see `test_nobody_takes_the_log_away…`; here the locks themselves, after each kind of use."""

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
    """V8: the next writer, the next maintenance and the next opener go on at once."""
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
            mem.remember("written at once", timeout=2.0)


@pytest.mark.parametrize("key", [True, False], ids=["given", "key file"])
def test_openers_racing_the_first_creation_make_one_vault_with_one_key(
    children: Nursery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bool
) -> None:
    """V1, V3: everybody ends up in the same vault, and exactly one is told that it was made."""
    for number in range(6):
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
        assert sum(bool(one["notice"]) for one in opened) == 1
        assert len(list(keys.rglob("*.key"))) == (0 if key else 1), "a key was made for a vault that is not"
        assert not [file.name for file in path.iterdir() if ".new" in file.name]


@pytest.mark.parametrize("seconds", [0.0, 0.6], ids=["quick", "slow"])
def test_processes_racing_a_migration_give_one_migration(children: Nursery, tmp_path: Path, seconds: float) -> None:
    """V6: one runs it, however long it takes; the others wait and find it done."""
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
        assert connection.execute("SELECT count(*) FROM schema_version").get == schema.VERSION + 1
    assert sorted(line.get("steps", line.get("code")) for line in said) == [0, 0, 0, 1]


def test_a_migrated_vault_is_refused_by_the_older_release_that_comes_late(children: Nursery, path: Path) -> None:
    """V6: who opens after another process brought the vault to a newer format is told so."""
    open_vault(path).close()
    child = children.start("migrate_at_once", path=str(path), seconds=0.0)
    child.line()
    child.tell()
    assert child.line() == {"steps": 1}
    assert children.run("try_to_open", path=str(path), settings={})[0]["code"] == "E1007"


def test_maintenance_refuses_while_others_are_in_and_openers_wait_while_it_runs(children: Nursery, path: Path) -> None:
    """V9: E1006 on both sides, and nobody waits for ever."""
    open_vault(path).close()
    holder = children.start("hold_open", path=str(path))
    holder.line()
    assert children.run("have_it_alone", path=str(path)) == [{"code": "E1006"}]
    holder.tell()
    assert holder.wait() == 0
    keeper = children.start("have_it_alone", path=str(path))
    assert keeper.line() == {"alone": True}
    refused = children.run("try_to_open", path=str(path), settings={"write_patience_s": 0.3})[0]
    assert refused["code"] == "E1006"
    assert 0.25 < refused["seconds"] < 3
    patient = children.start("try_to_open", path=str(path), settings={"write_patience_s": 20.0})
    time.sleep(0.3)
    keeper.tell()
    assert keeper.line() == {"over": True}
    assert patient.line()["code"] == ""


def test_whoever_asks_while_a_backup_is_brought_back_gets_a_right_answer_or_a_refusal(children: Nursery, path: Path) -> None:
    """V9: never a half of the old state and a half of the new, and never an empty answer."""
    with open_mind(path, words_only=True) as mem:
        mem.remember("The harbour is in Oslo")
        mem.as_reader(OWNER).backup()
        mem.remember("The harbour was moved to Rome")
    asking = children.start("ask_again_and_again", path=str(path), question="Where is the harbour?")
    asking.line()
    live = LiveSettings({"write_patience_s": 10.0}, monotonic=time.monotonic)
    said = [asking.line()]
    for _ in range(3):
        restore_backup(path, live, Env(), credentials(), 1)
        said.append(asking.line())
    asking.tell()
    said += asking.rest()
    before, after = ["The harbour was moved to Rome", "The harbour is in Oslo"], ["The harbour is in Oslo"]
    assert [
        one for one in said if sorted(one.get("found", [])) not in (sorted(before), after) and one.get("code") != "E1006"
    ] == []
    assert said[-1] == {"found": after}


def test_two_processes_that_ingest_the_same_turns_keep_each_once(children: Nursery, path: Path) -> None:
    """C14: whoever comes second passes it over, and nothing is made surer by being read twice."""
    open_mind(path).close()
    both = [children.start("ingest_the_same", path=str(path), turns=60) for _ in range(2)]
    for child in both:
        child.line()
    for child in both:
        child.tell()
    counts = [child.line(60) for child in both]
    assert sum(one["turns"] for one in counts) == sum(one["known"] for one in counts) == 60
    with open_mind(path) as mem:
        found = mem.list(limit=100)
        assert len(found) == 60
        assert {memory.corroborations for memory in found} == {0}
        assert {len(mem.words(memory.id)) for memory in found} == {1}


def test_processes_that_write_with_one_key_make_one_write(children: Nursery, path: Path) -> None:
    """S14: whoever comes second is answered as the first was."""
    open_vault(path).close()
    crowd = [children.start("remember_once", path=str(path), key="k", text="The harbour is in Oslo", rounds=3) for _ in range(4)]
    for child in crowd:
        child.line()
    for child in crowd:
        child.tell()
    said = [child.line(60) for child in crowd]
    assert len({one for answer in said for one in answer["ids"]}) == 1
    assert {count for answer in said for count in answer["corroborations"]} == {0}


def test_opening_twice_in_one_process_keeps_both_from_maintenance(children: Nursery, path: Path) -> None:
    """V8: closing one of two must not let go of the other's lock."""
    first = open_vault(path)
    second = open_vault(path)
    first.remember("one")
    second.remember("two")
    second.close()
    assert children.start("have_it_alone", path=str(path)).line() == {"code": "E1006"}
    assert first.health().counts.memories == 2
    first.remember("three", timeout=5.0)
    first.close()
    assert not path.joinpath("vault.db-wal").exists()


def test_maintenance_inside_the_process_that_has_it_open_is_refused(path: Path) -> None:
    """V8: the same rule for oneself."""
    live = LiveSettings({"write_patience_s": 0.1}, monotonic=time.monotonic)
    with open_vault(path), pytest.raises(VaultBusy), alone(path, live, Env(), credentials()):
        pass


def test_erasing_beside_a_busy_writer_is_answered_truthfully(children: Nursery, path: Path) -> None:
    """V8, V12: an erasure that was committed is not reported as failed because another process was writing."""
    open_vault(path).close()
    busy = children.start("write_without_end", path=str(path), seed=5)
    busy.line()
    busy.tell()
    said = children.run("erase_beside_a_writer", path=str(path), rounds=15)
    busy.kill()
    assert [line["code"] for line in said] == [""] * 15
    with inside(path) as connection:
        assert connection.execute("SELECT count(*) FROM contents WHERE text LIKE '% doomed'").get == 0


def test_a_copied_vault_opens_elsewhere_with_its_key(path: Path, tmp_path: Path) -> None:
    """V1: the folder is the vault."""
    with open_vault(path) as mem:
        kept = mem.remember(f"{word(0, 'moved')} moved")
    shutil.copytree(path, tmp_path / "elsewhere")
    with open_vault(tmp_path / "elsewhere") as mem:
        assert mem.get(kept.id) == kept
    assert tomllib.loads((tmp_path / "elsewhere" / "vault.toml").read_text())["format"] == 1


@pytest.fixture(autouse=True)
def quick_enough() -> Iterator[None]:
    """These tests wait for one another's processes; one that takes long hangs."""
    start = time.monotonic()
    yield
    assert time.monotonic() - start < 40
