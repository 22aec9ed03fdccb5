"""First person to third."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.text.english.grammar import is_assistant, named, third_person


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("I'm swamped with the kids.", "Ann is swamped with the kids."),
        ("I’ve been to Oslo.", "Ann has been to Oslo."),
        ("I went to a concert yesterday.", "Ann went to a concert yesterday."),
        ("My dog is called Rex.", "Ann's dog is called Rex."),
        ("I always try new food.", "Ann always tries new food."),
        ("I don't like rain.", "Ann doesn't like rain."),
        ("I have two sisters.", "Ann has two sisters."),
        ("I'll call her.", "Ann will call her."),
        ("I'd love to see it.", "Ann would love to see it."),
        ("I'd been there before.", "Ann had been there before."),
        ("It made me laugh.", "It made Ann laugh."),
        ("When I was young, I played chess.", "When Ann was young, Ann played chess."),
        ("My wife and I went to Rome.", "Ann's wife and Ann went to Rome."),
        ("i got a new job", "Ann got a new job"),
    ],
)
def test_a_safe_sentence_is_turned(said: str, wanted: str) -> None:
    assert third_person(said, "Ann") == wanted


@pytest.mark.parametrize(
    "said",
    [
        "We went camping.",  # nobody knows who
        "I told you so.",
        'He said "I am late".',
        "I hurt myself.",
        "I grok it.",  # a verb whose form is not known
        "I read a book.",  # present or past?
        "I love it and need more.",  # the second verb would have to change too
        "My wife and I love Rome.",
        "Am I late?",
        "He fought in World War I and lost.",
        "So do I.",
        "Let me know.",
        "Gonna see my mum.",
        "I see, so it works.",
        "The weather is fine.",
        "Ich bin müde.",
        "",
    ],
)
def test_what_is_not_safe_is_left_alone(said: str) -> None:
    assert third_person(said, "Ann") is None


def test_the_user_is_called_the_user_and_owns_their_things() -> None:
    assert third_person("I sold my car.", "user") == "The user sold their car."
    assert third_person("My car is red.", "user") == "The user's car is red."


def test_names_that_end_in_s_take_an_apostrophe() -> None:
    assert third_person("My car is red.", "James") == "James' car is red."


@pytest.mark.parametrize("speaker", ["assistant", "AI", "Bot", " model ", "SYSTEM"])
def test_assistants_are_known_by_their_role(speaker: str) -> None:
    assert is_assistant(speaker)
    assert named(speaker) == "the assistant"


def test_people_keep_their_names() -> None:
    assert not is_assistant("Aidan")
    assert named("  Ann \n Lee ") == "Ann Lee"


@given(st.text(max_size=120), st.text(max_size=20))
def test_any_text_and_any_name_are_taken(said: str, speaker: str) -> None:
    turned = third_person(said, speaker)
    assert turned is None or named(speaker).lower() in turned.lower()
