"""Filters on what was read from the words of memories (R21): what every engine must do."""

from __future__ import annotations

import pytest
from store.contract.engines import ME, OTHER, OWNER, SPACE, remember

from engram.env import Env
from engram.errors import InvalidQuery
from engram.store.ports import Store
from engram.types import Memory, Reader, Sensitivity
from engram.values.episodes import FilledBox, SealReason
from engram.values.query import Filter

TEXTS = {
    "person": "Ana Silva moved the invoices to the new bank",
    "again": "My colleague Ana plays the cello",
    "technology": "The orders live in Postgres",
    "file": "The limits are set in app/src/limits.py",
    "german": "Ich trinke meinen Kaffee am Morgen immer schwarz",
    "fence": "The loop is this:\n```rust\nloop {}\n```",
    "plain": "The harbour was full of ships",
}


@pytest.fixture
def known(store: Store) -> dict[str, Memory]:
    return dict(zip(TEXTS, remember(store, *TEXTS.values()), strict=True))


def names(store: Store, known: dict[str, Memory], where: Filter, reader: Reader = ME) -> set[str]:
    """Return the names of the memories that pass; all readings of the filter must agree."""
    keys = {memory.key: name for name, memory in known.items()}
    found = {keys[key] for key in store.memories.keys_having(reader, where)}
    assert {keys[memory.key] for memory in store.memories.page(reader, limit=99, where=where)} == found
    assert {keys[key] for key in store.edges.passing(reader, list(keys), where)} == found
    return found


@pytest.mark.parametrize(
    ("where", "passing"),
    [
        (Filter(people=("Ana",)), {"person", "again"}),
        (Filter(people=("ana silva",)), {"person", "again"}),
        (Filter(people=("Ana", "Zed")), {"person", "again"}),
        (Filter(people=("Zed",)), set()),
        (Filter(people=("Postgres",)), set()),
        (Filter(technologies=("postgres",)), {"technology"}),
        (Filter(technologies=("PostgreSQL",)), {"technology"}),
        (Filter(files=("limits.py",)), {"file"}),
        (Filter(files=("src/limits.py",)), {"file"}),
        (Filter(files=("its.py",)), set()),
        (Filter(languages=("de",)), {"german"}),
        (Filter(languages=("python",)), {"file"}),
        (Filter(languages=("rust", "de")), {"fence", "german"}),
        (Filter(languages=("en",)), set(TEXTS) - {"german"}),
        (Filter(topics=("ship",)), {"plain"}),
        (Filter(topics=("sh",)), set()),
        (Filter(topics=("fact",)), set(TEXTS)),
        (Filter(topics=("???",)), set()),
        (Filter(people=("Ana",), topics=("cello",)), {"again"}),
        (Filter(people=("Ana",), technologies=("Postgres",)), set()),
    ],
)
def test_a_filter_passes_what_has_one_of_the_names_of_each_condition(
    store: Store, known: dict[str, Memory], where: Filter, passing: set[str]
) -> None:
    assert names(store, known, where) == passing


def test_filters_show_nothing_of_memories_that_the_reader_may_not_see(store: Store, known: dict[str, Memory]) -> None:
    for where in (Filter(people=("Ana",)), Filter(languages=("de",)), Filter(topics=("cello",)), Filter(files=("limits.py",))):
        assert store.memories.keys_having(ME, where)
        assert store.memories.keys_having(OTHER, where) == []


def test_a_text_search_finds_only_what_passes(store: Store, known: dict[str, Memory]) -> None:
    def found(where: Filter) -> set[int]:
        return {hit.key for hit in store.text.search(ME, ["the", "ich"], limit=9, where=where)}

    assert found(Filter(languages=("de",))) == {known["german"].key}
    assert found(Filter(technologies=("Postgres",))) == {known["technology"].key}
    assert found(Filter(people=("Zed",))) == set()


def test_a_speaker_is_found_under_every_name(store: Store) -> None:
    (full,) = remember(store, "I moved the invoices to the new bank", speaker="Ana Silva")
    (short,) = remember(store, "Fine with me", speaker="Ana")
    (accented,) = remember(store, "I will be late", speaker="Éva")
    remember(store, "Ana said that it is fine", speaker="Tom")
    assert set(store.memories.keys_having(ME, Filter(speakers=("ANA",)))) >= {short.key}
    assert full.key in store.memories.keys_having(ME, Filter(speakers=("ana silva",)))
    assert store.memories.keys_having(ME, Filter(speakers=("éva",))) == [accented.key]
    assert store.memories.keys_having(ME, Filter(speakers=("Zed",))) == []


def test_a_topic_is_that_of_the_box_in_which_a_memory_lies(store: Store, env: Env) -> None:
    first, second, third = remember(store, "We fly at noon", "Bring the blue bag", "Water the ferns")
    start, rows = store.boxes.pending(OWNER, SPACE.name, 9)
    box = FilledBox(0, rows[0].scope, "", rows[0].at, rows[1].at, SealReason.GAP, ("travelling",), (first.key, second.key))
    store.boxes.put(OWNER, [box], start=start, upto=third.key, since=store.changes.latest(OWNER))
    assert store.memories.keys_having(ME, Filter(topics=("travel",))) == [first.key, second.key]
    assert store.memories.keys_having(ME, Filter(topics=("ferns",))) == [], "it lies in no box by then"


def test_languages_follow_the_words_and_are_no_attributes_of_the_caller(store: Store) -> None:
    (memory,) = remember(store, "The key is in the safe", attributes={"team": "sea"})
    store.memories.update(ME, memory.id, {"text": "Der Schlüssel liegt immer noch im Tresor neben der Tür"})
    assert store.memories.keys_having(ME, Filter(languages=("de",))) == [memory.key]
    assert dict(store.memories.get(ME, [memory.id])[0].attributes) == {"team": "sea"}
    store.memories.update(ME, memory.id, {"text": "The key is in the safe again"})
    assert store.memories.keys_having(ME, Filter(languages=("de",))) == []


def test_a_sealed_memory_is_found_by_its_language_and_lists_no_names(store: Store) -> None:
    (memory,) = remember(store, "Ana Silva hat eine Allergie gegen Erdnüsse und Milch", tier=Sensitivity.CONFIDENTIAL)
    assert store.memories.keys_having(ME, Filter(languages=("de",))) == [memory.key]
    assert store.memories.keys_having(ME, Filter(people=("Ana",))) == []


@pytest.mark.parametrize("value", ["Ana", ("",), (" ",), (3,), ("x" * 300,), ("half \ud800",), None, ("a",) * 65])
def test_a_condition_that_is_not_a_few_names_is_refused(store: Store, value: object) -> None:
    with pytest.raises(InvalidQuery, match="people") as caught:
        store.memories.page(ME, limit=9, where=Filter(people=value))  # type: ignore[arg-type]
    assert caught.value.way_out


def test_a_cursor_serves_only_the_listing_that_it_came_from(store: Store) -> None:
    remember(store, *(f"Ana has {number} boats" for number in range(3)))
    cursor = store.memories.page(ME, limit=1, where=Filter(people=("Ana",))).cursor
    assert cursor is not None
    assert len(store.memories.page(ME, limit=9, cursor=cursor, where=Filter(people=("Ana",)))) == 2
    with pytest.raises(InvalidQuery):
        store.memories.page(ME, limit=9, cursor=cursor, where=Filter(people=("Tom",)))
