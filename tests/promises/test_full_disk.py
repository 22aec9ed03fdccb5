"""On a full or read-only disk writes give E1003, reads go on, nothing is half written, and writing resumes by itself (V15)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from promises.children import Child, Nursery
from promises.programs import eat_room
from promises.vaults_at_hand import OWNER, credentials, dated, halves, is_root, open_vault, store_of, word

from engram.env import Env
from engram.rules.store_rules import MemoryRules
from engram.serve.cli import main
from engram.settings import LiveSettings
from engram.store.limits import StoreLimits
from engram.store.open import open_store


def mount(where: Path, *options: str) -> None:
    done = subprocess.run(["mount", "-o", ",".join(options), "-t", "tmpfs", "none", str(where)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")


def remount(where: Path, how: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{how}", str(where)], check=True, capture_output=True)


@pytest.fixture
def small_disk(tmp_path: Path, children: Nursery) -> Iterator[Path]:
    """A file system of its own of 12 MiB; `children` is asked for so that it is cleared before the disk goes."""
    if not is_root():
        pytest.skip("only root may mount a file system")
    where = tmp_path / "disk"
    where.mkdir()
    mount(where, "size=12m")
    yield where
    children.clear()
    subprocess.run(["umount", "-l", str(where)], check=False, capture_output=True)


def assert_all_there(path: Path, ids: list[str]) -> None:
    with open_vault(path) as mem:
        assert len(store_of(mem).memories.get(OWNER, ids)) == len(ids), "an acknowledged memory is lost"
    assert halves(path) == {}


def test_a_file_that_may_not_grow_gives_e1003_and_writing_resumes_by_itself(children: Nursery, path: Path) -> None:
    """V15: with a limit on file sizes (as a quota would do it), lifted later."""
    open_vault(path).close()
    child = children.start("fill_under_limit", path=str(path), limit=3 * 2**20)
    refused, reading, resumed = child.rest()
    assert child.wait() == 0
    assert (refused["code"], refused["at_once"], refused["writes"]) == ("E1003", "E1003", "read-only")
    assert reading["read"]
    assert reading["listed"] == min(len(refused["acked"]), 500)
    assert any("nothing can be written" in warning for warning in reading["warnings"])
    assert resumed == {"code": "", "writes": "open"}
    assert_all_there(path, refused["acked"])


def test_on_a_full_disk_writes_give_e1003_reads_go_on_and_freed_room_ends_it(children: Nursery, small_disk: Path) -> None:
    """V15: a real file system that fills up while the vault is open."""
    path, filler = small_disk / "vault", small_disk / "filler"
    open_vault(path).close()
    child = children.start("live_on_a_full_disk", path=str(path), filler=str(filler))
    refused = child.line()
    assert refused["code"] == "E1003"
    assert refused["text"].startswith(word(0, "first"))
    others = child.line()
    assert others["hits"] == 1
    assert others["writes"] == "read-only"
    assert others["backup"] == "E1003", "a backup without room"
    assert others["erase"] == "E1003"
    assert list(path.glob("backups/*")) == [], "a backup that failed left something behind"
    filler.unlink()
    child.tell()
    assert child.line() == {"code": "", "writes": "open"}
    assert child.line() == {"closed": True}
    assert child.wait() == 0
    assert_all_there(path, refused["acked"])


def test_a_hook_answers_on_a_full_disk_and_leaves_neutral_dates(small_disk: Path) -> None:
    """V15, S15: its reads are not audited then, and a log that it could not finish shows no date."""
    path, filler, env = small_disk / "vault", small_disk / "filler", Env()
    live = LiveSettings({}, monotonic=env.monotonic)
    with open_vault(path) as mem:
        mem.remember("The harbour is closed on Sundays")
    eat_room(str(filler))
    for _ in range(2):
        store, _ = open_store(path, live, env, MemoryRules(live), credentials(), brief=True)
        assert len(store.text.search(OWNER, ["harbour"], limit=9)) == 1
        store.close()
        assert dated(path) == []
    filler.unlink()
    store, _ = open_store(path, live, env, MemoryRules(live), credentials(), brief=True)
    assert len(store.memories.page(OWNER, limit=9)) == 1
    store.close()
    with open_vault(path) as mem:
        assert [entry.operation for entry in mem.audit(limit=2)] == ["list", "add"]


def test_a_vault_on_a_full_disk_opens_for_reading(children: Nursery, small_disk: Path) -> None:
    """V15: the disk is full before the vault is opened."""
    path, filler = small_disk / "vault", small_disk / "filler"
    with open_vault(path) as mem:
        mem.remember(f"{word(0, 'held')} held")
    eat_room(str(filler))
    assert children.run("open_read_only", path=str(path))[0]["held"] == [f"{word(0, 'held')} held"]
    filler.unlink()
    with open_vault(path) as mem:
        mem.remember("written again")


def test_a_vault_that_crashed_on_a_full_disk_keeps_what_it_acknowledged(children: Nursery, small_disk: Path) -> None:
    """V7, V15: killed while the disk was full; opened when there is room."""
    path, filler = small_disk / "vault", small_disk / "filler"
    open_vault(path).close()
    child = children.start("live_on_a_full_disk", path=str(path), filler=str(filler))
    acked = child.line()["acked"]
    child.line()
    child.kill()
    filler.unlink()
    assert_all_there(path, acked)


@pytest.mark.parametrize("room", [0, 4096, 100_000, 400_000])
def test_making_a_vault_on_a_full_disk_gives_e1003_and_works_once_there_is_room(
    small_disk: Path, children: Nursery, room: int
) -> None:
    """V1, V15: leftovers of the failed attempt do not block the next one."""
    path, filler = small_disk / "vault", small_disk / "filler"
    eat_room(str(filler), leave=room)
    assert children.run("try_to_open", path=str(path), settings={})[0]["code"] == "E1003"
    filler.unlink()
    assert children.run("try_to_open", path=str(path), settings={})[0]["code"] == ""


def test_a_backup_that_finds_no_room_leaves_nothing_behind(children: Nursery, small_disk: Path) -> None:
    """V9, V15: a half-made copy would keep the disk full for good."""
    path, filler = small_disk / "vault", small_disk / "filler"
    mem = open_vault(path, tuning=[StoreLimits(full_retry_s=0.0)])
    try:
        mem.remember(f"{word(0, 'kept')} kept")
        eat_room(str(filler), leave=600_000)
        for _ in range(2):
            with pytest.raises(Exception, match="E1003"):
                mem.backup()
        assert [file.name for file in path.joinpath("backups").glob("*")] == []
        filler.unlink()
        assert mem.backup().intact
    finally:
        mem.close()


def test_a_vault_on_a_read_only_file_system_is_readable_warns_and_is_written_once_it_can_be(
    children: Nursery, small_disk: Path
) -> None:
    """V15: opens for reading, E1003 on writing, a warning; writable again, it goes on without reopening."""
    path = small_disk / "vault"
    with open_vault(path) as mem:
        held = mem.remember(f"{word(0, 'held')} held").text
    remount(small_disk, "ro")
    child: Child = children.start("read_only_and_back", path=str(path))
    first = child.line()
    assert first["held"] == [held]
    assert any("reading only" in warning for warning in first["warnings"])
    assert (first["writes"], first["code"], first["audit"], first["backup"]) == ("read-only", "E1003", "", "E1003")
    remount(small_disk, "rw")
    child.tell()
    assert child.line() == {"code": ""}
    assert child.line() == {"seen": True, "writes": "open"}
    assert child.line()["after_close"] == "E1000", "a closed vault still answers"
    assert child.wait() == 0
    with open_vault(path) as mem:
        assert len(mem.list()) == 2


def test_a_read_only_file_system_with_a_log_left_by_a_crash_shows_all_that_was_acknowledged(
    children: Nursery, small_disk: Path
) -> None:
    """V7, V15: memories that are only in the log are shown, or the open is refused."""
    path = small_disk / "vault"
    open_vault(path).close()
    holder = children.start("hold_open", path=str(path))
    holder.line()
    holder.kill()
    remount(small_disk, "ro")
    said = children.run("open_read_only", path=str(path))[0]
    remount(small_disk, "rw")
    assert said["code"] in ("", "E1003")
    assert said["code"] or len(said["held"]) == 1, "the vault opened, and an acknowledged memory is missing from it"


def test_the_command_line_reads_on_a_read_only_file_system_and_fails_what_it_cannot_store(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """S4, V15: reads give no warning, `doctor` reports no damage, and writes exit with 1."""
    where = {"HOME": small_disk / "vault", "KEY_SOURCE": "file", "KEY_FILE": small_disk.parent / "key", "MODEL": "none"}
    for name, value in where.items():
        monkeypatch.setenv(f"ENGRAM_{name}", str(value))
    assert main(["remember", "The harbour opens at six"]) == main(["backup"]) == 0
    capsys.readouterr()
    remount(small_disk, "ro")
    said = {}
    for command in ("list", "doctor", "backups", "attend tea", "remember tea"):
        code = main(command.split())
        shown = capsys.readouterr()
        said[command] = (code, shown.out, shown.err)
    remount(small_disk, "rw")
    assert said["list"][0] == 0
    assert said["list"][1].rstrip().endswith("The harbour opens at six")
    assert said["list"][2] == ""
    assert (said["doctor"][0], "folder: the vault's folder cannot be written" in said["doctor"][1]) == (0, True)
    assert "E1002" not in said["doctor"][1]
    assert "does not verify" not in said["doctor"][1]
    assert "intact" in said["backups"][1]
    assert {(code, "E1003: " in err) for code, _, err in (said["attend tea"], said["remember tea"])} == {(1, True)}


def test_a_missing_database_on_a_read_only_file_system_is_damage(children: Nursery, small_disk: Path) -> None:
    """V15: E1002, not E1003."""
    path = small_disk / "vault"
    open_vault(path).close()
    path.joinpath("vault.db").unlink()
    remount(small_disk, "ro")
    said = children.run("open_read_only", path=str(path))[0]
    remount(small_disk, "rw")
    assert said["code"] == "E1002"


def test_a_vault_cannot_be_made_on_a_read_only_file_system(children: Nursery, small_disk: Path) -> None:
    """V1, V15."""
    remount(small_disk, "ro")
    said = children.run("try_to_open", path=str(small_disk / "vault"), settings={})[0]
    remount(small_disk, "rw")
    assert said["code"] == "E1003"


def test_an_erasure_without_room_for_the_log_is_reported_as_done_and_commits_stay_synced(children: Nursery, path: Path) -> None:
    """V7, V12, V15: the log cannot be emptied and extended again; the erasure itself was committed before."""
    open_vault(path).close()
    said = children.run("erase_under_limit", path=str(path), limit=1_200_000)[0]
    assert said["synchronous"] == 2, "commits are no longer synced"
    assert not (said["gone"] and said["code"]), "an erasure that took place was reported as failed"
