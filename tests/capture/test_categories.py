"""The sort of a statement: by the statement model's judgement, and by its words alone."""

from __future__ import annotations

import pytest

from engram.capture.categories import CATEGORIES, EXPLICIT, IMPLIED, INFERRED, SPECULATIVE, sort, sorted_by
from engram.models.statement_reader import Judgement, StatementReader
from engram.types import Kind

READER = StatementReader()
BY_JUDGEMENT = [
    ("fact", "I live in Oslo."),
    ("preference", "I prefer dark mode in every editor."),
    ("correction", "Actually, it's Tuesday, not Monday."),
    ("entity", "The cat is called Momo."),
    ("decision", "We decided to use Postgres for the ledger."),
    ("relationship", "Anna is my sister."),
    ("principle", "Always answer in metric units."),
    ("commitment", "I'll send you the contract by Friday, I promise."),
    ("moment", "I ran my first marathon in Oslo yesterday."),
    ("skill", "I learned how to weld."),
]


def judged(**kinds: float) -> Judgement:
    return Judgement(keep=1.0, needs=0.0, kinds=kinds, tenses={"none": 1.0})


@pytest.mark.parametrize(("category", "said"), BY_JUDGEMENT)
def test_all_ten_categories_are_reached_with_the_model(category: str, said: str) -> None:
    reading = READER.read("user", "", said)
    (judgement,) = reading.judge([(0, len(reading.spans))])
    assert sorted_by(said, judgement, "en").category == category
    assert {name for name, _ in BY_JUDGEMENT} == set(CATEGORIES)


@pytest.mark.parametrize(
    ("kind", "category"),
    [
        ("fact", "fact"), ("preference", "preference"), ("plan", "commitment"), ("event", "moment"), ("decision", "decision"),
        ("relation", "relationship"), ("commitment", "commitment"), ("instruction", "principle"), ("greeting", "fact"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("language", ["de", "en", ""])
def test_the_kind_that_the_model_gives_decides_where_the_words_say_no_more(kind: str, category: str, language: str) -> None:
    assert sorted_by("Das Zimmer neben der Küche", judged(**{kind: 1.0}), language).category == category


def test_english_words_do_not_decide_about_another_language() -> None:
    said = "named wird oft falsch konfiguriert"
    assert sorted_by(said, judged(fact=1.0), "de").category == "fact"
    assert sorted_by(said, judged(fact=1.0), "en").category == "entity"


def test_an_event_is_what_the_model_is_sure_of_and_the_six_steps_decide_the_rest() -> None:
    assert sorted_by("The door is blue.", judged(event=0.9, fact=0.1), "en").kind is Kind.EPISODE
    assert sorted_by("The server crashed.", judged(event=0.1, fact=0.9), "en").kind is Kind.FACT
    for said, kind in (("The door is blue.", Kind.FACT), ("The server crashed.", Kind.EPISODE)):
        assert sorted_by(said, judged(event=0.5, fact=0.5), "en").kind is kind


@pytest.mark.parametrize("said", ["Merk dir: die Tür ist blau", "Recuerda que la puerta es azul", "记住门是蓝色的"])
def test_what_is_to_be_remembered_is_explicit_in_any_language(said: str) -> None:
    found = sorted_by(said, judged(fact=1.0), "de")
    assert found.confidence == EXPLICIT
    assert found.importance >= 0.9


@pytest.mark.parametrize("said", ["Maybe the shop is full.", "I think I live in Oslo."])
def test_a_hedge_makes_its_piece_speculative(said: str) -> None:
    assert sorted_by(said, judged(fact=1.0), "en").confidence == SPECULATIVE


@pytest.mark.parametrize(
    ("said", "category", "kind"),
    [
        ("I live in Oslo.", "fact", Kind.FACT),
        ("I prefer dark mode.", "preference", Kind.FACT),
        ("My favourite colour is blue.", "preference", Kind.FACT),
        ("I don't like mornings, never have.", "preference", Kind.FACT),
        ("Please always answer in metric units.", "principle", Kind.FACT),
        ("Actually, it's blue.", "correction", Kind.FACT),
        ("We decided to use Postgres.", "decision", Kind.FACT),
        ("My sister is a doctor.", "relationship", Kind.FACT),
        ("I'll send the report.", "commitment", Kind.FACT),
        ("It's important to test first.", "principle", Kind.FACT),
        ("I learned how to weld.", "skill", Kind.FACT),
        ("The cat is called Momo.", "entity", Kind.FACT),
        ("I'll never forget that day, it was so special!", "commitment", Kind.FACT),
        ("Our wedding was magical.", "moment", Kind.EPISODE),
        ("We deployed the new version.", "fact", Kind.EPISODE),
    ],
)
def test_statements_are_sorted(said: str, category: str, kind: Kind) -> None:
    found = sort(said)
    assert (found.category, found.kind) == (category, kind)
    assert found.category in CATEGORIES


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("I prefer tea today.", Kind.EPISODE),  # 1 a time word beats the category
        ("I prefer tea.", Kind.FACT),  # 2 the category beats what follows
        ("The server crashed. #decision", Kind.FACT),  # 3 tags, notes first
        ("The door is blue. #event", Kind.EPISODE),
        ("The server crashed.", Kind.EPISODE),  # 4 a past action
        ("The shop is usually full.", Kind.FACT),  # 5 note words
        ("Big waves in the harbour.", Kind.EPISODE),  # 6 nothing else
    ],
)
def test_the_six_steps_go_in_order(said: str, kind: Kind) -> None:
    assert sort(said).kind is kind


@pytest.mark.parametrize(
    "said",
    [
        "I am allergic to peanuts", "My phone number is 555 0134", "My birthday is 1990-05-04", "I was born on 4 May 1990.",
        "I'm John", "I'm vegan", "I'm retired.", "Our office is located in Oslo.", "Kafka is fast", "Eve plays chess",
        "I know Eve", "I own a kayak", "There's a spare key under the mat.", "I'm a nurse", "The user is allergic to nuts.",
    ],
)  # fmt: skip
def test_a_lasting_state_is_a_fact(said: str) -> None:
    assert sort(said).kind is Kind.FACT


@pytest.mark.parametrize(
    "said",
    [
        "I'm swimming in the lake", "I'm so tired", "She's really busy", "My daughter was born on 4 May, yesterday!",
        "I am allergic to peanuts, as I found out", "Kim quit last week", "The server crashed and is down",
    ],
)  # fmt: skip
def test_what_passes_or_happened_is_an_event(said: str) -> None:
    assert sort(said).kind is Kind.EPISODE


@pytest.mark.parametrize(
    ("said", "confidence"),
    [
        ("Remember that the key rotates.", EXPLICIT),
        ("I live in Oslo.", EXPLICIT),
        ("The shop is full.", IMPLIED),
        ("Maybe the shop is full.", SPECULATIVE),
        ("I think I live in Oslo.", SPECULATIVE),
    ],
)
def test_confidence_follows_the_wording(said: str, confidence: float) -> None:
    assert sort(said).confidence == confidence


def test_what_was_read_between_the_lines_is_inferred() -> None:
    assert sort("The shop is full.", inferred=True).confidence == INFERRED


def test_what_was_said_to_be_remembered_matters_most() -> None:
    assert (
        sort("Remember that the key rotates.").importance
        > sort("I prefer tea.").importance
        > sort("The shop is full.").importance
    )
