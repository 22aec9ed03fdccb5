"""Which name belongs to which entity, tried on a table in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram.rules.entities import canonical, forget_mentions, record_mentions
from engram.text.english.entities import mentions
from engram.values.entities import Mention, StoredMention


class Table:
    """An `EntityTable` in dictionaries. `said` are mentions and `subjects` those of facts, by (memory, number)."""

    def __init__(self) -> None:
        self.entities: dict[int, tuple[str, str]] = {}
        self.names: dict[str, int] = {}
        self.said: dict[tuple[int, int], StoredMention] = {}
        self.subjects: dict[tuple[int, int], str] = {}
        self._last = 0
        self._memories = 0

    def say(self, text: str) -> int:
        return self.mention(*mentions(text, ""))

    def mention(self, *named: Mention) -> int:
        self._memories += 1
        record_mentions(self, self._memories, named)
        return self._memories

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
        for key in [key for key, one in self.said.items() if one.entity == twin]:
            self.link(*key, entity)
        del self.entities[twin]

    def remove(self, entity: int) -> None:
        self.names = {name: owner for name, owner in self.names.items() if owner != entity}
        for key in [key for key, one in self.said.items() if one.entity == entity]:
            self.link(*key, None)
        del self.entities[entity]

    def put_mentions(self, memory: int, mentions: Sequence[Mention]) -> None:
        self.said = {key: one for key, one in self.said.items() if key[0] != memory}
        self.said |= {(memory, number): StoredMention(memory, number, None, said) for number, said in enumerate(mentions)}

    def link(self, memory: int, number: int, entity: int | None) -> None:
        self.said[memory, number] = StoredMention(memory, number, entity, self.said[memory, number].said)

    def unlink(self, memory: int, entity: int) -> None:
        for key in [key for key, one in self.said.items() if key[0] == memory and one.entity == entity]:
            self.link(*key, None)

    def mentions_of(self, memory: int) -> list[StoredMention]:
        return [self.said[key] for key in sorted(self.said) if key[0] == memory]

    def mentions_meaning(self, entity: int, limit: int = -1, besides: int = 0) -> list[StoredMention]:
        latest = sorted(self.said, key=lambda key: (-key[0], key[1]))
        found = [self.said[key] for key in latest if self.said[key].entity == entity and key[0] != besides]
        return found if limit < 0 else found[:limit]

    def mentioned_in(self, memory: int) -> list[int]:
        return sorted({one.entity for key, one in self.said.items() if key[0] == memory and one.entity is not None})

    def memories_of(self, entity: int) -> list[int]:
        return sorted({key[0] for key, one in self.said.items() if one.entity == entity})

    def rename_subject(self, old: str, new: str) -> None:
        self.subjects = {key: new if subject == old else subject for key, subject in self.subjects.items()}

    def set_subject(self, memory: int, old: str, new: str) -> None:
        for key, subject in self.subjects.items():
            if key[0] == memory and subject == old:
                self.subjects[key] = new


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


def test_mentions_that_the_words_do_not_show_are_remembered_when_another_memory_goes() -> None:
    """A model that has read the whole turn knows who "she" is; the words alone do not."""
    table = Table()
    she = table.mention(Mention("Ada", "person"))
    table.subjects[she, 0] = canonical(table, "ada")
    full = table.mention(Mention("Ada Lovelace", "person"))
    assert table.subjects == {(she, 0): "ada lovelace"}
    forget_mentions(table, full)
    assert table.memories_of(table.names["ada"]) == [she]
    assert table.subjects == {(she, 0): "ada"}


def test_an_entity_that_a_memory_no_longer_mentions_is_removed_with_its_last_mention() -> None:
    table = Table()
    only = table.mention(Mention("Much", "person"))
    record_mentions(table, only, [Mention("Ada", "person")])
    assert table.people() == {"Ada"}


def test_an_unknown_name_is_its_own_canonical_name() -> None:
    assert canonical(Table(), "nobody") == "nobody"
