"""`consolidate`, `dream`, `dreams` and `undo-dream` on the command line."""

from __future__ import annotations

import json

import pytest
from serve.console import Engram, Terminal

PAIR = ("The API runs on Fly in Frankfurt", "The API also runs on Fly in Frankfurt")


def test_a_pass_is_previewed_run_listed_and_undone(made: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    for text in PAIR:
        assert made("remember", text).code == 0

    tried = json.loads(made("consolidate", "--dry-run", "--json").out)
    assert tried["counts"]["merge.merged"] == 1
    assert "nothing was changed" in tried["notes"][0]
    assert json.loads(made("dreams", "--json").out)["passes"] == []

    done = json.loads(made("dream", "--job", "merge", "--json").out)
    assert done["ending"] == "done"
    assert len(json.loads(made("list", "--json").out)["memories"]) == 1
    shown = made("dreams")
    assert done["pass_id"] in shown.out
    assert "merge.merged 1" in shown.out
    assert "at rest" in made("status").out
    assert "not by itself" not in made("status").out
    monkeypatch.setenv("ENGRAM_DREAM", "false")
    assert "not by itself" in made("status").out

    assert made("undo-dream", done["pass_id"]).code == 0
    assert len(json.loads(made("list", "--json").out)["memories"]) == 2
    assert made("undo-dream", done["pass_id"]).code == 1
    assert "changed" in made("consolidate").out


def test_a_pass_shows_its_progress_on_a_terminal(made: Engram) -> None:
    made("remember", PAIR[0])
    watched = Terminal("consolidate", "--dry-run")
    code, screen = watched.end()
    assert code == 0
    assert "merge: 1 looked at" in screen
    narrow = Terminal("consolidate", "--dry-run", environment={"COLUMNS": "12"}).end()[1]
    assert ("merge: 1 l…" in narrow, "merge: 1 looked at" in narrow) == (True, False)
    assert "\x1b" not in Terminal("consolidate", "--dry-run", environment={"TERM": "dumb"}).end()[1]
    assert "looked at" not in made("consolidate", "--dry-run").err


def test_an_unknown_job_is_refused_by_name(made: Engram) -> None:
    ran = made("dream", "--job", "nonsense")
    assert ran.code == 1
    assert "merge" in ran.err
