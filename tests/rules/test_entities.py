"""Which name belongs to which entity, tried on a table in memory."""

from __future__ import annotations

from collections.abc import Iterable

from engram.rules.entities import canonical, forget_mentions, record_mentions
from engram.text.english.entities import mentions


class Table:
    """An `EntityTable` in dictionaries. `subjects` are those of facts, by (memory, number)."""

    def __init__(self) -> None:
        self.entities: dict[int, tuple[str, str]] = {}
        self.names: dict[str, int] = {}
        self.links: set[tuple[int, int]] = set()
        self.texts: dict[int, str] = {}
        self.subjects: dict[tuple[int, int], str] = {}
        self._last = 0

    def say(self, text: str) -> int:
        memory = len(self.texts) + 1
        self.texts[memory] = text
        record_mentions(self, memory, mentions(text, ""))
        return memory

    def people(self) -> set[str]:
        return {name for name, kind in self.entities.values() if kind == "person"}

    def called(self, name: str) -> int | None:
        return self.names.get(name)

    def describe(self, entity: int) -> tuple[str, str]:
        return self.entities[entity]

    def names_of(self, entity: int) -> set[str]:
        return {name for name, owner in self.names.items() if owner == entity}

    def namesakes(self, first: str, besides: int) -> list[int]:
        return sorted({owner for name, owner in self.names.items() if name.startswith(f"{first} ") and owner != besides})

    def add(self, name: str, kind: str) -> int:
        self._last += 1
        self.entities[self._last] = name, kind
        return self._last

    def add_names(self, entity: int, names: Iterable[str]) -> None:
        for name in names:
            self.names.setdefault(name, entity)

    def remove_names(self, names: Iterable[str]) -> None:
        for name in names:
            self.names.pop(name, None)

    def rename(self, entity: int, name: str, kind: str) -> None:
        self.entities[entity] = name, kind

    def absorb(self, entity: int, twin: int) -> None:
        self.names = {name: entity if owner == twin else owner for name, owner in self.names.items()}
        self.links = {(entity if owner == twin else owner, memory) for owner, memory in self.links}
        del self.entities[twin]

    def remove(self, entity: int) -> None:
        self.names = {name: owner for name, owner in self.names.items() if owner != entity}
        self.links = {(owner, memory) for owner, memory in self.links if owner != entity}
        del self.entities[entity]

    def mention(self, entity: int, memory: int) -> None:
        self.links.add((entity, memory))

    def unmention(self, entity: int, memory: int) -> None:
        self.links.discard((entity, memory))

    def mentioned_in(self, memory: int) -> list[int]:
        return sorted(entity for entity, other in self.links if other == memory)

    def memories_of(self, entity: int) -> list[int]:
        return sorted(memory for owner, memory in self.links if owner == entity)

    def texts_of(self, entity: int, limit: int, besides: int = 0) -> list[tuple[int, str, str]]:
        latest = sorted((memory for memory in self.memories_of(entity) if memory != besides), reverse=True)
        return [(memory, self.texts[memory], "") for memory in latest[:limit]]

    def text_of(self, memory: int) -> tuple[str, str] | None:
        return self.texts[memory], ""

    def rename_subject(self, old: str, new: str) -> None:
        self.subjects = {key: new if subject == old else subject for key, subject in self.subjects.items()}

    def set_subject(self, memory: int, old: str, new: str) -> None:
        for key, subject in self.subjects.items():
            if key[0] == memory and subject == old:
                self.subjects[key] = new

    def set_fact_subject(self, memory: int, number: int, predicate: str, subject: str) -> None:
        self.subjects[memory, number] = subject


def test_a_first_name_becomes_the_full_name_that_is_mentioned_later() -> None:
    table = Table()
    first = table.say("I met Ada at the office.")
    second = table.say("I met Ada Lovelace at the office.")
    assert table.people() == {"Ada Lovelace"}
    assert canonical(table, "ada") == "ada lovelace"
    assert table.memories_of(table.names["ada"]) == [first, second]


def test_a_role_becomes_the_person_who_is_said_to_have_it() -> None:
    table = Table()
    table.say("I asked my manager about it.")
    table.subjects[1, 0] = canonical(table, "user's manager")
    table.say("My manager is Grace Hopper.")
    assert table.people() == {"Grace Hopper"}
    assert table.subjects == {(1, 0): "grace hopper"}


def test_a_shared_first_name_stands_for_neither_of_two_people() -> None:
    table = Table()
    table.say("I met Tom Baker at the office.")
    alone = table.say("I called Tom about it.")
    assert table.mentioned_in(alone) == [table.names["tom baker"]]
    table.say("I met Tom Waits at the office.")
    assert {"Tom Baker", "Tom Waits"} <= table.people()
    assert table.names["tom baker"] not in table.mentioned_in(alone)
    assert canonical(table, "tom") not in ("tom baker", "tom waits")


def test_an_entity_that_only_one_memory_mentions_goes_with_it() -> None:
    table = Table()
    only = table.say("I met Ada Lovelace at the office.")
    forget_mentions(table, only)
    assert table.people() == set()
    assert "ada" not in table.names


def test_a_name_that_only_one_memory_gave_goes_with_it() -> None:
    table = Table()
    table.say("I met Ada at the office.")
    full = table.say("I met Ada Lovelace at the office.")
    forget_mentions(table, full)
    assert table.people() == {"Ada"}
    assert "ada lovelace" not in table.names


def test_an_unknown_name_is_its_own_canonical_name() -> None:
    assert canonical(Table(), "nobody") == "nobody"
