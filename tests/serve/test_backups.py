"""Commands on backups."""

from __future__ import annotations

from serve.console import Engram


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
