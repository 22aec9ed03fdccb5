"""Commands on facts."""

from __future__ import annotations

import pytest
from serve.console import Engram


def test_facts_are_learned_listed_and_taken_back_on_the_command_line(made: Engram) -> None:
    old = made("learn", "The office", "is in", "Lisbon").out.strip()
    new = made("learn", "The office", "is in", "Porto", "--json").json["id"]
    made("learn", "The office", "is in", "Faro", "--strength", "hearsay", "--teller", "Tom")
    told = made("beliefs", "office", "--predicate", "is in", "--past", "--json").json["beliefs"]
    assert {(one["object"], one["status"], one["strength"]) for one in told} == {
        ("faro", "contested", "hearsay"),
        ("porto", "held", "stated"),
        ("lisbon", "retracted", "stated"),
    }
    revisions = next(one["revisions"] for one in told if one["object"] == "lisbon")
    assert [(one["relation"], one["memory"]) for one in revisions] == [("replaced_by", new)]
    shown = made("beliefs", "office").out
    assert "replaces lisbon" in shown
    assert "hearsay 0.10" in shown
    assert made("unlearn", new, "the office", "is in").code == 0
    assert [one["object"] for one in made("beliefs", "office", "--json").json["beliefs"] if one["status"] == "held"] == ["lisbon"]
    assert made("show", old, "--json").json["memory"]["status"] == "active"


def test_a_path_is_shown_with_the_memories_of_its_facts(made: Engram) -> None:
    works = made("learn", "Ada", "works at", "Acme", "--since", "2020-01-01").out.strip()
    lies = made("learn", "Acme", "located in", "Oslo", "--many").out.strip()
    told = made("path", "Ada", "Oslo", "--json").json
    assert [step["memory"] for step in told["steps"]] == [works, lies]
    assert works in made("path", "Ada", "Oslo").out
    assert made("path", "Ada", "Oslo", "--as-of", "2019-01-01", "--json").json["steps"] == []
    assert "No chain of known facts" in made("path", "Ada", "Bonn").err
    assert made("path", "Ada", "Oslo", "--predicate", "works at", "--json").json["steps"] == []
    profile = made("entity", "Acme", "--json").json
    assert profile["entity"]["kind"] == "organisation"
    assert [(one["subject"], one["object"]) for one in (*profile["facts"], *profile["object_of"])] == [
        ("acme", "oslo"),
        ("ada", "acme"),
    ]


@pytest.mark.parametrize(
    ("wrong", "way_out"),
    [
        (("--since", "2020-01-01", "--until", "2019-01-01"), "Exchange the two"),
        (("--strength", "quite"), "hearsay"),
        (("--memory", "01M7QCE5YZS57EXQD6NQ98E53W"), "Use an id"),
        (("--kind", "animal"), "person, place"),
    ],
)
def test_a_wrong_argument_is_refused_with_a_way_out(made: Engram, wrong: tuple[str, ...], way_out: str) -> None:
    ran = made("learn", "Ada", "works at", "Acme", *wrong)
    assert ran.code != 0
    assert way_out in ran.err
    assert made("list", "--json").json["memories"] == []
