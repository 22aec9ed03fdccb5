"""Commands on the vault as a whole: init, status, doctor, backups, audit, purge."""

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


def test_status_shows_the_figures_of_the_vault(made: Engram, vault: Path) -> None:
    made("--agent", "rex", "remember", "x")
    made("remember", "y")
    health = made("status", "--json").json
    assert health["counts"]["memories"] == 2
    assert health["counts"]["by_status"] == {"active": 2}
    assert set(health) >= {
        "path", "format", "cipher", "latencies", "queue_depth", "queue_limit", "rss_bytes", "pressure", "vault_bytes",
        "pending_embeddings", "degradation", "warnings", "backups", "last_backup", "crashed_before",
    }  # fmt: skip
    page = made("status").out
    for words in (
        str(vault),
        "aegis",
        "active 2; proposition 2",
        "MiB",
        "resident",
        "p50",
        "recall      words",
        "writes      open",
        "index       none",
    ):
        assert words in page
    assert made("--agent", "ada", "status", "--json").json["counts"]["memories"] == 1
    assert made("--agent", "ada", "status", "--all", "--json").json["counts"]["memories"] == 2


def test_a_warning_about_a_setting_is_printed_unless_quiet(made: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_READER_LIMIT", "9999")
    ran = made("status")
    assert "warning: environment: reader_limit = 9999 is outside" in ran.err
    assert "warning: environment: reader_limit = 9999 is outside" in ran.out
    assert made("--quiet", "status").err == ""


def test_the_doctor_finds_nothing_wrong_with_a_sound_vault(made: Engram) -> None:
    made("remember", "x")
    assert made("doctor").lines[-1] == "Nothing is wrong."
    verdict = made("doctor", "--json").json
    assert verdict["ok"] is True
    assert all(finding["severity"] == "info" for finding in verdict["findings"])


def test_the_doctor_mends_what_can_be_mended(made: Engram, vault: Path) -> None:
    (vault / "vault.db").chmod(0o644)
    found = made("doctor")
    assert found.code == 0
    assert "warning  permissions: " in found.out
    assert "mended   permissions: " in made("doctor", "--repair").out
    assert made("doctor").lines[-1] == "Nothing is wrong."


def damage(vault: Path) -> None:
    content = bytearray((vault / "vault.db").read_bytes())
    content[4096 * 2 + 100] ^= 0xFF
    (vault / "vault.db").write_bytes(content)


def test_a_damaged_vault_is_diagnosed_and_a_backup_brings_it_back(made: Engram, vault: Path) -> None:
    kept = made("remember", "worth keeping").id
    assert made("backup").code == 0
    damage(vault)
    refused = made("list")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("E1002: ")
    assert "engram restore-backup" in refused.err
    sick = made("doctor")
    assert sick.code == 1
    assert "error    database: E1002: " in sick.out
    assert made("doctor", "--json").code == 1
    assert {row.split("\t")[3] for row in made("backups").lines} == {"intact"}
    assert made("restore-backup").code == 2
    assert "with 1 memory." in made("restore-backup", "--yes").out
    assert made("show", kept).out.startswith("worth keeping\n")
    assert made("doctor").code == 0


def test_backups_are_made_listed_and_restored_by_number(made: Engram) -> None:
    made("remember", "one")
    first = made("backup", "--json").json
    assert (first["memories"], first["intact"]) == (1, True)
    made("remember", "two")
    assert "holds 2 memories" in made("backup").out
    numbers = [backup["number"] for backup in made("backups", "--json").json["backups"]]
    assert numbers == sorted(numbers, reverse=True)
    restored = made("restore-backup", str(first["number"]), "--yes", "--json").json
    assert restored["number"] == first["number"]
    assert [row.split("\t")[-1] for row in made("list").lines] == ["one"]
    assert made("restore-backup", "999", "--yes").err.startswith("E1008: ")


def test_the_audit_shows_who_did_what_and_never_what_was_said(made: Engram) -> None:
    kept = made("--agent", "rex", "remember", "a secret sentence").id
    made("--agent", "rex", "show", kept)
    made("--agent", "ada", "show", kept)
    rows = [row.split("\t") for row in made("audit").lines]
    assert ["add", "done", "1", "agent:rex", kept] in [row[1:] for row in rows]
    assert ["get", "done", "1", "agent:rex", kept] in [row[1:] for row in rows]
    assert "secret" not in made("audit").out
    assert len(made("audit", "--limit", "1").lines) == 1
    entries = made("--agent", "rex", "audit", "--json").json["entries"]
    assert {entry["scope"]["agent"] for entry in entries} == {"rex"}
    assert {entry["scope"]["agent"] for entry in made("--agent", "rex", "audit", "--all", "--json").json["entries"]} > {"rex"}


def test_a_purge_that_matches_nothing_reports_it(made: Engram) -> None:
    ran = made("purge", "agent", "nobody", "--dry-run")
    assert (ran.code, ran.out) == (0, "Nothing of that name is here.\n")


def test_a_box_is_named_by_its_number(made: Engram) -> None:
    made("remember", "The API runs on Fly.io")
    number = str(made("boxes", "--json").json["boxes"][0]["key"])
    assert "Fly.io" in made("box", number).out
    assert "There is no box of that number" in made("box", "99").err


def test_the_vault_option_overrides_the_environment(made: Engram, tmp_path: Path) -> None:
    made("remember", "here")
    assert made("--vault", str(tmp_path / "other"), "remember", "there").code == 0
    assert [row.split("\t")[-1] for row in made("--vault", str(tmp_path / "other"), "list").lines] == ["there"]


@pytest.mark.parametrize("empty", [False, True])
def test_repair_does_not_replace_a_missing_database_with_an_empty_one(made: Engram, vault: Path, empty: bool) -> None:
    """A repair once took hours, row by row of missing tables, and would have reported an empty vault as repaired."""
    kept = made("remember", "worth keeping").id
    assert made("backup").code == 0
    (vault / "vault.db").write_bytes(b"") if empty else (vault / "vault.db").unlink()
    told = made("doctor", "--repair")
    assert (told.code, "engram restore-backup" in told.out) == (1, True)
    assert made("list").code == 1
    assert made("restore-backup", "--yes").code == 0
    assert made("show", kept).out.startswith("worth keeping\n")
