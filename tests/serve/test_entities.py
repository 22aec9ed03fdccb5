"""Commands on entities."""

from __future__ import annotations

from serve.console import Engram


def test_a_timeline_is_drawn_with_its_peaks(made: Engram) -> None:
    for number, day in enumerate((1, 9, 9)):
        made("remember", f"Ada painted door {number}", "--happened-at", f"2024-03-0{day}T12:00:00Z")
    drawn = made("timeline", "Ada").lines
    assert f"2024-03-01  {'#' * 20} 1" in drawn
    assert f"2024-03-09  {'#' * 40} 2 *" in drawn
    told = made("timeline", "Ada", "--json").json
    assert (told["width"], len(told["buckets"]), told["buckets"][-1]["peak"]) == ("day", 9, True)
    assert "Nothing is known about that." in made("timeline", "nobody").err
    assert "@ada" not in made("entity", "Ada").out  # no handle was ever mentioned


def test_a_profile_shows_roles_facts_and_statements_with_their_sources(made: Engram) -> None:
    made("remember", "My manager is Ada Lovelace", "--happened-at", "2024-03-01T12:00:00Z")
    fact = made("remember", "Ada Lovelace lives in Oslo", "--json").json["id"]
    made("remember", "Tom Baker is my manager now", "--happened-at", "2024-06-01T12:00:00Z")
    shown = made("entity", "Ada").out
    assert "user's manager, 2024-03-01 12:00 to 2024-06-01 12:00" in shown
    assert any(fact in line and "ada lovelace lives in oslo" in line for line in shown.splitlines())
    assert any(fact in line and "Ada Lovelace lives in Oslo" in line for line in shown.splitlines())
    now = made("entity", "my manager", "--json").json
    assert now["entity"]["name"] == "Tom Baker"
    assert [(one["holder"], one["until"] is None) for one in now["holders"]] == [("Tom Baker", True), ("Ada Lovelace", False)]


def test_entities_are_decided_on_and_decisions_taken_back(made: Engram) -> None:
    made("remember", "I met Nimbus in the hall")
    made("remember", "Tom Baker works at Acme")
    decided = made("decide-entity", "Nimbus", "merge", "Tom Baker", "--reason", "his handle")
    assert "Nimbus is Tom Baker." in decided.out
    assert made("entity", "Nimbus", "--json").json["entity"]["name"] == "Tom Baker"
    [listed] = made("entity-decisions", "--json").json["decisions"]
    assert (listed["action"], listed["reason"], listed["undone_at"]) == ("merge", "his handle", None)
    assert "Taken back: Nimbus is Tom Baker." in made("undo-entity-decision", listed["id"]).out
    assert made("entity", "Nimbus", "--json").json["entity"]["name"] == "Nimbus"
    assert "his handle" in made("entity-decisions", "Nimbus").out
    assert made("decide-entity", "Nobody", "kind", "person").err.startswith("E1008: ")


def test_a_split_is_told_as_a_sentence(made: Engram) -> None:
    made("remember", "Robert plays the cello in Leeds")
    other = made("remember", "Robert fixed our sink on Friday").id
    split = made("decide-entity", "Robert", "split", "Robert Miller", "--memory", other)
    assert f"Memory {other} is about Robert Miller, not Robert." in split.out
    made("decide-entity", "Robert", "alias", "Bob")
    assert "The name bob means Bobby, not Robert." in made("decide-entity", "Robert", "split", "Bobby", "--its-name", "Bob").out
