"""Questions that one recall does not answer."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.engine import Engram
from engram.recall.reason import by_name, conjuncts, names, split_at_event
from engram.types import Evidence, Outcome, Reader, Scope


def texts_of(evidence: Evidence) -> set[str]:
    return {hit.memory.text for node in evidence.walk() for hit in node.hits}


def test_two_questions_joined_by_and_are_asked_one_by_one(wordy: Engram) -> None:
    wordy.remember("Marta leads the platform team")
    wordy.remember("Marta collects porcelain owls")
    found = wordy.reason("Which team does Marta lead and what does she collect?")
    assert [part.question for part in found.evidence.parts] == ["Which team does Marta lead?", "what does she collect (Marta)?"]
    assert found.evidence.parts[1].hits[0].memory.text == "Marta collects porcelain owls"


def test_missing_words_are_looked_for_with_names_from_the_evidence(wordy: Engram) -> None:
    wordy.remember("The boss of Marta is Quentin")
    wordy.remember("Quentin moved to Porto")
    found = wordy.reason("To which city has the boss of Marta moved?")
    assert "Quentin moved to Porto" in texts_of(found.evidence)
    assert "the evidence names Quentin" in {node.why for node in found.evidence.walk()}


def test_a_question_about_several_people_is_asked_for_each(wordy: Engram) -> None:
    wordy.remember("Marta likes sailing")
    wordy.remember("Quentin likes climbing")
    found = wordy.reason("Do Marta and Quentin like sports?")
    assert [part.question for part in found.evidence.parts] == ["Do Marta like sports?", "Do Quentin like sports?"]
    assert texts_of(found.evidence) == {"Marta likes sailing", "Quentin likes climbing"}


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
    assert found.gaps == ("what is the wifi password?",)


def test_a_question_without_hits_has_the_outcome_nothing_known(mem: Engram) -> None:
    assert mem.reason("zebra?").evidence.outcome is Outcome.NOTHING_KNOWN


def test_depth_and_calls_are_bounded_and_a_note_counts_the_questions_not_asked(wordy: Engram) -> None:
    for number in range(20):
        wordy.remember(f"Marta knows Person{number} from school")
    found = wordy.reason("Which instrument does Marta play?", calls=4)
    assert found.calls == 4
    assert "were not asked" in found.notes[-1]
    assert wordy.reason("Which instrument does Marta play?", depth=1).evidence.parts == ()


def test_evidence_holds_only_memories_that_the_reader_may_see(wordy: Engram) -> None:
    wordy.as_reader(Reader(Scope(agent="ada"))).remember("Quentin moved to Porto")
    found = wordy.as_reader(Reader(Scope(agent="rex"))).reason("Where is Quentin and where is Porto?")
    assert texts_of(found.evidence) == set()


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Where is Ada? Who is Bob?", ["Where is Ada?", "Who is Bob?"]),
        ("Who runs it, and when did it start?", ["Who runs it?", "when did it start?"]),
        ("What do salt and pepper cost?", []),
    ],
)
def test_a_question_is_split_at_its_conjunctions(question: str, parts: list[str]) -> None:
    assert [part for part, _ in conjuncts(question)] == parts


def test_names_are_recognized_by_their_capitals() -> None:
    assert names("When did Ada Byron meet Charles in The Hague?") == ["Ada Byron", "Charles", "Hague"]
    assert names("Ada's boss is Bob. The API is down") == ["Ada", "Bob", "API"]
    assert by_name("Where does Ada live?") == []


def test_a_date_is_no_event_to_split_at() -> None:
    assert split_at_event("What happened after March 2024?") is None
    assert split_at_event("What did we do after the launch?") == ("What did we do?", "after", "the launch")
