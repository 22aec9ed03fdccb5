"""Conversations written as plain text, and what only looks like one."""

from __future__ import annotations

import pytest

from engram.text.person import third_person
from engram.text.transcript import speeches


def test_each_line_is_of_whom_it_names() -> None:
    text = "Bob: I am allergic to shellfish.\nAlice Brown: My flat is near Termini.\n\nIt has two rooms.\nBob: Nice: very.\n"
    assert speeches(text) == [
        ("Bob", "I am allergic to shellfish."),
        ("Alice Brown", "My flat is near Termini.\n\nIt has two rooms."),
        ("Bob", "Nice: very."),
    ]


def test_what_stands_before_the_first_name_is_nobodys() -> None:
    found = speeches("Lunch in March\n\nZoë: I am vegan.\nuser: me too\n")
    assert found == [("", "Lunch in March"), ("Zoë", "I am vegan."), ("user", "me too")]


@pytest.mark.parametrize(
    "text",
    [
        "", "Bob: I am allergic to shellfish.", "Name: Bob\nAge: 40\nCity: my home", "Kafka: a log.\nRedis: a cache.",
        "Note: I am late.\nTodo: my taxes.", "I met Bob: he is fine.\nI like him.", "Subject: tea\nFrom: Bob\n\nI like tea.",
        "Bob: I wrote this.\nIt goes on.\nAnd on.\nAnd on.\nEve: I did not.", "12:30 I eat\n13:00 I rest",
    ],
)  # fmt: skip
def test_a_form_a_list_and_prose_are_no_conversation(text: str) -> None:
    assert speeches(text) is None


def test_a_million_lines_take_no_longer_than_they_must() -> None:
    assert speeches("Aa" * 500_000 + "\n" + "Bob " * 250_000) is None


def test_the_first_person_after_another_name_is_not_turned() -> None:
    assert third_person("Bob: I am allergic to shellfish.", "user") is None
    assert third_person("Note: I am allergic to shellfish.", "user") == "Note: the user is allergic to shellfish."
