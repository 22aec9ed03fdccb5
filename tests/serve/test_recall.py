"""Commands that capture, import and answer. No encoder is installed, so recall works by words alone."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from serve.console import Engram, Terminal

SAID = "Hello! My sister Lena is allergic to peanuts. What do you think?"
ROWS = [
    {"ref": "a:1", "session": "a", "speaker": "Bo", "text": "I love hiking in the Alps.", "at": "2023-05-08T13:56:40Z"},
    {"ref": "a:2", "session": "a", "speaker": "Ada", "text": "My dentist is called Petrova.", "at": "2023-05-08T13:57:00Z"},
]


@pytest.fixture
def turns(tmp_path: Path) -> Path:
    path = tmp_path / "turns.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


def test_what_is_observed_is_reported_piece_by_piece(engram: Engram) -> None:
    heard = engram("observe", "--speaker", "Ada", SAID)
    rows = [line.split("\t") for line in heard.lines]
    assert [(row[0], row[3]) for row in rows] == [
        ("dropped", "Hello!"),
        ("kept", "My sister Lena is allergic to peanuts."),
        ("dropped", "What do you think?"),
    ]
    assert [row[2] for row in rows if row[0] == "dropped"] == ["greeting", "question"]
    assert "1 turn: 1 kept, 0 merged, 2 dropped." in heard.err
    again = engram(
        "observe",
        "--speaker",
        "Ada",
        "-",
        given=SAID.encode(),
    ).lines
    assert [line.split("\t")[:2] for line in again][1] == ["merged", rows[1][1]]


def test_an_exchange_is_observed_as_two_turns(made: Engram) -> None:
    report = made("observe", "--user", "I bought a red bicycle.", "--assistant", "Great!", "--json").json
    assert report["counts"]["turns"] == 2
    assert {one["fate"] for one in report["verdicts"]} == {"kept", "dropped"}
    assert all(one["reason"] for one in report["verdicts"])
    assert made("list", "--json").json["memories"][0]["id"] == report["ids"][0]


@pytest.mark.parametrize("arguments", [("observe",), ("observe", "x", "--user", "y")])
def test_observe_takes_its_turns_in_exactly_one_way(engram: Engram, vault: Path, arguments: tuple[str, ...]) -> None:
    assert engram(*arguments).code == 2
    assert not vault.exists()


def test_a_question_is_answered_with_score_trust_time_and_text(made: Engram) -> None:
    made("observe", "--speaker", "Ada", SAID)
    found = made("recall", "who", "has", "trouble with peanuts?", "--limit", "3")
    score, trust, when, memory, text = found.lines[0].split("\t")
    assert float(score) >= 0
    assert 0 < float(trust) <= 1
    assert len(when) == 16
    assert made("show", memory).code == 0
    assert "peanuts" in text
    assert "degraded: " in found.err
    assert "(1 hit, " in found.err
    assert "note: no model is installed" in found.err


def test_recall_explain_prints_reasons_and_what_was_left_out(made: Engram) -> None:
    made("observe", SAID)
    shown = made("recall", "--explain", "peanuts", "--limit", "3").out
    assert "why    words #1 (" in shown
    assert "relevance 1.00" in shown
    hit = made("recall", "peanuts", "--limit", "3", "--json").json["hits"][0]
    assert hit["why"]["signals"][0]["arm"] == "words"
    assert set(hit["trust"]) == {"relevance", "accuracy", "freshness", "utility", "composite"}


def test_limit_and_budget_bound_the_answer(made: Engram) -> None:
    for place in ("Oslo", "Rome", "Lima"):
        made("remember", f"The harbour of {place} was full of ships")
    assert len(made("recall", "harbour", "--limit", "2", "--json").json["hits"]) == 2
    whole = made("recall", "harbour", "--limit", "9", "--json").json
    assert len(whole["hits"]) == 3
    whole = made("recall", "harbour", "--limit", "9", "--budget", "100000", "--json").json
    less = made("recall", "harbour", "--limit", "9", "--budget", str(whole["quality"]["tokens"] - 1), "--json").json
    assert len(less["hits"]) == 2
    assert less["quality"]["tokens"] < whole["quality"]["tokens"]


def test_an_empty_answer_succeeds_and_names_its_outcome(made: Engram) -> None:
    nothing = made("recall", "volcano")
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err.startswith(("nothing_known: ", "degraded: "))
    assert made("--quiet", "recall", "volcano").err == ""


def test_a_courtesy_is_answered_with_one_sentence(made: Engram) -> None:
    assert made("recall", "hello").err == "note: a courtesy asks for nothing: nothing was looked up.\n"


@pytest.mark.parametrize("arguments", ["recall", "recall x --limit 0", "recall x --budget none", "recall x --limit -1"])
def test_a_bad_recall_call_ends_with_exit_code_2(engram: Engram, arguments: str) -> None:
    assert engram(*arguments.split()).code == 2


def test_recall_does_not_make_a_vault(engram: Engram, vault: Path) -> None:
    assert engram("recall", "x").code == 1
    assert not vault.exists()


def test_stored_escape_sequences_are_inert_in_an_answer(made: Engram) -> None:
    made("remember", "peanuts \x1b[2J\u202eevil")
    for shown in (
        made("recall", "peanuts", "--limit", "3"),
        made("recall", "--explain", "--limit", "3", "peanuts"),
        made("observe", "I like \x1b[2Jtea."),
    ):
        assert shown.code == 0
        assert "\x1b" not in shown.out
        assert "\u202e" not in shown.out


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


def test_feedback_counts_suppresses_and_corrects(engram: Engram) -> None:
    one = engram("remember", "The API runs on Heroku").id
    assert "1 found it helpful, 0 did not" in engram("feedback", one).out
    judged = engram("feedback", one, "--unhelpful", "--query", "Where does the API run?", "--json").json
    assert (judged["helpful"], judged["unhelpful"]) == (1, 1)
    found = engram("recall", "Where does the API run?", "--explain", "--json").json
    assert [(left["id"], left["stage"]) for left in found["left_out"]] == [(one, "suppressed")]
    assert engram("recall", "What is on Heroku?", "--json").json["hits"]
    new = engram("feedback", one, "--correction", "The API runs on Fly").id
    assert [row["id"] for row in engram("list", "--json").json["memories"]] == [new]
    again = engram("feedback", one, "--correction", "The API runs on Fly", "--json").json
    assert again["id"] == new
    assert engram("feedback", one, "--helpful", "--correction", "No").code == 2
    assert engram("feedback", one, "--correction", "The API runs on AWS").code == 1
    heard = engram("observe", "The API runs on Heroku.")
    assert "was corrected" in heard.out


def test_reason_prints_a_tree_of_evidence_and_its_gaps(made: Engram) -> None:
    made("remember", "The boss of Marta is Quentin")
    made("remember", "Quentin moved to Porto")
    shown = made("reason", "To which city has the boss of Marta moved, and what is the wifi password?")
    assert "Quentin moved to Porto" in shown.out
    assert "gap: nothing is known to 'what is the wifi password?'" in shown.err


def test_knows_prints_one_subject_or_a_table_of_all(engram: Engram) -> None:
    for text in ("Carla lives in Lisbon", "Carla speaks four languages", "Carla repairs violins"):
        engram("remember", text)
    shown = engram("knows", "Carla").lines
    assert shown[0] == "Carla  ########..  confident"
    assert shown[1].startswith("Well known: 3 memories")
    assert engram("knows", "kubernetes").lines == ["kubernetes  ..........  unknown", "Nothing is known of this."]
    listed = engram("knows")
    assert listed.lines[0].split("\t")[:4] == ["Carla", "########..", "confident", "person"]
    assert "Best known: Carla." in listed.err
    (found,) = engram("knows", "Carla", "--json").json["domains"]
    assert (found["level"], found["figures"]["memories"], len(found["evidence"])) == ("confident", 3, 3)
