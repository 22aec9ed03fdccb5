"""SIGKILL at any instant: an acknowledged write is there, whole; any other is there whole or not at all (V7, V9, V15)."""

from __future__ import annotations

import random
import shutil
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from promises.children import Child, Nursery
from promises.programs import second_migration
from promises.tiers import short_and_long
from promises.vaults_at_hand import ANY_STATUS, OWNER, files, halves, inside, open_vault, store_of, word

from engram.engine import Engram
from engram.env import Env
from engram.store.sqlite import migrations
from engram.types import Status

BUCKET = 512 * 1024


def spread(total: int, count: int, seed: int) -> list[int]:
    """Steps over the whole of a piece of work, its first and last ones included."""
    dice = random.Random(seed)
    edges = [1, 2, total - 1, total]
    return sorted({*edges, *(dice.randrange(1, total + 1) for _ in range(count))})


class Ledger:
    """What the killed writers acknowledged, which must be there, and what they only announced, which may be."""

    def __init__(self) -> None:
        self.text: dict[str, str] = {}
        self.maybe: dict[str, set[str]] = defaultdict(set)
        self.version: dict[str, int] = {}
        self.erased: set[str] = set()
        self.doomed: set[str] = set()

    def record(self, lines: list[dict[str, Any]]) -> None:
        for line in lines:
            id_ = line.get("id")
            match line.get("ack") or line.get("trying"):
                case "add":
                    self.text[id_] = line["text"]
                case "update" if "ack" in line:
                    self.text[id_], self.version[id_] = line["text"], line["version"]
                    self.maybe[id_].clear()
                case "update":
                    self.maybe[id_].add(line["text"])
                case "erase" if "ack" in line:
                    self.erased.add(id_)
                case "erase":
                    self.doomed.add(id_)

    def compare(self, mem: Engram) -> None:
        """Compare with the vault; of what was only announced, the vault's state is taken over."""
        ids = list(self.text)
        stored = {memory.id: memory for memory in store_of(mem).memories.get(OWNER, ids)}
        for id_ in ids:
            if id_ in self.erased or id_ in self.doomed:
                assert id_ not in self.erased or id_ not in stored, "an acknowledged erasure is undone"
                if id_ not in stored:
                    del self.text[id_]
                self.doomed.discard(id_)
                continue
            assert id_ in stored, "an acknowledged memory is lost"
            memory = stored[id_]
            assert memory.text in {self.text[id_], *self.maybe[id_]}, "an acknowledged wording is lost"
            assert memory.version >= self.version.get(id_, 1)
            self.text[id_], self.version[id_] = memory.text, memory.version
            self.maybe[id_].clear()
            assert len(store_of(mem).memories.versions(OWNER, id_)) == memory.version - 1


def assert_found_by_their_words(mem: Engram, ledger: Ledger, ids: list[str]) -> None:
    keys = {memory.id: memory.key for memory in store_of(mem).memories.get(OWNER, ids)}
    for id_ in ids:
        hits = store_of(mem).text.search(OWNER, [ledger.text[id_].split()[0]], limit=3, where=ANY_STATUS)
        assert keys[id_] in [hit.key for hit in hits], "a memory is not found by its own word"


def assert_batches_whole(path: Path) -> None:
    with inside(path) as connection:
        sizes = connection.execute("SELECT DISTINCT count(*) FROM attributes WHERE name = 'batch' GROUP BY value").fetchall()
    assert [size for (size,) in sizes] in ([6], []), "a batch is half there"


def write_then_kill(writer: Child, lines: int, pause_s: float) -> list[dict[str, Any]]:
    """Let a writer print so many lines and a moment pass, kill it, and return all it printed.

    Counting lines means that a round does as much on a loaded machine; the pause moves the kill off the printing.
    """
    writer.tell()
    printed = [writer.line() for _ in range(lines)]
    time.sleep(pause_s)
    return [*printed, *writer.kill()]


@short_and_long("rounds", 10, 64)
def test_a_kill_while_writing_loses_no_acknowledged_write_and_leaves_no_half(children: Nursery, path: Path, rounds: int) -> None:
    """V7, V9: many rounds on one vault, each killed at another instant while four threads write."""
    open_vault(path).close()
    ledger = Ledger()
    noticed = 0
    writer = children.start("write_without_end", path=str(path), seed=0)
    assert writer.line()["crashed_before"] is False
    for number in range(rounds):
        dice = random.Random(number)
        printed = write_then_kill(writer, lines=dice.randrange(1, 60), pause_s=dice.uniform(0.0, 0.01))
        ledger.record(printed)
        # An erasure empties the log for a moment; a kill in that moment leaves nothing to recover and no trace.
        left = path.joinpath("vault.db-wal").stat().st_size > 0
        with open_vault(path) as mem:
            assert mem.health().crashed_before == left, "the crash was not noticed"
            assert any("did not close in order" in warning for warning in mem.health().warnings) == left
            noticed += left
            ledger.compare(mem)
            fresh = [line["id"] for line in printed if line.get("ack") == "add" and line["id"] in ledger.text]
            assert_found_by_their_words(mem, ledger, fresh[-40:])
            assert mem.check() == []
        assert halves(path) == {}
        assert path.joinpath("vault.db").stat().st_size % BUCKET == 0, "the file left its bucket"
        assert not path.joinpath("vault.db-wal").exists()
        assert_batches_whole(path)
        writer = children.start("write_without_end", path=str(path), seed=number + 1)
        assert writer.line()["crashed_before"] is False, "a vault that was closed in order looks crashed"
    assert noticed > 0, "no round left a log to recover"


def test_an_open_vault_sees_all_that_a_killed_process_acknowledged_and_writes_on(children: Nursery, path: Path) -> None:
    """V7, V8: the process that was killed shared the log with this one."""
    with open_vault(path) as mem:
        for number in range(3):
            writer = children.start("write_without_end", path=str(path), seed=100 + number)
            writer.line()
            ledger = Ledger()
            ledger.record(write_then_kill(writer, lines=20, pause_s=0.01))
            ledger.compare(mem)
            mem.remember(f"{word(number, 'after')} after the other was killed")
        assert not mem.health().crashed_before
    assert halves(path) == {}


@pytest.mark.parametrize(
    "settings", [{"key_source": "file"}, {"key_source": "file", "key_file": "<named>"}], ids=["auto", "named"]
)
@short_and_long("kills", 6, 40)
def test_a_kill_while_a_vault_is_made_leaves_one_that_the_next_open_makes(
    children: Nursery, tmp_path: Path, settings: dict[str, str], kills: int
) -> None:
    """V1, V3, V9: at every stage of creation; the next open makes it or finds it made, with one key that fits."""
    total = children.run("make_vault", path=str(tmp_path / "whole"), settings={"key_source": "file"}, key=False)[-1]["steps"]
    refused = []
    for number in spread(total, kills, seed=1):
        path = tmp_path / f"killed-{number}"
        chosen = {name: value.replace("<named>", str(tmp_path / f"{number}.key")) for name, value in settings.items()}
        child = children.start("make_vault", path=str(path), step=number, settings=chosen, key=False)
        child.rest()
        assert child.wait() == -9 or number > total * 0.9, f"step {number} was never reached"
        for _ in range(2):
            try:
                with Engram.open(path, reader=OWNER, settings={"backup_hours": 0, **chosen}) as mem:
                    kept = mem.remember(f"{word(number, 'made')} made at last")
                    assert mem.get(kept.id) == kept
            except Exception as error:
                refused.append(f"step {number}: {type(error).__name__} {error}"[:200])
                break
        else:
            assert not [file.name for file in path.iterdir() if ".new" in file.name], "a half-made file was left behind"
    assert not refused, refused


@short_and_long("kills", 6, 40)
def test_a_kill_during_a_backup_loses_nothing_and_leaves_no_rubbish(children: Nursery, path: Path, kills: int) -> None:
    """V9: the vault is whole, the backups that exist verify, and the next backup removes a half-made one."""
    with open_vault(path) as mem:
        for number in range(60):
            mem.remember(f"{word(number, 'kept')} kept")
    total = children.run("die_in_backup", path=str(path))[-1]["steps"]
    for number in spread(total, kills, seed=2):
        child = children.start("die_in_backup", path=str(path), step=number)
        acked = [line["ack"] for line in child.rest() if "ack" in line]
        child.wait()
        with open_vault(path) as mem:
            assert all(mem.get(id_) for id_ in acked)
            assert all(backup.intact for backup in mem.backups())
    with open_vault(path) as mem:
        made = mem.backup()
        assert made.intact
        assert made.memories == mem.health().counts.memories
    assert halves(path) == {}
    names = sorted(file.name for file in path.joinpath("backups").iterdir())
    assert len([name for name in names if name.endswith(".db")]) == 3
    assert names == sorted(
        f"{name.removesuffix('.db')}.{end}" for name in names if name.endswith(".db") for end in ("db", "toml")
    )
    assert all(file.stat().st_size for file in path.joinpath("backups").iterdir()), "an empty file among the backups"


@short_and_long("kills", 6, 40)
def test_a_write_with_an_idempotency_key_that_was_killed_and_tried_again_is_made_once(
    children: Nursery, path: Path, kills: int
) -> None:
    """S14: killed at every stage; the same key completes the write, and no corroboration is counted twice."""
    open_vault(path).close()
    total = children.run("die_in_a_keyed_write", path=str(path), key="whole", text="My boat is called Ida.")[-1]["steps"]
    texts = {"My boat is called Ida."}
    for number in spread(total, kills, seed=3):
        text = f"My boat of harbour {number} is called {word(number, 'boat')}."
        texts.add(text)
        child = children.start("die_in_a_keyed_write", path=str(path), key=f"k{number}", text=text, step=number)
        child.rest()
        child.wait()
        with open_vault(path, model="none") as mem:
            reports = [mem.keyed(f"k{number}").observe(user=text) for _ in range(2)]
            assert reports[0] == reports[1]
            assert reports[0].counts["kept"] == 1
    with open_vault(path, model="none") as mem:
        memories = mem.list(limit=100)
        assert len(memories) == len(texts)
        assert {memory.corroborations for memory in memories} == {0}
        assert {len(mem.words(memory.id)) for memory in memories} == {1}


@short_and_long("kills", 5, 30)
def test_an_event_of_an_episode_that_was_killed_and_tried_again_is_recorded_once(
    children: Nursery, path: Path, kills: int
) -> None:
    """S14: killed at every stage and tried again with its idempotency key."""
    with open_vault(path, model="none") as mem:
        going = mem.episode("deploy the API").id
    total = children.run("die_in_a_keyed_step", path=str(path), episode=going, key="whole", text="whole")[-1]["steps"]
    steps = list(spread(total, kills, seed=4))
    for number in steps:
        text = word(number, "step")
        child = children.start("die_in_a_keyed_step", path=str(path), episode=going, key=f"k{number}", text=text, step=number)
        child.rest()
        child.wait()
        with open_vault(path, model="none") as mem:
            events = [mem.keyed(f"k{number}").episode(resume=going).event("tried", text) for _ in range(2)]
            assert events[0] == events[1]
    with open_vault(path, model="none") as mem:
        (episode,) = mem.episodes(ids=[going])
        assert [event.text for event in episode.events] == ["whole", *(word(number, "step") for number in steps)]


@short_and_long("kills", 8, 40)
def test_a_kill_during_a_migration_leaves_the_old_format_or_the_new_one(children: Nursery, tmp_path: Path, kills: int) -> None:
    """V6: at every stage; then the migration runs again to its end."""
    made = tmp_path / "made"
    with open_vault(made) as mem:
        for number in range(50):
            mem.remember(f"{word(number, 'migrate')} kept")
    whole = tmp_path / "whole"
    shutil.copytree(made, whole)
    total = children.run("die_in_migration", path=str(whole))[-1]["steps"]
    for number in spread(total, kills, seed=3):
        path = tmp_path / f"killed-{number}"
        shutil.copytree(made, path)
        child = children.start("die_in_migration", path=str(path), step=number)
        child.rest()
        assert child.wait() == -9
        with inside(path, write=True) as connection:
            version = migrations.version_of(connection)
            tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'second'").get
            assert (version, tables) in ((migrations.VERSION, 0), (migrations.VERSION + 1, 1)), "half a migration"
            migrations.migrate(connection, Env().now(), second_migration())
            assert connection.execute("SELECT count(*) FROM second").get == 50
            assert connection.execute("PRAGMA integrity_check").get == "ok"


@short_and_long("kills", 10, 60)
def test_a_kill_during_a_correction_leaves_the_old_fact_or_the_new_one(children: Nursery, tmp_path: Path, kills: int) -> None:
    """M19: never both, never neither, never one without the link between them."""
    made, old = tmp_path / "made", ""
    with open_vault(made) as mem:
        old = mem.remember(f"{word(0, 'wrong')} is true").id
    whole = tmp_path / "whole"
    shutil.copytree(made, whole)
    total = children.run("die_in_correction", path=str(whole))[-1]["steps"]
    outcomes = set()
    for number in spread(total, kills, seed=5):
        path = tmp_path / f"killed-{number}"
        shutil.copytree(made, path)
        child = children.start("die_in_correction", path=str(path), step=number)
        acked = [line["ack"] for line in child.rest() if "ack" in line]
        child.wait()
        with open_vault(path) as mem:
            active = [memory.id for memory in mem.list()]
            superseded = [memory.id for memory in mem.list(status=Status.SUPERSEDED)]
            links = [(edge.source, edge.target, edge.kind) for edge in mem.edges(old)]
            if superseded:
                assert (superseded, links) == ([old], [(active[0], old, "supersedes")])
                assert len(active) == 1
                assert len(mem.status_history(old)) == 1
            else:
                assert (active, links, acked) == ([old], [], [])
            outcomes.add(bool(superseded))
        assert halves(path) == {}
    assert outcomes == {True, False}, "every kill fell on the same side of the commit"


@short_and_long("kills", 8, 50)
def test_a_kill_while_a_vault_is_closed_loses_nothing(children: Nursery, path: Path, kills: int) -> None:
    """V10: at every stage of closing, also while the files are tidied."""
    open_vault(path).close()
    said = children.run("die_in_close", path=str(path))
    before, total = said[-2]["steps"], said[-1]["steps"]
    for number in [before + step for step in spread(total - before, kills, seed=4)]:
        child = children.start("die_in_close", path=str(path), step=number)
        acked = [line["ack"] for line in child.rest() if "ack" in line]
        child.wait()
        assert acked, "it was killed before it wrote"
        with open_vault(path) as mem:
            assert all(mem.get(id_) for id_ in acked)
        assert halves(path) == {}
        assert path.joinpath("vault.db").stat().st_size % BUCKET == 0


def test_a_killed_process_that_only_read_is_not_reported_as_a_crash(children: Nursery, path: Path) -> None:
    """V9: the next open gives no warning, and no byte of the database changed."""
    open_vault(path).close()
    before = files(path)["vault.db"]
    reader = children.start("hold_open", path=str(path), write=False)
    reader.line()
    reader.kill()
    with open_vault(path) as mem:
        assert not mem.health().crashed_before
    assert files(path)["vault.db"] == before
