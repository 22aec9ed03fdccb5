"""Flipped bytes, truncated or missing files and wrong keys give the stored rows or an error code, nothing else (V2, V15)."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from promises.children import Nursery
from promises.vaults_at_hand import OWNER, SPACE, credentials, everything, files, halves, open_vault, store_of, word

from engram.engine import Engram
from engram.env import Env
from engram.errors import EngramError, VaultDamaged, VaultLocked
from engram.settings import LiveSettings
from engram.store.sqlite import maintenance
from engram.types import Edge, Memory, Scope, Status

PAGE = 4096
MEMORIES = 120


def fill(mem: Engram, count: int = MEMORIES) -> list[str]:
    """Add rows to every table."""
    dice = random.Random(7)
    store = store_of(mem)
    kept = store.memories.add(
        OWNER,
        [
            Memory(
                text=" ".join(word(dice.randrange(900), f"w{number}") for _ in range(dice.randrange(3, 60))),
                scope=Scope(agent=f"agent-{number % 3}"),
                attributes={"number": str(number)},
            )
            for number in range(count)
        ],
    )
    ids = [memory.id for memory in kept]
    for number in range(0, count, 5):
        store.memories.update(OWNER, ids[number], {"text": f"{word(number, 'newer')} {kept[number].text}"})
        store.memories.set_status(OWNER, ids[number], Status.ARCHIVED, f"{word(number, 'why')}")
    store.edges.put(OWNER, [Edge(ids[n], ids[n + 1], "next") for n in range(count - 1)])
    store.vectors.put(OWNER, SPACE, {m.key: bytes([m.key % 256]) * 256 for m in kept}, model="m", dimensions=252)
    return ids


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A closed vault, and all that it holds as `everything` returns it."""
    path = tmp_path_factory.mktemp("damage") / "vault"
    with open_vault(path) as mem:
        fill(mem)
        held = everything(mem)
    return path, held


def flip(file: Path, offset: int, mask: int) -> None:
    with file.open("r+b") as stream:
        stream.seek(offset)
        byte = stream.read(1)[0]
        stream.seek(offset)
        stream.write(bytes([byte ^ mask]))


def read_all(path: Path) -> dict[str, Any] | str:
    """Return all that the vault holds, or the code of its refusal; any other error breaks the promise."""
    try:
        mem = open_vault(path)
    except EngramError as error:
        return error.code
    try:
        return everything(mem)
    except EngramError as error:
        return error.code
    finally:
        mem.close()


def verdicts(original: Path, held: dict[str, Any], tmp_path: Path, flips: list[tuple[int, int]]) -> tuple[list[str], int]:
    """Flip one byte at a time; return the broken promises, and how often the damage was noticed."""
    path = tmp_path / "flipped"
    shutil.copytree(original, path)
    whole = path.joinpath("vault.db").read_bytes()
    wrong, noticed = [], 0
    for offset, mask in flips:
        path.joinpath("vault.db").write_bytes(whole)
        flip(path / "vault.db", offset, mask)
        before = files(path)
        try:
            found = read_all(path)
        except BaseException as error:
            wrong.append(f"byte {offset} ^ {mask:#x}: {type(error).__name__} {error}"[:160])
            continue
        if found == "E1002":
            noticed += 1
            if files(path) != before:
                wrong.append(f"byte {offset} ^ {mask:#x}: refused, yet the files changed")
        elif found != held:
            wrong.append(f"byte {offset} ^ {mask:#x}: {found if isinstance(found, str) else 'other content'}")
    return wrong, noticed


def test_a_flipped_byte_in_the_header_of_the_database_is_noticed(intact: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """V2, V15: bytes 0 to 100, those that are not encrypted with two masks."""
    wrong, noticed = verdicts(
        *intact, tmp_path, [*((offset, 0x01) for offset in range(101)), *((offset, 0xFF) for offset in range(14, 34))]
    )
    assert wrong == []
    assert noticed > 100


def test_a_flipped_byte_in_any_page_gives_the_stored_rows_or_e1002(intact: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """V2, V15: every page in use, some free ones, and random offsets; damage to rows is noticed."""
    size = intact[0].joinpath("vault.db").stat().st_size
    dice = random.Random(11)
    pages = [*range(130), *range(130, size // PAGE, 5)]
    flips = [(page * PAGE + dice.randrange(PAGE), 1 << dice.randrange(8)) for page in pages]
    flips += [(dice.randrange(size), dice.randrange(1, 256)) for _ in range(20)]
    wrong, noticed = verdicts(*intact, tmp_path, flips)
    assert wrong == []
    assert noticed > 30


def test_damage_in_a_free_page_stops_neither_writing_nor_backups(intact: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """V9, V15: a flipped byte in a free page must not surface as a failing write or backup days later."""
    path = tmp_path / "vault"
    shutil.copytree(intact[0], path)
    pages = path.joinpath("vault.db").stat().st_size // PAGE
    for page in range(pages - 12, pages):
        flip(path / "vault.db", page * PAGE + 100, 0x10)
    try:
        mem = open_vault(path)
    except VaultDamaged:
        return  # noticed: that is an answer too
    failed = []
    with mem:
        for what, work in (("backup", mem.backup), ("write", lambda: [mem.remember(word(n, "x") * 200) for n in range(60)])):
            try:
                work()
            except EngramError as error:
                failed.append(f"{what}: {error}")
    assert failed == []


@pytest.mark.parametrize("size", [0, 1, 100, 512, PAGE - 1, PAGE, PAGE + 1, 10 * PAGE, 100 * PAGE, -1, -PAGE])
def test_a_database_cut_short_is_damage_and_never_an_empty_vault(
    intact: tuple[Path, dict[str, Any]], tmp_path: Path, size: int
) -> None:
    """V15: truncated anywhere, also to nothing; the file is not changed."""
    original, held = intact
    path = tmp_path / "vault"
    shutil.copytree(original, path)
    whole = path.joinpath("vault.db").read_bytes()
    path.joinpath("vault.db").write_bytes(whole[:size])
    before = files(path)
    found = read_all(path)
    assert found == "E1002" or (found == held and size < 0)
    if found == "E1002":
        assert files(path) == before


@pytest.mark.parametrize("gone", ["vault.db", "vault.toml"])
def test_a_missing_file_is_damage_and_never_an_empty_vault(
    intact: tuple[Path, dict[str, Any]], tmp_path: Path, gone: str
) -> None:
    """V2, V15: no new file is made in its place."""
    path = tmp_path / "vault"
    shutil.copytree(intact[0], path)
    path.joinpath(gone).unlink()
    before = files(path)
    for _ in range(2):
        assert read_all(path) == "E1002"
    assert files(path) == before


def test_a_folder_that_held_a_vault_is_not_taken_for_a_new_one(path: Path) -> None:
    """V2, V15: header and database are gone, backups and log are left: the loss of a vault must not go unnoticed."""
    with open_vault(path) as mem:
        mem.remember("kept")
        mem.backup()
    path.joinpath("vault.db").unlink()
    path.joinpath("vault.toml").unlink()
    assert read_all(path) == "E1002"


@pytest.mark.parametrize("name", ["vault.toml", "vault.db"])
def test_a_folder_in_place_of_a_file_is_damage(intact: tuple[Path, dict[str, Any]], tmp_path: Path, name: str) -> None:
    """V15, V17: the error is Engram's, not the operating system's."""
    path = tmp_path / "vault"
    shutil.copytree(intact[0], path)
    path.joinpath(name).unlink()
    path.joinpath(name).mkdir()
    assert read_all(path) in ("E1002", "E1003")


def test_a_flipped_byte_in_the_public_header_is_damage(intact: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """V15: every byte of vault.toml but its comment; the error is damage, not a wrong key."""
    original, held = intact
    path = tmp_path / "vault"
    shutil.copytree(original, path)
    whole = path.joinpath("vault.toml").read_bytes()
    wrong, noticed = [], 0
    for offset in range(len(whole)):
        mask = (0x01, 0x20, 0x80)[offset % 3]
        path.joinpath("vault.toml").write_bytes(whole)
        flip(path / "vault.toml", offset, mask)
        before = files(path)
        try:
            with open_vault(path) as mem:
                found = mem.health().counts == held["counts"]
        except EngramError as error:
            noticed += 1
            if error.code != "E1002":
                wrong.append(f"byte {offset} ^ {mask:#x}: {error.code}")
            if files(path) != before:
                wrong.append(f"byte {offset} ^ {mask:#x}: the files changed")
        except Exception as error:
            wrong.append(f"byte {offset} ^ {mask:#x}: {type(error).__name__} {error}"[:160])
        else:
            # In the comment, or where TOML allows more than one spelling: a space, a line end.
            harmless = offset < whole.index(b"\n") or whole[offset : offset + 1].isspace()
            if not (found and harmless):
                wrong.append(f"byte {offset} ^ {mask:#x} ({whole[offset : offset + 1]!r}): taken as it is")
    assert wrong == []
    assert noticed > len(whole) / 2


def test_a_public_header_cut_short_is_damage(intact: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """V15."""
    path = tmp_path / "vault"
    shutil.copytree(intact[0], path)
    whole = path.joinpath("vault.toml").read_bytes()
    for size in range(0, len(whole) - 1, 5):
        path.joinpath("vault.toml").write_bytes(whole[:size])
        assert read_all(path) == "E1002", size


def test_the_header_of_another_vault_does_not_open_this_one(intact: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    """V2: an intact header with another key gives a wrong key or damage, never rows and never an empty vault."""
    path, other = tmp_path / "vault", tmp_path / "other"
    shutil.copytree(intact[0], path)
    open_vault(other, key=bytes(32)).close()
    shutil.copy(other / "vault.toml", path / "vault.toml")
    assert read_all(path) == "E1001"
    with pytest.raises(EngramError) as caught:
        open_vault(path, key=bytes(32))
    assert caught.value.code in ("E1001", "E1002")


def test_a_damaged_log_of_a_crashed_vault_gives_an_earlier_state_or_e1002(children: Nursery, tmp_path: Path) -> None:
    """V7, V15: SQLite ignores the log from the first frame it cannot verify; the earlier state is whole."""
    made = tmp_path / "made"
    open_vault(made).close()
    holder = children.start("hold_open", path=str(made))
    holder.line()
    holder.kill()
    with_log = files(made)["vault.db-wal"][0]
    assert with_log > 0
    dice = random.Random(13)
    offsets = [0, 4, 8, 12, 16, 20, 24, 28, 31, 32, 36, 40, 48, 56, 100, *(dice.randrange(with_log) for _ in range(16))]
    for offset in offsets:
        path = tmp_path / f"at-{offset}"
        shutil.copytree(made, path)
        flip(path / "vault.db-wal", offset, 0x04)
        found = read_all(path)
        if isinstance(found, dict):
            assert len(found["memories"]) in (0, 1)
            assert halves(path) == {}
        else:
            assert found == "E1002"


def test_a_refused_open_of_a_crashed_and_damaged_vault_changes_no_byte(children: Nursery, tmp_path: Path) -> None:
    """V15: `nothing was overwritten` holds with a log beside the damaged file too."""
    path = tmp_path / "vault"
    with open_vault(path) as mem:
        fill(mem)
    holder = children.start("hold_open", path=str(path))
    holder.line()
    holder.kill()
    for page in range(2, 40):
        flip(path / "vault.db", page * PAGE + 2000, 0x10)
    path.joinpath("vault.db-shm").unlink(missing_ok=True)
    before = files(path)
    assert read_all(path) == "E1002"
    after = files(path)
    after.pop("vault.db-shm", None)
    assert after == before


def test_a_wrong_key_is_e1001_and_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V2, V3: a key given as bytes, in a key file, or from a passphrase."""
    given = tmp_path / "given"
    open_vault(given).close()
    before = files(given)
    for key in (bytes(32), None):
        with pytest.raises(VaultLocked):
            open_vault(given, key=key)
    assert files(given) == before

    filed, key_file = tmp_path / "filed", tmp_path / "a.key"
    quiet = {"backup_hours": 0}
    Engram.open(filed, settings={**quiet, "key_source": "file", "key_file": str(key_file)}).close()
    Engram.open(tmp_path / "other", settings={**quiet, "key_source": "file", "key_file": str(tmp_path / "b.key")}).close()
    before = files(filed)
    content = key_file.read_bytes()
    for wrong in (tmp_path.joinpath("b.key").read_bytes(), content.replace(b"engram1", b"engram2"), content[:-9], b"", None):
        key_file.unlink()
        if wrong is not None:
            key_file.write_bytes(wrong)
            key_file.chmod(0o600)
        with pytest.raises(VaultLocked):
            Engram.open(filed, settings={**quiet, "key_file": str(key_file)})
        key_file.touch()
    assert files(filed) == before

    under = tmp_path / "under"
    cheap = {**quiet, "key_source": "passphrase", "argon2_memory_kib": 8192}
    monkeypatch.setenv("ENGRAM_PASSPHRASE", "the right words")
    Engram.open(under, settings=cheap).close()
    before = files(under)
    monkeypatch.setenv("ENGRAM_PASSPHRASE", "the wrong words")
    with pytest.raises(VaultLocked):
        Engram.open(under, settings=cheap)
    monkeypatch.delenv("ENGRAM_PASSPHRASE")
    with pytest.raises(VaultLocked):
        Engram.open(under, settings=cheap)
    assert files(under) == before


def examine(path: Path, *, mend: bool) -> list[Any]:
    env = Env()
    return maintenance.examine(path, LiveSettings({}, monotonic=env.monotonic), env, credentials(), mend=mend)


def test_mending_a_damaged_vault_saves_most_rows_and_keeps_the_old_file(
    intact: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    """V9, V15: several pages are damaged at once; the saved rows are unchanged and found by their words."""
    original, held = intact
    texts = {row["id"]: row["text"] for row in held["memories"]}
    mended = 0
    for seed in range(8):
        path = tmp_path / f"vault-{seed}"
        shutil.copytree(original, path)
        dice = random.Random(seed)
        for page in dice.sample(range(3, 120), 2):
            flip(path / "vault.db", page * PAGE + 1000, 0x40)
        damaged = files(path)["vault.db"]
        if read_all(path) != "E1002":
            continue
        found = examine(path, mend=False)
        assert any("E1002" in finding.what for finding in found)
        assert files(path)["vault.db"] == damaged, "looking changed the file"
        tried = examine(path, mend=True)
        if not any(finding.mended for finding in tried):  # a page that names the tables: then only a backup helps
            assert any("restore-backup" in finding.way_out for finding in tried), (seed, tried)
            assert files(path)["vault.db"] == damaged, "what could not be mended was changed"
            continue
        mended += 1
        with open_vault(path) as mem:
            saved = everything(mem)
            got = {row["id"]: row["text"] for row in saved["memories"]}
            assert got.items() <= texts.items(), "what was saved is not what was stored"
            assert len(got) > 0.6 * len(texts)
            assert all(row["key"] in saved["found"].get(row["id"], [row["key"]]) for row in saved["memories"])
            mem.remember("written after the repair")
        kept = list(path.joinpath("backups").glob("replaced-*.db"))
        assert [files(path)[f"backups/{file.name}"] for file in kept] == [damaged], "the old file is not as it was"
        assert path.joinpath("vault.db").stat().st_size % (512 * 1024) == 0
        assert all(file.stat().st_mode & 0o077 == 0 for file in path.rglob("*") if file.is_file())
    assert mended >= 3


def test_a_vault_whose_database_is_gone_is_restored_from_its_backup(path: Path) -> None:
    """V9: with the database missing or damaged; the damaged one is kept beside the backups."""
    with open_vault(path) as mem:
        kept = mem.remember("in the backup")
        mem.backup()
    env = Env()
    live = LiveSettings({}, monotonic=env.monotonic)
    path.joinpath("vault.db").unlink()
    assert maintenance.restore_backup(path, live, env, credentials()).memories == 1
    with open_vault(path) as mem:
        assert mem.get(kept.id) == kept
    flip(path / "vault.db", 50, 0x01)
    maintenance.restore_backup(path, live, env, credentials())
    with open_vault(path) as mem:
        assert mem.get(kept.id) == kept
        assert mem.check() == []
    assert len(list(path.joinpath("backups").glob("replaced-*.db"))) == 1


def test_a_damaged_backup_is_not_restored(path: Path) -> None:
    """V9: the newest intact backup is restored instead."""
    with open_vault(path) as mem:
        mem.remember("one")
        mem.backup()
        mem.remember("two")
        newest = mem.backup()
    flip(newest.path, 9000, 0x01)
    env = Env()
    chosen = maintenance.restore_backup(path, LiveSettings({}, monotonic=env.monotonic), env, credentials())
    assert chosen.number == newest.number - 1
    with open_vault(path) as mem:
        assert [memory.text for memory in mem.list()] == ["one"]
