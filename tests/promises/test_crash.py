"""kill -9 at any instant: what was acknowledged is there, whole; what was not is there whole or not at all (V7, V9, V15)."""

from __future__ import annotations

import random
import shutil
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from promises.children import Nursery
from promises.programs import second_migration
from promises.vaults_at_hand import ANY_STATUS, OWNER, files, halves, inside, open_vault, store_of, word

from engram.engine import Engram
from engram.env import Env
from engram.store.sqlite import schema
from engram.types import Status

ROUNDS = 32
BUCKET = 512 * 1024


def spread(total: int, count: int, seed: int) -> list[int]:
    """Steps over the whole of a piece of work, its first and last ones included."""
    dice = random.Random(seed)
    edges = [1, 2, total - 1, total]
    return sorted({*edges, *(dice.randrange(1, total + 1) for _ in range(count))})


class Ledger:
    """What the killed writers said: what must be there, and what may be either way."""

    def __init__(self) -> None:
        self.text: dict[str, str] = {}
        self.maybe: dict[str, set[str]] = defaultdict(set)
        self.version: dict[str, int] = {}
        self.erased: set[str] = set()
        self.doomed: set[str] = set()

    def hear(self, said: list[dict[str, Any]]) -> None:
        for line in said:
            one = line.get("id")
            match line.get("ack") or line.get("trying"):
                case "add":
                    self.text[one] = line["text"]
                case "update" if "ack" in line:
                    self.text[one], self.version[one] = line["text"], line["version"]
                    self.maybe[one].clear()
                case "update":
                    self.maybe[one].add(line["text"])
                case "erase" if "ack" in line:
                    self.erased.add(one)
                case "erase":
                    self.doomed.add(one)

    def settle(self, mem: Engram) -> None:
        """Compare with the vault; what was open becomes what is found."""
        ids = list(self.text)
        found = {memory.id: memory for memory in store_of(mem).get(OWNER, ids)}
        for one in ids:
            if one in self.erased or one in self.doomed:
                assert one not in self.erased or one not in found, "an acknowledged erasure is undone"
                if one not in found:
                    del self.text[one]
                self.doomed.discard(one)
                continue
            assert one in found, "an acknowledged memory is lost"
            kept = found[one]
            assert kept.text in {self.text[one], *self.maybe[one]}, "an acknowledged wording is lost"
            assert kept.version >= self.version.get(one, 1)
            self.text[one], self.version[one] = kept.text, kept.version
            self.maybe[one].clear()
            assert len(store_of(mem).versions(OWNER, one)) == kept.version - 1


def assert_found_by_their_words(mem: Engram, ledger: Ledger, ids: list[str]) -> None:
    keys = {memory.id: memory.key for memory in store_of(mem).get(OWNER, ids)}
    for one in ids:
        hits = store_of(mem).search_text(OWNER, [ledger.text[one].split()[0]], limit=3, where=ANY_STATUS)
        assert keys[one] in [hit.key for hit in hits], "a memory is not found by its own word"


def assert_batches_whole(path: Path) -> None:
    with inside(path) as connection:
        sizes = connection.execute("SELECT DISTINCT count(*) FROM attributes WHERE name = 'batch' GROUP BY value").fetchall()
    assert [size for (size,) in sizes] in ([6], []), "a batch is half there"


def test_killed_while_writing_nothing_acknowledged_is_lost_and_nothing_is_half_there(children: Nursery, path: Path) -> None:
    """V7, V9: many rounds on one vault, each killed at another instant while four threads write."""
    open_vault(path).close()
    ledger = Ledger()
    acknowledged = noticed = 0
    waiting = children.start("write_without_end", path=str(path), seed=0)
    assert waiting.line()["crashed_before"] is False
    for number in range(ROUNDS):
        waiting.tell()
        first = waiting.line()
        time.sleep(random.Random(number).uniform(0.0, 0.12))
        said = [first, *waiting.kill()]
        ledger.hear(said)
        acknowledged += sum("ack" in line for line in said)
        # An erasure empties the log for a moment; a kill in that moment leaves nothing to recover and no trace.
        left = path.joinpath("vault.db-wal").stat().st_size > 0
        with open_vault(path) as mem:
            assert mem.health().crashed_before == left, "the crash was not noticed"
            assert any("did not close in order" in warning for warning in mem.health().warnings) == left
            noticed += left
            ledger.settle(mem)
            fresh = [line["id"] for line in said if line.get("ack") == "add" and line["id"] in ledger.text]
            assert_found_by_their_words(mem, ledger, fresh[-40:])
            assert mem.check() == []
        assert halves(path) == {}
        assert path.joinpath("vault.db").stat().st_size % BUCKET == 0, "the file left its bucket"
        assert not path.joinpath("vault.db-wal").exists()
        assert_batches_whole(path)
        waiting = children.start("write_without_end", path=str(path), seed=number + 1)
        assert waiting.line()["crashed_before"] is False, "a vault that was closed in order looks crashed"
    assert noticed > ROUNDS * 0.7
    assert acknowledged > 10 * ROUNDS, "the rounds were too short to mean anything"


def test_killed_writer_is_survived_by_readers_of_its_log(children: Nursery, path: Path) -> None:
    """V7, V8: whoever has the vault open when another process is killed sees all it acknowledged, and writes on."""
    with open_vault(path) as mem:
        for number in range(3):
            writer = children.start("write_without_end", path=str(path), seed=100 + number)
            writer.line()
            writer.tell()
            first = writer.line()
            time.sleep(0.05)
            ledger = Ledger()
            ledger.hear([first, *writer.kill()])
            ledger.settle(mem)
            mem.remember(f"{word(number, 'after')} after the other was killed", timeout=5.0)
        assert not mem.health().crashed_before
    assert halves(path) == {}


@pytest.mark.parametrize(
    "settings", [{"key_source": "file"}, {"key_source": "file", "key_file": "<named>"}], ids=["auto", "named"]
)
def test_killed_while_making_a_vault_leaves_one_that_can_be_made(
    children: Nursery, tmp_path: Path, settings: dict[str, str]
) -> None:
    """V1, V3, V9: at every stage of creation; the next open makes it or finds it made, with one key that fits."""
    total = children.run("make_vault", path=str(tmp_path / "whole"), settings={"key_source": "file"}, key=False)[-1]["steps"]
    refused = []
    for number in spread(total, 12, seed=1):
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
            assert not [file.name for file in path.iterdir() if ".new" in file.name], "what was half made was left behind"
    assert not refused, refused


def test_killed_during_a_backup_loses_nothing_and_leaves_no_rubbish(children: Nursery, path: Path) -> None:
    """V9: the vault is whole, the backups that exist verify, and what was half made is cleared away by the next one."""
    with open_vault(path) as mem:
        for number in range(60):
            mem.remember(f"{word(number, 'kept')} kept")
    total = children.run("die_in_backup", path=str(path))[-1]["steps"]
    for number in spread(total, 10, seed=2):
        child = children.start("die_in_backup", path=str(path), step=number)
        acked = [line["ack"] for line in child.rest() if "ack" in line]
        child.wait()
        with open_vault(path) as mem:
            assert all(mem.get(one) for one in acked)
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


def test_killed_in_a_write_with_a_key_it_is_made_once_when_it_is_tried_again(children: Nursery, path: Path) -> None:
    """S14: at every stage; the same key brings it to its end, and no witness is counted twice."""
    open_vault(path).close()
    total = children.run("die_in_a_keyed_write", path=str(path), key="whole", text="My boat is called Ida.")[-1]["steps"]
    texts = {"My boat is called Ida."}
    for number in spread(total, 10, seed=3):
        text = f"My boat of harbour {number} is called {word(number, 'boat')}."
        texts.add(text)
        child = children.start("die_in_a_keyed_write", path=str(path), key=f"k{number}", text=text, step=number)
        child.rest()
        child.wait()
        with open_vault(path, model="none") as mem:
            told = [mem.keyed(f"k{number}").observe(user=text) for _ in range(2)]
            assert told[0] == told[1]
            assert told[0].counts["kept"] == 1
    with open_vault(path, model="none") as mem:
        found = mem.list(limit=100)
        assert len(found) == len(texts)
        assert {memory.corroborations for memory in found} == {0}
        assert {len(mem.words(memory.id)) for memory in found} == {1}


def test_killed_in_a_step_of_an_episode_it_is_recorded_once(children: Nursery, path: Path) -> None:
    """S14: an event and the end of an episode, each killed at every stage and tried again with its key."""
    with open_vault(path, model="none") as mem:
        going = mem.episode("deploy the API").id
    total = children.run("die_in_a_keyed_step", path=str(path), episode=going, key="whole", text="whole")[-1]["steps"]
    steps = list(spread(total, 7, seed=4))
    for number in steps:
        text = word(number, "step")
        child = children.start("die_in_a_keyed_step", path=str(path), episode=going, key=f"k{number}", text=text, step=number)
        child.rest()
        child.wait()
        with open_vault(path, model="none") as mem:
            told = [mem.keyed(f"k{number}").episode(resume=going).event("tried", text) for _ in range(2)]
            assert told[0] == told[1]
    with open_vault(path, model="none") as mem:
        (told,) = mem.episodes(ids=[going])
        assert [event.text for event in told.events] == ["whole", *(word(number, "step") for number in steps)]


def test_killed_during_a_migration_leaves_the_old_format_or_the_new_one(children: Nursery, tmp_path: Path) -> None:
    """V6: at every stage; then the migration runs again to its end."""
    made = tmp_path / "made"
    with open_vault(made) as mem:
        for number in range(50):
            mem.remember(f"{word(number, 'migrate')} kept")
    whole = tmp_path / "whole"
    shutil.copytree(made, whole)
    total = children.run("die_in_migration", path=str(whole))[-1]["steps"]
    for number in spread(total, 14, seed=3):
        path = tmp_path / f"killed-{number}"
        shutil.copytree(made, path)
        child = children.start("die_in_migration", path=str(path), step=number)
        child.rest()
        assert child.wait() == -9
        with inside(path, write=True) as connection:
            version = schema.version_of(connection)
            tables = connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'second'").get
            assert (version, tables) in ((schema.VERSION, 0), (schema.VERSION + 1, 1)), "half a migration"
            schema.migrate(connection, Env().now(), second_migration())
            assert connection.execute("SELECT count(*) FROM second").get == 50
            assert connection.execute("PRAGMA integrity_check").get == "ok"


def test_killed_during_a_correction_leaves_the_old_fact_or_the_new_one(children: Nursery, tmp_path: Path) -> None:
    """M19: never both, never neither, never one without the link between them."""
    made, old = tmp_path / "made", ""
    with open_vault(made) as mem:
        old = mem.remember(f"{word(0, 'wrong')} is true").id
    whole = tmp_path / "whole"
    shutil.copytree(made, whole)
    total = children.run("die_in_correction", path=str(whole))[-1]["steps"]
    seen = set()
    for number in spread(total, 24, seed=5):
        path = tmp_path / f"killed-{number}"
        shutil.copytree(made, path)
        child = children.start("die_in_correction", path=str(path), step=number)
        acked = [line["ack"] for line in child.rest() if "ack" in line]
        child.wait()
        with open_vault(path) as mem:
            active = [memory.id for memory in mem.list()]
            gone = [memory.id for memory in mem.list(status=Status.SUPERSEDED)]
            links = [(edge.source, edge.target, edge.kind) for edge in mem.edges(old)]
            if gone:
                assert (gone, links) == ([old], [(active[0], old, "supersedes")])
                assert len(active) == 1
                assert len(mem.status_history(old)) == 1
            else:
                assert (active, links, acked) == ([old], [], [])
            seen.add(bool(gone))
        assert halves(path) == {}
    assert seen == {True, False}, "no kill fell on this side of the commit"


def test_killed_while_closing_loses_nothing(children: Nursery, path: Path) -> None:
    """V10: at every stage of closing, tidying included."""
    open_vault(path).close()
    said = children.run("die_in_close", path=str(path))
    before, total = said[-2]["steps"], said[-1]["steps"]
    for number in [before + step for step in spread(total - before, 14, seed=4)]:
        child = children.start("die_in_close", path=str(path), step=number)
        acked = [line["ack"] for line in child.rest() if "ack" in line]
        child.wait()
        assert len(acked) >= 4
        with open_vault(path) as mem:
            assert all(mem.get(one) for one in acked)
        assert halves(path) == {}
        assert path.joinpath("vault.db").stat().st_size % BUCKET == 0


def test_a_reader_that_is_killed_is_no_crash_of_the_vault(children: Nursery, path: Path) -> None:
    """V9: nothing was being written, so there is nothing to warn of, and nothing changed."""
    open_vault(path).close()
    before = files(path)["vault.db"]
    reader = children.start("hold_open", path=str(path), write=False)
    reader.line()
    reader.kill()
    with open_vault(path) as mem:
        assert not mem.health().crashed_before
    assert files(path)["vault.db"] == before
