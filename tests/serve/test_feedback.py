"""The command that judges a memory."""

from __future__ import annotations

from serve.console import Engram


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
