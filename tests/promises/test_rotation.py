"""V4: rotating the key. Killed at any instant, the vault opens with the old key or the new one, and nothing is lost."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import apsw
import pytest
from promises.children import Nursery
from promises.tiers import short_and_long
from promises.vaults_at_hand import OWNER, dated, everything, word

from engram.crypto.keys import MasterKey
from engram.engine import Engram
from engram.env import Env
from engram.errors import VaultBusy, VaultLocked
from engram.settings import LiveSettings
from engram.store.credentials import Credentials
from engram.store.folder import VaultFolder
from engram.store.header import read_header
from engram.store.sqlite import connection as opening
from engram.store.sqlite import maintenance
from engram.types import Sensitivity

Settings = dict[str, object]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return {"backup_hours": 0, "key_source": "file", "key_file": str(tmp_path / "keys" / "vault.key"), "model": "none"}


def opened(path: Path, settings: Settings) -> Engram:
    return Engram.open(path, reader=OWNER, settings=settings)


def filled(path: Path, settings: Settings) -> None:
    with opened(path, settings) as mem:
        for number in range(40):
            mem.remember(f"{word(number, 'rotation')} is kept under a key")
        mem.backup()
        old = mem.remember("The API runs on Heroku")
        mem.feedback(old.id, False, query="Where does the API run?")


def rotate(path: Path, settings: Settings, credentials: Credentials | None = None, **options: Any) -> str:
    live = LiveSettings(settings, monotonic=Env().monotonic)
    return maintenance.rotate_key(path, live, Env(), credentials or Credentials(), **options)


def test_a_vault_holds_the_same_after_its_key_is_rotated(path: Path, settings: Settings) -> None:
    filled(path, settings)
    key_file = Path(str(settings["key_file"]))
    before, old = read_header(path / "vault.toml").key, key_file.read_text()
    with opened(path, settings) as mem:
        held = everything(mem)
    notice = rotate(path, settings)
    assert dated(path) == []
    after = read_header(path / "vault.toml").key
    assert str(key_file) in notice
    assert after.fingerprint != before.fingerprint
    assert after.vault_id == before.vault_id
    with opened(path, settings) as mem:
        assert everything(mem) == held
        assert [backup.intact for backup in mem.backups()] == [True]
        left_out = mem.recall("Where does the API run?", explain=True).left_out
        assert [candidate.stage.value for candidate in left_out] == ["suppressed"]  # the feedback still holds
    stale = MasterKey.from_recovery_text(old.splitlines()[1])
    with pytest.raises(apsw.Error):
        opening.connect_to_read(path / "vault.db", opening.key_for(stale, "aegis"), cache_kib=64)
    assert list(path.glob("**/*.rekey*")) == []


def test_a_confidential_memory_is_readable_after_two_rotations(path: Path, settings: Settings) -> None:
    with opened(path, settings) as mem:
        kept = mem.remember("The piano was paid with 4111 1111 1111 1111")
        assert kept.tier is Sensitivity.CONFIDENTIAL
    for _ in range(2):
        rotate(path, settings)
        with opened(path, settings) as mem:
            assert mem.get(kept.id).text == kept.text
            mem.update(kept.id, importance=0.7)


def test_rotating_the_key_can_change_the_passphrase(path: Path) -> None:
    settings: Settings = {"backup_hours": 0, "key_source": "passphrase", "kdf": "scrypt", "scrypt_log_n": 14}
    with Engram.open(path, reader=OWNER, ask=lambda: "the first words", settings=settings) as mem:
        mem.remember("The harbour is closed on Sundays")
    asked = Credentials(None, lambda: "the first words")
    rotate(path, settings, asked, ask_new=lambda: "other words")
    with pytest.raises(VaultLocked):
        Engram.open(path, reader=OWNER, ask=lambda: "the first words", settings=settings)
    with Engram.open(path, reader=OWNER, ask=lambda: "other words", settings=settings) as mem:
        assert len(mem.list()) == 1


def test_a_key_given_as_bytes_is_rotated_to_another_given_one(path: Path) -> None:
    with Engram.open(path, reader=OWNER, key=b"a" * 32, settings={"backup_hours": 0}) as mem:
        mem.remember("The harbour is closed on Sundays")
    mine = Credentials(lambda: MasterKey(bytearray(b"a" * 32)))
    with pytest.raises(VaultLocked):
        rotate(path, {}, mine)
    rotate(path, {}, mine, new=MasterKey(bytearray(b"b" * 32)))
    with pytest.raises(VaultLocked):
        Engram.open(path, reader=OWNER, key=b"a" * 32, settings={"backup_hours": 0})
    with Engram.open(path, reader=OWNER, key=b"b" * 32, settings={"backup_hours": 0}) as mem:
        assert len(mem.list()) == 1


def test_rotation_is_refused_while_the_vault_is_open(path: Path, settings: Settings) -> None:
    filled(path, settings)
    before = (path / "vault.toml").read_bytes()
    with opened(path, settings), pytest.raises(VaultBusy):
        rotate(path, {**settings, "write_patience_s": 0.1})
    assert (path / "vault.toml").read_bytes() == before


@short_and_long("kills", 6, 200)
def test_a_kill_at_any_line_of_a_rotation_loses_nothing(path: Path, settings: Settings, children: Nursery, kills: int) -> None:
    """V4: at lines drawn by a seeded generator, the first and the last ones among them."""
    filled(path, settings)
    with opened(path, settings) as mem:
        held = everything(mem)["memories"]
    total = children.start("die_in_rotation", path=str(path), settings=settings).rest()[-1]["steps"]
    dice = random.Random(8)
    steps = sorted({1, total - 1, total, *dice.sample(range(2, total - 1), kills)})
    for step in steps:
        status = children.start("die_in_rotation", path=str(path), settings=settings, step=step).wait()
        assert status == -9 or step > total * 0.9, f"step {step} was never reached"
        with opened(path, settings) as mem:  # finishes what was begun
            assert everything(mem)["memories"] == held
            assert all(backup.intact for backup in mem.backups())
        assert read_header(VaultFolder(path).header).next is None
    assert list(path.glob("**/*.rekey*")) == []
