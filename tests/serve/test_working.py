"""Commands on working memory, checkpoints and gaps."""

from __future__ import annotations

from serve.console import Engram


def test_a_checkpoint_is_resumed_in_the_next_run(engram: Engram) -> None:
    said = engram("--agent", "rex", "checkpoint", "move the API", "--decided", "one region", "--open", "who owns DNS?")
    assert said.code == 0
    assert engram("--agent", "rex", "attend", "the health check is slow", "--json").json == {"gone": []}
    shown = engram("--agent", "rex", "working", "--json").json
    assert [(slot["text"], slot["source"]) for slot in shown["slots"]] == [
        ("move the API", "goal"),
        ("the health check is slow", "said"),
    ]
    found = engram("--agent", "rex", "resume", "--json").json
    assert (found["goal"], found["decided"], found["open"], found["age"]) == (
        "move the API",
        ["one region"],
        ["who owns DNS?"],
        "fresh",
    )
    told = engram("--agent", "rex", "resume")
    assert "who owns DNS?" in told.out
    assert "fresh" in told.err
    assert engram("--agent", "ann", "resume", "--json").json["goal"] == ""


def test_working_memory_is_printed_in_the_form_of_a_prompt(engram: Engram) -> None:
    assert engram("attend", "Ann owns the API").out == "It is in mind.\n"
    assert engram("working", "--form", "xml").lines[1] == "Ann owns the API"
    assert engram("working", "--form", "plain", "--budget", "2", "--json").json["tokens"] <= 2
    assert engram("clear-working").out == "1 slot cleared.\n"
    assert engram("working", "--json").json == {"text": "", "tokens": 0, "slots": []}


def test_an_empty_checkpoint_is_bad_usage(engram: Engram) -> None:
    assert engram("checkpoint").code == 2


def test_gaps_morning_and_context_modes_are_commands(engram: Engram) -> None:
    engram("remember", "The payment API runs in Frankfurt")
    assert engram("recall", "Who painted the mural behind the bakery?", "--json").json["hits"] == []
    assert engram("gaps").code == 0
    engram("checkpoint", "move the API")
    assert "Doing: move the API" in engram("morning").lines
    window = engram("context", "where does the API run?", "--mode", "minimal", "--json").json
    assert len(window["items"]) <= 5
    assert engram("context", "where?", "--mode", "loud").code == 1
