"""The command that makes a vault, and the options that name it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from serve.console import Engram

import engram as library
from engram import settings

KEY_SENTENCE = "has that file can read the vault, and without it nobody can"


def test_init_prints_the_places_of_vault_and_key(engram: Engram, vault: Path) -> None:
    made = engram("init")
    assert made.lines[0] == f"The vault is at {vault}."
    assert KEY_SENTENCE in made.lines[1]
    assert (vault / "vault.db").exists()


def test_a_second_init_reports_the_existing_vault(made: Engram, vault: Path) -> None:
    before = (vault / "vault.toml").read_bytes()
    again = made("init")
    assert (again.code, again.out) == (0, f"There is a vault at {vault} already. Nothing was changed.\n")
    assert made("init", "--json").json["made"] is False
    other = made("init", "--cipher", "sqlcipher")
    assert (other.code, other.out) == (1, "")
    assert other.err.startswith("E5003: ")
    assert made("init", "--passphrase").code == 1
    assert (vault / "vault.toml").read_bytes() == before


def test_a_hidden_vault_is_found_by_the_configuration_and_a_decoy_holds_nothing(
    engram: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ENGRAM_HOME")
    usual = settings.data_folder()
    facts = engram("init", "--hidden", "--decoy", "--json").json
    path = Path(facts["path"])
    assert (path.parent, path.name[0], facts["made"]) == (usual.parent, ".", True)
    assert "engram" not in path.name
    assert path.stat().st_mode & 0o077 == 0
    assert engram("remember", "The piano is black").code == 0
    assert engram("status", "--json").json["path"] == str(path)
    assert engram("doctor").code == 0
    assert engram("config", "get", "home").out.strip() == str(path)
    with library.open(agent="rex", role="owner") as mem:
        assert [one.text for one in mem.list()] == ["The piano is black"]
    assert [one.name for one in usual.iterdir()] == ["settings.db"]
    decoy = (usual / "settings.db").read_bytes()
    assert decoy.startswith(b"SQLite format 3")
    assert b"theme" in decoy
    assert b"piano" not in decoy
    assert str(path).encode() not in decoy
    again = engram("init", "--hidden", "--decoy", "--json").json
    assert (again["path"], again["made"]) == (str(path), False)
    assert (usual / "settings.db").read_bytes() == decoy


def test_init_hidden_refuses_a_vault_that_cannot_be_hidden(engram: Engram, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engram("init", "--decoy").code == 2
    assert engram("--vault", str(vault), "init", "--hidden").code == 2
    assert engram("init", "--hidden").code == 1, "ENGRAM_HOME names another place"
    monkeypatch.delenv("ENGRAM_HOME")
    assert engram("init").code == 0
    refused = engram("init", "--hidden")
    assert (refused.code, refused.out) == (1, "")
    assert "move the folder" in refused.err


def test_the_home_setting_names_the_default_vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENGRAM_HOME", raising=False)
    with library.open(settings={"home": str(tmp_path / "elsewhere"), "model": "none"}) as mem:
        mem.remember("The piano is black")
    assert (tmp_path / "elsewhere" / "vault.db").exists()


def test_init_accepts_a_cipher(engram: Engram, vault: Path) -> None:
    facts = engram("init", "--cipher", "sqlcipher", "--json").json
    assert (facts["path"], facts["made"], facts["cipher"], facts["key"]["source"]) == (str(vault), True, "sqlcipher", "file")
    assert KEY_SENTENCE in facts["notice"]
    assert tomllib.loads((vault / "vault.toml").read_text())["cipher"] == "sqlcipher"
    assert engram("remember", "x").code == 0
    assert engram("status", "--json").json["cipher"] == "sqlcipher"


def test_a_passphrase_vault_opens_with_the_passphrase_only(engram: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_ARGON2_MEMORY_KIB", "8192")
    assert engram("init", "--passphrase").err.startswith("E1001: ")
    monkeypatch.setenv("ENGRAM_PASSPHRASE", "correct horse battery staple")
    assert "under your passphrase" in engram("init", "--passphrase").out
    assert engram("key", "--json").json["source"] == "passphrase"
    assert engram("remember", "x").code == 0
    monkeypatch.setenv("ENGRAM_PASSPHRASE", "wrong")
    refused = engram("list")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("E1001: The passphrase does not open this vault.\n")
    monkeypatch.delenv("ENGRAM_PASSPHRASE")
    assert "ENGRAM_PASSPHRASE" in engram("list").err


@pytest.mark.parametrize("command", ["list", "status", "backup", "audit", "key", "show x", "restore-backup --yes", "key export"])
def test_nothing_but_init_and_remember_makes_a_vault(engram: Engram, vault: Path, command: str) -> None:
    refused = engram(*command.split())
    assert refused.code == 1
    assert refused.err.startswith(f"E1008: there is no vault at {vault}.\n")
    assert engram("doctor").lines[0] == f"warning  vault: there is no vault at {vault}."  # instead of "Nothing is wrong"
    assert "Nothing is wrong." not in engram("doctor").out
    assert not vault.exists()


def test_a_warning_about_a_setting_is_printed_unless_quiet(made: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_READER_LIMIT", "9999")
    ran = made("status")
    assert "warning: environment: reader_limit = 9999 is outside" in ran.err
    assert "warning: environment: reader_limit = 9999 is outside" in ran.out
    assert made("--quiet", "status").err == ""


def test_the_vault_option_overrides_the_environment(made: Engram, tmp_path: Path) -> None:
    made("remember", "here")
    assert made("--vault", str(tmp_path / "other"), "remember", "there").code == 0
    assert [row.split("\t")[-1] for row in made("--vault", str(tmp_path / "other"), "list").lines] == ["there"]
