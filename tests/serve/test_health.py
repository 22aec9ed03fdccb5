"""Commands on the vault's health: status, doctor, repair."""

from __future__ import annotations

from pathlib import Path

import pytest
from serve.console import Engram


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


def damage(vault: Path) -> None:
    content = bytearray((vault / "vault.db").read_bytes())
    content[4096 * 2 + 100] ^= 0xFF
    (vault / "vault.db").write_bytes(content)
