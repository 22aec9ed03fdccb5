"""Recall, lists and contexts within filters by name (R21): narrowed before the search, with a note on unknown names."""

from __future__ import annotations

import apsw
import pytest
from recall.vaults import OWNER, store_of, texts

from engram.engine import Engram
from engram.errors import InvalidQuery
from engram.types import Outcome, Stage, Turn
from engram.values.query import Filter

ASKED = "Who paid which invoice of the harbour office?"


@pytest.fixture
def crowded(mem: Engram) -> Engram:
    """A vault in which several hundred memories are nearer to the question than the one that Ana is in."""
    for number in range(300):
        mem.remember(f"The harbour office paid invoice {number} of the office", whole=True)
    mem.remember("Ana bought a red bicycle")
    return mem


def test_a_filter_narrows_before_the_search(crowded: Engram) -> None:
    assert "Ana bought a red bicycle" not in texts(crowded.recall(ASKED, limit=10))
    assert texts(crowded.recall(ASKED, limit=10, filters=Filter(people=("Ana",)))) == ["Ana bought a red bicycle"]


def test_recall_lists_and_contexts_obey_the_same_filter(full: Engram) -> None:
    where = Filter(technologies=("Rust",))
    (expected,) = texts(full.recall("What compiles?", limit=9, filters=where))
    assert expected == "Rust compiles slowly but safely"
    assert [memory.text for memory in full.list(filters=where)] == [expected]
    block = full.context("What compiles slowly, and where does Carla live?", model="gpt-4o", filters=where).text
    assert expected in block
    assert "Lisbon" not in block
    assert "Lisbon" in full.context("What compiles slowly, and where does Carla live?", model="gpt-4o").text


def test_what_was_said_is_found_by_its_speaker(mem: Engram) -> None:
    mem.observe(Turn("I sold the green boat", "Tom"), Turn("I sold the blue boat", "Maria"))
    (hit,) = mem.recall("Who sold a boat?", limit=9, filters=Filter(speakers=("tom",)))
    assert hit.memory.speaker == "Tom"


@pytest.mark.parametrize(
    ("where", "note"),
    [
        (Filter(people=("Zed",)), "nobody is known by the name 'Zed'"),
        (Filter(technologies=("Zig",)), "no technology is known by the name 'Zig'"),
        (Filter(files=("x.py",)), "no file is known by the name 'x.py'"),
        (Filter(languages=("xx",)), "nothing is known in the language 'xx'"),
        (Filter(topics=("zebras",)), "nothing is known on the topic 'zebras'"),
        (Filter(speakers=("Zed",)), "nothing is known that 'Zed' said"),
    ],
)
def test_an_unknown_name_leaves_an_empty_answer_with_a_note(full: Engram, where: Filter, note: str) -> None:
    answer = full.recall("Where does Carla live?", filters=where)
    assert (len(answer), answer.outcome) == (0, Outcome.NOTHING_KNOWN)
    assert [note in told for told in answer.notes] == [True]
    page = full.list(filters=where)
    assert (len(page), [note in told for told in page.notes]) == (0, [True])


def test_known_names_that_do_not_meet_leave_no_note(full: Engram) -> None:
    answer = full.recall("Where does Carla live?", filters=Filter(people=("Carla",), technologies=("Rust",)))
    assert (len(answer), answer.notes) == (0, ())


def test_an_explanation_names_the_condition_that_excludes_a_memory(full: Engram) -> None:
    carla = full.recall("Where does Carla live?")[0].memory.id
    told = full.explain("Where does Carla live?", carla, filters=Filter(people=("Carla", "Ann"), technologies=("Rust",)))
    assert (told.stage, told.reason) == (Stage.FILTER, "it mentions none of the technologies asked for")


def test_a_question_within_a_filter_is_no_gap(full: Engram) -> None:
    full.recall("Which dentist treats walruses?", filters=Filter(people=("Carla",)))
    full.context("Which dentist treats walruses?", model="gpt-4o", filters=Filter(people=("Carla",)))
    assert len(full.gaps()) == 0
    full.recall("Which dentist treats walruses?")
    assert len(full.gaps()) == 1


def test_a_filter_of_the_wrong_type_is_refused(full: Engram) -> None:
    with pytest.raises(InvalidQuery, match="people"):
        full.recall("Carla", filters=Filter(people="Carla"))  # type: ignore[arg-type]


def test_memories_of_older_releases_are_read_for_their_language_in_the_background(mem: Engram) -> None:
    kept = mem.remember("Ich trinke meinen Kaffee am Morgen immer schwarz")
    store, german = store_of(mem), Filter(languages=("de",))

    def unlearn(connection: apsw.Connection) -> None:
        connection.execute("DELETE FROM attributes")
        connection.execute("INSERT INTO meta (name, value) VALUES ('unread_to', ?)", (kept.key,))

    store.gate.write(OWNER, "test", unlearn)
    assert len(mem.list(filters=german)) == 0
    assert store.facts.backfill(OWNER, limit=9) == 1
    assert [memory.id for memory in mem.list(filters=german)] == [kept.id]
