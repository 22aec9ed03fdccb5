"""Commands on episodes, skills and warnings."""

from __future__ import annotations

from serve.console import Engram


def test_episodes_from_a_first_failure_to_a_learned_skill(engram: Engram) -> None:
    begun = engram("begin-episode", "publish", "the", "newsletter", "--with", "ada", "--given", "list=weekly")
    first = begun.id
    assert engram("record", first, "tried", "send", "to", "everyone", "at", "once", "--failed").code == 0
    assert first in engram("episodes", "--outcome", "ongoing").out
    assert "failure" in engram("end-episode", first, "failure", "the mail server blocked us").out
    shown = engram("episode", first).out
    for told in ("publish the newsletter", "ada", "list = weekly", "send to everyone at once (went wrong)", "blocked"):
        assert told in shown
    second = engram("begin-episode", "publish the newsletter")
    assert "careful: Tried and failed: publish the newsletter" in second.err
    assert "mail server blocked us" in engram("warnings", "publish", "the", "newsletter").out
    ids = [second.id]
    for number in range(3):
        if number:
            ids.append(engram("begin-episode", "publish the newsletter").id)
        engram("record", ids[-1], "did", "render the pages")
        engram("record", ids[-1], "did", "send in batches of fifty")
        assert engram("end-episode", ids[-1], "success").code == 0
    skill = engram("skills", "publish the newsletter", "--json").json["skills"][0]["skill"]
    assert [step["text"] for step in skill["steps"]] == ["render the pages", "send in batches of fifty"]
    told = engram("skills").out
    assert "2. send in batches of fifty" in told
    assert "blocked us (1×)" in told
    assert "works" in engram("practise", skill["memory"]["id"], "success").out
    assert "known: How to publish the newsletter" in engram("begin-episode", "publish the newsletter").err
    listed = engram("episodes", "--before", "2100-01-01").lines
    assert len(listed) == 5
    assert (
        engram("episodes", "publish", "newsletter", "--outcome", "failure", "--json").json["episodes"][0]["memory"]["id"] == first
    )


def test_unknown_episodes_are_refused_and_empty_lists_explained(made: Engram) -> None:
    assert made("episode", "nobody").code == 1
    assert made("end-episode", "nobody", "success").code == 1
    assert made("begin-episode").code == 2
    assert "No skill" in made("skills").err
    assert "No episode" in made("episodes").err
    assert "no warnings" in made("warnings").err
