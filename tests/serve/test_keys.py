"""`engram key`: describe, export, import and rotate the key of a vault."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from serve.console import Engram


def key_files() -> list[Path]:
    return list((Path(os.environ["ENGRAM_CONFIG"]).parent / "keys").iterdir())


def test_the_key_is_described_and_not_shown(made: Engram) -> None:
    facts = made("key", "--json").json
    assert facts["source"] == "file"
    assert len(facts["fingerprint"]) == 16
    assert facts["fingerprint"] in made("key").out
    assert key_files()[0].read_text().split("\n")[1] not in made("key").out


def test_a_recovery_key_opens_a_copied_vault_whose_key_file_is_lost(made: Engram, vault: Path, tmp_path: Path) -> None:
    kept = made("remember", "still here").id
    exported = made("key", "export")
    assert exported.out.startswith("engram1-")
    assert "can read the vault" in exported.err
    assert made("key", "export", "--json").json == {"recovery_key": exported.out.strip()}
    copy = str(shutil.copytree(vault, tmp_path / "copy"))
    for file in key_files():
        file.unlink()
    assert made("--vault", copy, "show", kept).err.startswith("E1001: ")
    brought = made("--vault", copy, "key", "import", "--to", "file", given=exported.out.encode())
    assert "without it nobody can" in brought.out
    assert made("--vault", copy, "show", kept).out.startswith("still here\n")


def test_a_key_can_be_put_under_a_passphrase(made: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_ARGON2_MEMORY_KIB", "8192")
    kept = made("remember", "still here").id
    text = made("key", "export").out.encode()
    assert made("key", "import", "--to", "passphrase", given=text).err.startswith("E1001: ")
    monkeypatch.setenv("ENGRAM_PASSPHRASE", "correct horse battery staple")
    assert made("key", "import", "--to", "passphrase", "--json", given=text).json["source"] == "passphrase"
    for file in key_files():
        file.unlink()
    assert made("show", kept).code == 0
    assert made("key", "--json").json["kdf"] == "argon2id"


def test_a_recovery_key_of_another_vault_is_refused(made: Engram, vault: Path, tmp_path: Path) -> None:
    made("--vault", str(tmp_path / "other"), "init")
    other = made("--vault", str(tmp_path / "other"), "key", "export").out
    header = (vault / "vault.toml").read_bytes()
    assert made("key", "import", given=other.encode()).err.startswith("E1001: ")
    assert (vault / "vault.toml").read_bytes() == header


@pytest.mark.parametrize("typed", ["", "nonsense", "engram1-AAAA", "engram1-" + "0" * 56])
def test_a_mistyped_recovery_key_is_refused_without_being_repeated(made: Engram, typed: str) -> None:
    refused = made("key", "import", given=typed.encode())
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("E1001: ")
    assert "AAAA" not in refused.err


def test_key_rotation_leaves_the_vault_readable(made: Engram) -> None:
    kept = made("remember", "The harbour is closed on Sundays").id
    before, written = made("key", "--json").json["fingerprint"], made("key", "export").out.strip()
    ran = made("key", "rotate")
    assert ran.out.startswith("The vault has a new key.")
    assert made("key", "--json").json["fingerprint"] != before
    assert [row["id"] for row in made("list", "--json").json["memories"]] == [kept]
    assert made("key", "export").out.strip() != written
    assert len(key_files()) == 1
    assert made("key", "rotate", "--json").json["source"] == "file"
