"""Which name belongs to which entity, tried on a table in memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from engram.rules.entities import canonical, forget_mentions, record_mentions
from engram.text.english.entities import folded, mentions
from engram.values.entities import EntityDecision, Mention, StoredMention, Tenure


class Table:
    """An `EntityTable` in dictionaries. `said` are mentions and `subjects` those of facts, by (memory, number)."""

    def __init__(self) -> None:
        self.entities: dict[int, tuple[str, str]] = {}
        self.names: dict[str, int] = {}
        self.tenures: dict[str, list[Tenure]] = {}
        self.times: dict[int, datetime] = {}
        self.decided: list[EntityDecision] = []
        self.said: dict[tuple[int, int], StoredMention] = {}
        self.subjects: dict[tuple[int, int], str] = {}
        self._last = 0
        self._memories = 0

    def say(self, text: str, month: int = 1) -> int:
        return self.mention(*mentions(text, ""), month=month)

    def mention(self, *named: Mention, month: int = 1) -> int:
        self._memories += 1
        self.times[self._memories] = datetime(2026, month, 1, tzinfo=UTC)
        record_mentions(self, self._memories, named)
        return self._memories

    def people(self) -> set[str]:
        return {name for name, kind in self.entities.values() if kind == "person"}

    def called(self, name: str) -> int | None:
        current = [span.entity for span in self.tenures.get(name, ()) if span.until is None]
        return self.names.get(name) if name in self.names else current[0] if len(current) == 1 else None

    def describe(self, entity: int) -> tuple[str, str]:
        return self.entities[entity]

    def names_of(self, entity: int) -> set[str]:
        held = {role for role in self.roles_of(entity) if any(s.entity == entity and not s.until for s in self.tenures[role])}
        return {name for name, owner in self.names.items() if owner == entity} | held

    def beginning(self, letters: str) -> list[tuple[str, int]]:
        return [(name, owner) for name, owner in self.names.items() if name.startswith(letters) and name != letters]

    def ending(self, letters: str) -> list[tuple[str, int]]:
        return [(name, owner) for name, owner in self.names.items() if name.endswith(letters)]

    def holders(self, role: str) -> list[Tenure]:
        return self.tenures.get(role) or [Tenure(self.names[role]) for _ in range(role in self.names)]

    def set_holders(self, role: str, tenures: Sequence[Tenure]) -> None:
        self.names.pop(role, None)
        self.tenures[role] = list(tenures)

    def roles_of(self, entity: int) -> set[str]:
        return {role for role, spans in self.tenures.items() if any(span.entity == entity for span in spans)}

    def said_at(self, memory: int) -> datetime | None:
        return self.times[memory]

    def id_of(self, memory: int) -> str:
        return str(memory)

    def memories_naming(self, names: Sequence[str]) -> list[int]:
        return sorted({key[0] for key, one in self.said.items() if one.said.name.lower() in names})

    def decisions(self) -> tuple[EntityDecision, ...]:
        return tuple(self.decided)

    def add(self, name: str, kind: str) -> int:
        self._last += 1
        self.entities[self._last] = name, kind
        return self._last

    def add_names(self, entity: int, names: Iterable[str]) -> None:
        for name in names:
            if self.called(name) is None:
                self.names[name] = entity

    def remove_names(self, names: Iterable[str]) -> None:
        for name in names:
            self.names.pop(name, None)

    def rename(self, entity: int, name: str, kind: str) -> None:
        self.entities[entity] = name, kind

    def absorb(self, entity: int, twin: int) -> None:
        self.names = {name: entity if owner == twin else owner for name, owner in self.names.items()}
        for spans in self.tenures.values():
            spans[:] = [replace(span, entity=entity) if span.entity == twin else span for span in spans]
        for key in [key for key, one in self.said.items() if one.entity == twin]:
            self.link(*key, entity)
        del self.entities[twin]

    def remove(self, entity: int) -> None:
        self.names = {name: owner for name, owner in self.names.items() if owner != entity}
        for spans in self.tenures.values():
            spans[:] = [span for span in spans if span.entity != entity]
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

    def aliasing(self, entity: int) -> list[StoredMention]:
        return [one for one in self.mentions_meaning(entity) if one.said.aliases]

    def naming_role(self, role: str) -> list[StoredMention]:
        return [self.said[key] for key in sorted(self.said) if folded(self.said[key].said.name) == role]

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


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        ("Mel", "Melanie", "Melanie"),
        ("Melanie", "Mel", "Melanie"),
        ("Bob Smith", "Robert Smith", "Robert Smith"),
        ("Robert", "Bob", "Robert"),
        ("Theo", "Theodora Quist", "Theodora Quist"),
        ("Dr. Moss", "Ida Moss", "Ida Moss"),
        ("Ida Moss", "Dr. Moss", "Ida Moss"),
        ("Ada", "Ada Lovelace", "Ada Lovelace"),
        ("Ada Lovelace", "@ada", "Ada Lovelace"),
    ],
)
def test_a_short_form_and_the_full_name_are_one_person(first: str, second: str, name: str) -> None:
    table = Table()
    table.mention(Mention(first, "person"))
    table.mention(Mention(second, "person"))
    assert table.people() == {name}
    assert {canonical(table, first.casefold()), canonical(table, second.casefold())} == {name.casefold()}


@pytest.mark.parametrize(
    ("first", "second"),
    [("Ann", "Annette"), ("Carol", "Caroline"), ("Paul", "Paula"), ("Mr. Moss", "Ida Moss"), ("Mel Smith", "Melanie Jones")],
)
def test_names_that_only_begin_or_end_alike_are_two_people(first: str, second: str) -> None:
    table = Table()
    table.mention(Mention(first, "person"))
    table.mention(Mention(second, "person"))
    assert table.people() == {first, second}


def test_a_short_form_that_two_people_may_have_stands_for_neither() -> None:
    table = Table()
    table.mention(Mention("Samuel", "person"))
    sam = table.mention(Mention("Sam", "person"))
    assert table.mentioned_in(sam) == [table.names["samuel"]]
    table.mention(Mention("Samantha", "person"))
    assert table.people() == {"Samuel", "Samantha", "Sam"}
    assert table.mentioned_in(sam) == [table.names["sam"]]
    later = table.mention(Mention("Sam", "person"))
    assert table.mentioned_in(later) == [table.names["sam"]]


def test_a_company_is_known_with_and_without_its_legal_form() -> None:
    table = Table()
    table.mention(Mention("Acme", "thing"))
    table.mention(Mention("Acme Corp", "organisation"))
    table.mention(Mention("Acme", "thing"))
    assert set(table.entities.values()) == {("Acme Corp", "organisation")}


def test_a_possessive_before_a_name_makes_no_person() -> None:
    table = Table()
    table.mention(Mention("Blue's Caroline", "person"))
    assert table.people() == set()


def test_a_name_that_was_first_taken_for_a_thing_becomes_the_person_it_is() -> None:
    table = Table()
    table.mention(Mention("Caroline", "thing"))
    table.mention(Mention("Caroline", "person", is_speaker=True))
    assert table.people() == {"Caroline"}


def held(table: Table, role: str) -> list[tuple[str, int | None, int | None]]:
    return [
        (table.entities[span.entity][0], span.since and span.since.month, span.until and span.until.month)
        for span in table.tenures[role]
    ]


MARCH, APRIL, JUNE, JULY = 3, 4, 6, 7
ADA, TOM = "My manager is Ada.", "Tom is my manager now."
ROLE = "user's manager"


def test_a_role_passes_from_one_person_to_the_next() -> None:
    table = Table()
    table.say(ADA, MARCH)
    table.say(TOM, JUNE)
    assert held(table, ROLE) == [("Ada", MARCH, JUNE), ("Tom", JUNE, None)]
    assert canonical(table, ROLE) == "tom"


def test_a_role_is_read_alike_in_whatever_order_it_is_told() -> None:
    table = Table()
    asked = {month: table.say("I asked my manager about it.", month) for month in (JULY, APRIL)}
    table.say(TOM, JUNE)
    table.say(ADA, MARCH)
    assert held(table, ROLE) == [("Ada", MARCH, JUNE), ("Tom", JUNE, None)]
    assert table.mentioned_in(asked[APRIL]) == [table.names["ada"]]
    assert table.mentioned_in(asked[JULY]) == [table.names["tom"]]


def test_a_role_goes_back_when_the_statement_of_its_change_is_forgotten() -> None:
    table = Table()
    table.say(ADA, MARCH)
    change = table.say(TOM, JUNE)
    asked = table.say("I asked my manager about it.", JULY)
    forget_mentions(table, change)
    assert held(table, ROLE) == [("Ada", MARCH, None)]
    assert table.people() == {"Ada"}
    assert table.mentioned_in(asked) == [table.names["ada"]]


def test_somebody_who_was_something_is_so_no_more() -> None:
    table = Table()
    table.say("Ada was my manager.", JUNE)
    assert held(table, ROLE) == [("Ada", None, JUNE)]
    table.say("My former manager Bo called.", JULY)
    table.say("My new manager is Tom.", JULY)
    assert held(table, ROLE)[-1] == ("Tom", JULY, None)
    assert canonical(table, ROLE) == "tom"


def test_a_role_that_several_people_have_means_none_of_them_alone() -> None:
    table = Table()
    table.say("My sister Ann lives in Rome.", MARCH)
    table.say("My sister Beth lives in Oslo.", APRIL)
    bare = table.say("I called my sister.", JUNE)
    assert held(table, "user's sister") == [("Ann", MARCH, None), ("Beth", APRIL, None)]
    assert table.mentioned_in(bare) == []
