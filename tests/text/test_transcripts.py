"""Conversations written as plain text, and what only looks like one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.text.transcripts import speeches


def said(text: str) -> list[tuple[str, str]]:
    return [(speech.speaker, speech.text) for speech in speeches(text) or ()]


def test_each_line_is_of_whom_it_names() -> None:
    text = "Bob: I am allergic to shellfish.\nAlice Brown: My flat is near Termini.\n\nIt has two rooms.\nBob: Nice: very.\n"
    assert said(text) == [
        ("Bob", "I am allergic to shellfish."),
        ("Alice Brown", "My flat is near Termini.\n\nIt has two rooms."),
        ("Bob", "Nice: very."),
    ]


def test_what_stands_before_the_first_name_is_nobodys() -> None:
    found = said("Lunch in March\n\nZoë: I am vegan.\nuser: me too\n")
    assert found == [("", "Lunch in March"), ("Zoë", "I am vegan."), ("user", "me too")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[10:02] Ann: ", "[10:03:59] Bob: "), ("(10:02 AM) Ann: ", "(1:03 pm) Bob: "), ("Ann (10:02): ", "Bob [10:03]: "),
        ("05/01/2026, 10:02 - Ann: ", "05/01/2026, 10:03 - Bob: "), ("[5.1.26, 10:02:33] Ann: ", "[5.1.26, 10:02:34] Bob: "),
        ("**Ann:** ", "**Bob:** "), ("**Ann**: ", "__Bob__: "), ("*Ann:* ", "*Bob:* "), ("**Ann:**\n", "**Bob:**\n"),
        ("[10:02] **Ann:** ", "[10:03] **Bob:** "),
    ],
)  # fmt: skip
def test_times_and_bold_names_are_read(one: str, other: str) -> None:
    text = f"{one}I live in Rome.\n{other}My car is red.\n{one}Nice.\n"
    assert said(text) == [("Ann", "I live in Rome."), ("Bob", "My car is red."), ("Ann", "Nice.")]
    assert said(f"{one}I live in Rome.\n{other}My car is red.") == said(text)[:2]


def test_a_user_and_a_machine_may_go_on_for_long() -> None:
    answer = "Try these:\n- one\n- two\n\nThere is more."
    for user, machine in (("You said:\n", "ChatGPT said:\n"), ("**User:** ", "**Assistant:** "), ("Human: ", "Claude: ")):
        assert said(f"{user}I live in Graz.\n{machine}{answer}") == [("user", "I live in Graz."), ("assistant", answer)]
    assert (
        speeches("What prompts are.\n\nThey are texts.\n\nAn example:\n\nUser: hi\nAssistant: Hello!\n\nAnd so on.\n\nEnd.")
        is None
    )
    assert [who for who, _ in said("Claude: Je vis ici.\nMarie: Oui.\nClaude: Oui.")] == ["Claude", "Marie", "Claude"]


def test_a_day_that_all_read_alike_is_when_it_was_said() -> None:
    text = "[2026-01-05 10:02] Ann: I am in.\n2026-01-05T10:03:00Z Bob: Me too.\n[05/01/2026, 10:04] Ann: Fine.\nBob (10:05): Ok."
    moments = [datetime(2026, 1, 5, 10, 2), datetime(2026, 1, 5, 10, 3, tzinfo=UTC), None, None]
    assert [one.at for one in speeches(text) or ()] == moments
    assert [one.at for one in speeches("[2026-13-05 10:02] Ann: I am in.\nBob: Me too.") or ()] == [None, None]


@pytest.mark.parametrize(
    "text",
    [
        "", "Bob: I am allergic to shellfish.", "Name: Bob\nAge: 40\nCity: my home", "Kafka: a log.\nRedis: a cache.",
        "Note: I am late.\nTodo: my taxes.", "I met Bob: he is fine.\nI like him.", "Subject: tea\nFrom: Bob\n\nI like tea.",
        "Bob: I wrote this.\nIt goes on.\nAnd on.\nAnd on.\nEve: I did not.", "12:30 I eat\n13:00 I rest",
        "10:00 Standup: we meet\n11:00 Review: our demo", "**Context:** We moved.\n**Choice:** We use Postgres.",
        "**Recipe:** X\n**Rating:** 5\n\n**Recipe:** Y\n**Rating:** 4", "Berlin:\nI like it.\nParis:\nI hate it.",
        "web:\n  user: root\n  image: x\n  ports: y",
    ],
)  # fmt: skip
def test_a_form_a_list_and_prose_are_no_conversation(text: str) -> None:
    assert speeches(text) is None


def test_a_million_lines_take_no_longer_than_they_must() -> None:
    assert speeches("Aa" * 500_000 + "\n" + "Bob " * 250_000) is None
