"""Commands that import files. No encoder is installed."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from serve.console import Engram, Terminal

ROWS = [
    {"ref": "a:1", "session": "a", "speaker": "Bo", "text": "I love hiking in the Alps.", "at": "2023-05-08T13:56:40Z"},
    {"ref": "a:2", "session": "a", "speaker": "Ada", "text": "My dentist is called Petrova.", "at": "2023-05-08T13:57:00Z"},
]


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    path = tmp_path / "turns.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


def test_show_prints_the_turns_that_a_memory_came_from(made: Engram, turns: Path) -> None:
    made("import", str(turns))
    memory = made("recall", "dentist", "--limit", "3", "--json").json["hits"][0]["memory"]
    assert memory["refs"] == ["a:2"]
    shown = made("show", memory["id"]).out
    assert "Said\n" in shown
    assert "Ada: My dentist is called Petrova." in shown
    assert "(a:2)" in shown
    assert [turn["ref"] for turn in made("show", memory["id"], "--json").json["turns"]] == ["a:2"]


def test_turns_are_imported_once(engram: Engram, turns: Path) -> None:
    assert engram("import", str(turns)).out == "2 turns heard: 2 kept, 0 merged, 0 dropped.\n"
    again = engram("import", str(turns), "--json").json
    assert (again["counts"]["known"], again["counts"]["turns"]) == (2, 0)
    memory = engram("recall", "hiking", "--limit", "3", "--json").json["hits"][0]["memory"]
    assert (memory["speaker"], memory["session"], memory["happened_at"][:10]) == ("Bo", "a", "2023-05-08")


def test_gzipped_turns_are_imported(made: Engram, turns: Path) -> None:
    packed = turns.with_suffix(".jsonl.gz")
    packed.write_bytes(gzip.compress(turns.read_bytes()))
    assert made("import", str(packed), "--json").json["counts"]["turns"] == 2
    cut = turns.with_name("cut.jsonl.gz")
    cut.write_bytes(gzip.compress(turns.read_bytes())[:-10])
    assert made("import", str(cut)).code == 1


def test_lines_that_are_not_turns_are_reported_and_skipped(made: Engram, turns: Path) -> None:
    good = turns.read_bytes().splitlines()
    bad = [b"nonsense", b"[1]", b'{"speaker": "x"}', b'{"text": 7}', b'{"text": "x", "at": "soon"}', b'{"text": "x", "ref": 1}']
    turns.write_bytes(b"\n".join([good[0], *bad, b"", b'{"text": "\xff"}', good[1]]))
    ran = made("import", str(turns))
    assert ran.code == 1
    assert ran.out == "2 turns heard: 2 kept, 0 merged, 0 dropped.\n"
    assert [line.split("line ")[1].split(":")[0] for line in ran.err.splitlines() if "; skipped." in line] == list("2345679")
    assert "nonsense" not in ran.err
    assert "7 lines skipped." in ran.err
    told = json.loads(made("import", str(turns), "--json").out)
    assert [one["line"] for one in told["refused"]] == [2, 3, 4, 5, 6, 7, 9]


def test_a_text_file_is_imported_as_one_document(made: Engram, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("My dentist is called Petrova.\nI moved to Lisbon in March.\n", "utf-8")
    assert made("import", str(path), "--json").json["counts"]["turns"] == 1
    assert made("import", str(path), "--json").json["counts"] == {"turns": 0, "kept": 0, "merged": 0, "dropped": 0, "known": 1}
    found = made("recall", "Lisbon", "--limit", "3", "--json").json["hits"][0]["memory"]
    assert found["session"] == "notes.txt"
    assert made("import", str(path), "--format", "jsonl").code == 1
    path.write_bytes(b"fine\n\xff\xfe")
    bad = made("import", str(path))
    assert bad.code == 1
    assert "line 2: not UTF-8" in bad.err


def test_a_fully_imported_file_is_wiped_on_request(made: Engram, turns: Path) -> None:
    assert made("import", str(turns), "--wipe").code == 2  # there is no terminal to confirm on
    assert turns.exists()
    ran = made("import", str(turns), "--wipe", "--yes")
    assert "was overwritten and removed" in ran.err
    assert not turns.exists()


def test_a_dry_run_keeps_nothing_and_needs_no_vault(engram: Engram, vault: Path, turns: Path) -> None:
    assert engram("import", str(turns), "--dry-run").out.startswith("2 turns would be heard: 2 statements")
    assert not vault.exists()


@pytest.mark.parametrize("arguments", [("import",), ("import", "/no/such/file"), ("import", "x", "--format", "csv")])
def test_a_bad_import_call_ends_with_exit_code_2(engram: Engram, vault: Path, arguments: tuple[str, ...]) -> None:
    assert engram(*arguments).code == 2
    assert not vault.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
def test_an_import_shows_its_progress_on_a_terminal(vault: Path, turns: Path) -> None:
    code, screen = Terminal("import", str(turns), "--dry-run").end()
    assert code == 0
    assert "2 pieces, turns.jsonl" in screen
    assert "2 turns would be heard" in screen


def test_an_import_of_an_archive_says_what_it_took_over_besides_memories(
    made: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = made("remember", "The API runs on Heroku", "--json").json["id"]
    assert made("review", wrong, "invalidate", "--reason", "it moved").code == 0
    file = tmp_path / "out.engram"
    assert made("export", str(file), given=b"correct horse battery staple\n").code == 0
    monkeypatch.setenv("ENGRAM_HOME", str(tmp_path / "other"))
    ran = made("import", str(file), given=b"correct horse battery staple\n")
    assert "Taken over: 1 correction." in ran.out
    assert made("list", "--status", "invalidated").out.endswith("The API runs on Heroku\n")
