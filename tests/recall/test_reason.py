"""Questions that one recall does not answer."""

from __future__ import annotations

from datetime import UTC, datetime

from engram.engine import Engram
from engram.types import Evidence, Outcome, Reader, Scope


def texts_of(evidence: Evidence) -> set[str]:
    return {hit.memory.text for node in evidence.walk() for hit in node.hits}


def test_two_questions_joined_by_and_are_asked_one_by_one(wordy: Engram) -> None:
    wordy.remember("Marta leads the platform team")
    wordy.remember("Marta collects porcelain owls")
    found = wordy.reason("Which team does Marta lead and what does she collect?")
    assert [part.question for part in found.evidence.parts] == ["Which team does Marta lead?", "What does Marta collect?"]
    assert found.evidence.parts[1].hits[0].memory.text == "Marta collects porcelain owls"


def test_a_name_in_the_evidence_is_the_bridge_to_the_next_question(wordy: Engram) -> None:
    wordy.remember("The boss of Marta is Quentin")
    wordy.remember("Quentin moved to Porto")
    (next_question,) = wordy.reason("To which city has the boss of Marta moved?").evidence.parts
    assert (next_question.question, next_question.bridge) == ("To which city has Quentin moved?", "Quentin")
    assert next_question.hits[0].memory.text == "Quentin moved to Porto"


def test_somebody_who_is_described_is_looked_for_first(wordy: Engram) -> None:
    wordy.remember("I took Quentin along to the sailing course")
    wordy.remember("Quentin keeps bees in Porto")
    who, next_question = wordy.reason("The friend I took to the sailing course, what does he keep?").evidence.parts
    assert who.question == "Who is the friend I took to the sailing course?"
    assert (next_question.question, next_question.bridge) == ("What does Quentin keep?", "Quentin")
    assert next_question.hits[0].memory.text == "Quentin keeps bees in Porto"


def test_a_question_about_several_people_is_asked_for_each(wordy: Engram) -> None:
    wordy.remember("Marta likes sailing")
    wordy.remember("Quentin likes climbing")
    found = wordy.reason("Do Marta and Quentin like sports?")
    assert [part.question for part in found.evidence.parts] == ["Does Marta like sports?", "Does Quentin like sports?"]
    assert texts_of(found.evidence) == {"Marta likes sailing", "Quentin likes climbing"}


def test_the_first_hits_cover_every_part_of_a_question(wordy: Engram) -> None:
    for number in range(10):
        wordy.remember(f"The kayak was repaired for the {number}th time")
    wordy.remember("The lantern came from Porto")
    found = wordy.reason("Which is older: the kayak or the lantern?")
    assert "The lantern came from Porto" in [hit.memory.text for hit in found.hits[:3]]
    assert len({hit.memory.id for hit in found.hits}) == len(found.hits)


def test_the_date_of_an_event_in_the_question_is_looked_up_first(wordy: Engram) -> None:
    wordy.remember("The outage took the checkout down", happened_at=datetime(2024, 5, 8, tzinfo=UTC))
    wordy.remember("We decided to buy a second database", happened_at=datetime(2024, 5, 20, tzinfo=UTC))
    wordy.remember("We decided to paint the office", happened_at=datetime(2024, 1, 2, tzinfo=UTC))
    event, after = wordy.reason("What was decided after the outage?").evidence.parts
    assert event.hits[0].memory.text == "The outage took the checkout down"
    assert [hit.memory.text for hit in after.hits] == ["We decided to buy a second database"]


def test_a_part_without_hits_is_a_gap(wordy: Engram) -> None:
    wordy.remember("Marta leads the platform team")
    found = wordy.reason("Which team does Marta lead and what is the wifi password?")
    assert found.gaps == ("What is the wifi password?",)


def test_a_question_without_hits_has_the_outcome_nothing_known(mem: Engram) -> None:
    assert mem.reason("zebra?").evidence.outcome is Outcome.NOTHING_KNOWN


def test_depth_and_calls_are_bounded_and_a_note_counts_the_questions_not_asked(wordy: Engram) -> None:
    wordy.remember("Marta plays the viola")
    asked = "Do Marta, Quentin, Ada, Bob and Carl play the viola?"
    found = wordy.reason(asked, calls=4)
    assert found.calls == 4
    assert found.notes[-1] == "2 questions were not asked: 4 recalls were allowed."
    assert wordy.reason(asked, depth=1).evidence.parts == ()


def test_evidence_holds_only_memories_that_the_reader_may_see(wordy: Engram) -> None:
    wordy.as_reader(Reader(Scope(agent="ada"))).remember("Quentin moved to Porto")
    found = wordy.as_reader(Reader(Scope(agent="rex"))).reason("Where is Quentin and where is Porto?")
    assert texts_of(found.evidence) == set()
