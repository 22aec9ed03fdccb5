"""Commands that answer a question. No encoder is installed, so recall works by words alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from serve.console import Engram

SAID = "Hello! My sister Lena is allergic to peanuts. What do you think?"


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


def test_reason_prints_a_tree_of_evidence_and_its_gaps(made: Engram) -> None:
    made("remember", "The boss of Marta is Quentin")
    made("remember", "Quentin moved to Porto")
    shown = made("reason", "To which city has the boss of Marta moved, and what is the wifi password?")
    lines = [re.sub(r"\d{4}-\d\d-\d\d  (.*)  \[\w{26}\]", r"\1", line) for line in shown.out.splitlines()]
    assert lines == [
        "To which city has the boss of Marta moved, and what is the wifi password?",
        "  1. To which city has the boss of Marta moved?",
        "    The boss of Marta is Quentin",
        "    Quentin moved to Porto",
        "    1.1. To which city has Quentin moved?  (over Quentin)",
        "      Quentin moved to Porto",
        "      The boss of Marta is Quentin",
        "  2. What is the wifi password?",
        "not known: What is the wifi password?",
    ]
    given = json.loads(made("reason", "To which city has the boss of Marta moved?", "--json").out)
    assert (given["answer"], given["citations"], given["evidence"]["parts"][0]["bridge"]) == ("", [], "Quentin")
