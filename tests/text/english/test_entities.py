"""Who and what a statement names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.english.entities import KINDS, UNSURE, folded, mentions, other_names
from engram.values.memories import Name


def named(text: str, speaker: str = "user") -> dict[str, str]:
    return {mention.name: mention.kind for mention in mentions(text, speaker) if mention.kind != UNSURE}


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("We met Priya in the hall.", "person", "Priya"),
        ("I saw Dr. Okafor today.", "person", "Dr. Okafor"),
        ("Ask @jules about it.", "person", "@jules"),
        ("We flew to San Francisco.", "place", "San Francisco"),
        ("She lives in Uzhupis now.", "place", "Uzhupis"),
        ("He works at Brightwave.", "organisation", "Brightwave"),
        ("They went to Mercy Hospital.", "organisation", "Mercy Hospital"),
        ("Work on project Falcon began.", "project", "Falcon"),
        ("I cloned the billing-api repo.", "project", "billing-api"),
        ("We use postgres here.", "technology", "postgresql"),
        ("It is written in C++ and Rust.", "technology", "rust"),
        ("See src/app/main.py for it.", "file", "src/app/main.py"),
    ],
)
def test_what_is_named_and_of_which_sort(text: str, kind: str, name: str) -> None:
    assert named(text).get(name) == kind


def test_who_speaks_is_not_named_by_the_label() -> None:
    assert named("Ana to Tom: I like tea.", "Ana") == {}
    assert "Ana" in named("Ana likes tea.", "Ana")


def test_a_role_and_a_handle_are_other_names() -> None:
    found = mentions("My manager Ada Byron (@adab) is here.", "user")
    assert [(one.name, set(one.aliases)) for one in found] == [("Ada Byron", {"the user's manager", "@adab"})]
    assert folded("my manager") == folded("the user's manager")
    assert {"ada", "@ada", "@abyron"} <= set(other_names("Ada Byron", "person"))


def test_names_that_the_model_found_are_mentioned_and_other_capitals_only_if_they_are_known() -> None:
    text = "My manager Ada met Creativity at Brightwave."
    found = mentions(text, "user", [Name("Ada", "person"), Name("Brightwave", "organisation")])
    assert {(one.name, one.kind) for one in found} == {
        ("Ada", "person"), ("Brightwave", "organisation"), ("Creativity", UNSURE),
    }  # fmt: skip
    assert next(one.aliases for one in found if one.name == "Ada") == ("the user's manager",)


def test_a_short_name_in_brackets_is_another_name() -> None:
    (found,) = mentions("We land at Kansai Airport (KIX)", "user", [Name("Kansai Airport", "place"), Name("KIX", "place")])
    assert (found.name, found.aliases) == ("Kansai Airport", ("KIX",))


def test_a_name_in_the_words_that_a_statement_carries_is_mentioned() -> None:
    assert [one.name for one in mentions("He works at a brewery", "user", [Name("Tom", "person")])] == ["Tom"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I met Sunday Adeyemi at work.", "Sunday Adeyemi"),
        ("Sunday Adeyemi joined our team.", "Sunday Adeyemi"),
        ("My manager is Sunday Adeyemi.", "Sunday Adeyemi"),
        ("On Sunday Adeyemi called.", "Adeyemi"),
        ("We swim every Sunday Adeyemi has time.", "Adeyemi"),
        ("By Saturday and Sunday Adeyemi was tired.", "Adeyemi"),
    ],
)
def test_a_day_belongs_to_a_name_unless_it_tells_the_time(text: str, name: str) -> None:
    assert [one.name for one in mentions(text, "user", [Name("Adeyemi", "person")])] == [name]
    assert name in named(text)


def test_a_day_before_a_given_name_is_no_part_of_it() -> None:
    assert set(named("Monday Tom Baker called me.")) == {"Tom Baker"}


def test_a_name_with_brackets_is_kept_whole_and_makes_no_others() -> None:
    assert folded("Robert Quimby (sailor)") == "robert quimby (sailor)"
    assert folded("(Robert Quimby)") == "robert quimby"
    assert other_names("Robert Quimby (sailor)", "person") == ("robert quimby (sailor)",)


def test_plain_words_are_no_names() -> None:
    assert named("Go home and rest, it is a nice spring day.") == {}


@given(st.text(max_size=200), st.text(max_size=12))
def test_any_text_can_be_read(text: str, speaker: str) -> None:
    assert all(mention.kind in (*KINDS, UNSURE) and mention.name for mention in mentions(text, speaker))
