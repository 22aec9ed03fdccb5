"""`engram context` and `engram bench context` on the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from bench.test_recall import STORE
from serve.console import Engram


def test_context_prints_the_block_and_accounts_for_each_memory(made: Engram) -> None:
    made("remember", "The harbour office opens at nine")
    shown = made("context", "when does the harbour office open?", "--budget", "200", "--account")
    assert shown.code == 0
    assert "The harbour office opens at nine" in shown.out
    assert shown.out.count("⟦/engram:recalled⟧") == 1
    assert "full" in shown.out
    assert "of 200 tokens; 1 memory." in shown.err


def test_context_takes_history_and_prints_json(made: Engram, tmp_path: Path) -> None:
    made("remember", "The harbour office opens at nine")
    before = tmp_path / "said.jsonl"
    before.write_text('{"text": "We talked about boats.", "speaker": "user"}\nnot a turn\n')
    told = made("context", "harbour office", "--budget", "300", "--history", str(before), "--json")
    window = told.json
    assert window["tokens"] <= 300
    assert {section["name"] for section in window["sections"]} == {"recalled", "history"}
    assert "line 2" in told.err


def test_context_accepts_chat_messages_as_history(made: Engram, tmp_path: Path) -> None:
    made("remember", "The harbour office opens at nine")
    before = tmp_path / "said.jsonl"
    before.write_text(
        '{"role": "user", "content": "We talked about boats."}\n{"role": "assistant", "content": null}\n{"role": 1}\n'
    )
    told = made("context", "harbour office", "--budget", "300", "--history", str(before))
    assert "user: We talked about boats." in told.out
    assert "line 3" in told.err
    assert "line 2" not in told.err


def test_context_lists_working_memory_line_by_line(made: Engram) -> None:
    made("attend", "The mast is broken")
    made("attend", "The sail is torn")
    assert "## Working on\nThe sail is torn\nThe mast is broken\n" in made("context", "what next?").out


def test_own_sections_come_from_a_file(made: Engram, tmp_path: Path) -> None:
    made("remember", "The harbour office opens at nine")
    own = tmp_path / "own.json"
    own.write_text('[{"title": "Identity", "text": "You are Rex.", "priority": 9, "least": 20}]')
    assert "## Identity\nYou are Rex.\nFrom memory" in made("context", "harbour office", "--sections", str(own)).out
    for wrong in ('[{"title": "Identity"}]', '[{"title": "History", "text": "x"}]', "no JSON"):
        own.write_text(wrong)
        assert made("context", "harbour office", "--sections", str(own)).code in (1, 2)


def test_a_memory_is_shown_by_the_id_that_a_context_cites(made: Engram) -> None:
    made("remember", "The harbour office opens at nine")
    line = made("context", "when does the harbour office open?").out.splitlines()[-2]
    cited = line.partition("]")[0].removeprefix("[")
    assert "The harbour office opens at nine" in made("get", cited).out
    assert made("pin", cited).code == 0


def test_an_unknown_context_profile_is_refused(made: Engram) -> None:
    made("remember", "The harbour office opens at nine")
    refused = made("context", "harbour", "--profile", "party")
    assert refused.code == 1
    assert "chat, task" in refused.err


def test_the_context_benchmark_counts_evidence_by_method(engram: Engram, tmp_path: Path) -> None:
    path = tmp_path / "tiny.jsonl.gz"
    path.write_bytes(gzip.compress((json.dumps(STORE) + "\n").encode()))
    (found,) = engram("bench", "context", str(path), "--tokens", "100,400", "--json").json["files"]
    assert found["questions"] == 3
    assert found["over_budget"] == 0
    assert found["context"]["history"]["400"] == 1.0, "three short turns fit whole"
    assert 0 < found["context"]["packed"]["400"] <= 1.0
    assert found["context"]["packed"]["400"] >= found["context"]["top-k"]["400"]
    assert "packed whole" in engram("bench", "context", str(path), "--tokens", "100").out
