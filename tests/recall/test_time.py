"""Questions about time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from recall.vaults import at, texts

from engram.engine import Engram
from engram.types import Turn


def test_a_statement_that_says_since_when_ranks_first_if_the_question_asks_when(mem: Engram) -> None:
    kept = mem.remember("Ada has been learning the cello for two years now", happened_at=datetime(2024, 5, 1, tzinfo=UTC))
    mem.remember("Ada plays the cello at the window, her cello is red", happened_at=datetime(2024, 5, 1, tzinfo=UTC))
    assert kept.valid_from is not None
    assert kept.valid_from.year == 2022
    assert texts(mem.recall("When did Ada start learning cello?", limit=1)) == [kept.text]
    notes = mem.recall("When did Ada start learning cello?", limit=1)[0].why.notes
    assert any("how much it tells" in note for note in notes)


def test_since_when_is_read_from_turns(mem: Engram) -> None:
    mem.observe(Turn("I have worked at the bakery since 2019.", "Ada", at(3)))
    assert [one.valid_from for one in mem.list()] == [datetime(2019, 1, 1, tzinfo=UTC)]


def test_a_memory_dated_with_a_moment_is_found_by_a_question_about_that_time(mem: Engram) -> None:
    kept = mem.remember("The boiler was replaced", happened_at=at(3))
    found = mem.recall("What happened to the boiler in February 2026?", limit=1, now=at(20))
    assert texts(found) == [kept.text]
    assert any("from the time asked about" in note for note in found[0].why.notes)


@pytest.mark.parametrize("session", ["talk", "another talk"])
def test_an_answer_beside_a_turn_with_the_words_of_the_question_ranks_higher(mem: Engram, session: str) -> None:
    other = [f"The {name} needs new paint this spring." for name in ("barn", "fence", "gate", "porch", "shed", "stable", "tower")]
    said = ["Our sailing trip along the coast begins soon.", "Everything we need is packed into eleven wooden crates."]
    for number, text in enumerate([*said, *other]):
        mem.observe(Turn(text, "Ada", at(3), session=("talk", session)[number] if number < 2 else f"other{number}"))
    hits = mem.recall("When does the sailing trip along the coast begin?", limit=9)
    crates = next(hit for hit in hits if "crates" in hit.memory.text)
    lifted = any("said beside a better match" in note for note in crates.why.notes)
    assert lifted is (session == "talk")
