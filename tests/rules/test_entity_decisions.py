"""Decisions on entities by hand, tried on a table in memory."""

from __future__ import annotations

from rules.test_entities import Table

from engram.rules.entities import apply_decision, canonical, forget_mentions
from engram.values.entities import EntityAction, EntityDecision, Mention


def decide(
    table: Table,
    name: str,
    action: EntityAction,
    other: str,
    *,
    names: tuple[str, ...] = (),
    memories: tuple[int, ...] = (),
) -> EntityDecision:
    decision = EntityDecision(
        id=str(len(table.decided)), action=action, name=name, other=other, names=names, memories=tuple(map(str, memories))
    )
    table.decided.append(decision)
    apply_decision(table, decision)
    return decision


def take_back(table: Table, decision: EntityDecision) -> None:
    table.decided.remove(decision)
    apply_decision(table, decision)


def person(name: str) -> Mention:
    return Mention(name, "person")


def test_a_merge_holds_for_all_mentions_until_it_is_taken_back() -> None:
    table = Table()
    first, second = table.mention(person("Nimbus")), table.mention(person("Tom Baker"))
    table.subjects[first, 0] = canonical(table, "nimbus")
    merge = decide(table, "Nimbus", EntityAction.MERGE, "Tom Baker", names=("nimbus",))
    later = table.mention(person("Nimbus"))
    assert table.people() == {"Tom Baker"}
    assert table.memories_of(table.names["nimbus"]) == [first, second, later]
    assert table.subjects == {(first, 0): "tom baker"}
    take_back(table, merge)
    assert table.people() == {"Nimbus", "Tom Baker"}
    assert table.memories_of(table.names["nimbus"]) == [first, later]
    assert table.subjects == {(first, 0): "nimbus"}


def test_a_merge_outlives_the_memories_that_it_was_made_on() -> None:
    table = Table()
    gone = [table.mention(person("Nimbus")), table.mention(person("Tom Baker"))]
    decide(table, "Nimbus", EntityAction.MERGE, "Tom Baker", names=("nimbus",))
    for memory in gone:
        forget_mentions(table, memory)
    assert table.people() == set()
    table.mention(person("Nimbus"))
    assert table.people() == {"Tom Baker"}


def test_two_people_that_were_told_apart_are_not_merged_by_any_rule() -> None:
    table = Table()
    mel, melanie = table.mention(person("Mel")), table.mention(person("Melanie"))
    assert table.people() == {"Melanie"}
    apart = decide(table, "Mel", EntityAction.APART, "Melanie")
    later = table.mention(person("Mel"))
    assert table.people() == {"Mel", "Melanie"}
    assert table.memories_of(table.names["mel"]) == [mel, later]
    assert table.memories_of(table.names["melanie"]) == [melanie]
    take_back(table, apart)
    assert table.people() == {"Melanie"}


def test_an_alias_is_known_before_any_memory_gives_it() -> None:
    table = Table()
    table.mention(person("Melanie"))
    alias = decide(table, "Melanie", EntityAction.ALIAS, "Sunny")
    assert canonical(table, "sunny") == "melanie"
    table.mention(Mention("Sunny", ""))
    assert len(table.memories_of(table.names["melanie"])) == 2
    take_back(table, alias)
    assert canonical(table, "sunny") == "sunny"


def test_a_split_gives_the_mentions_of_some_memories_to_another() -> None:
    table = Table()
    ours, theirs = table.mention(person("Tom")), table.mention(person("Tom"))
    decide(table, "Tom", EntityAction.SPLIT, "Tom Waits", names=("tom",), memories=(theirs,))
    assert table.people() == {"Tom", "Tom Waits"}
    assert table.memories_of(table.names["tom waits"]) == [theirs]
    assert table.memories_of(table.names["tom"]) == [ours]


def test_a_split_gives_a_name_to_another() -> None:
    table = Table()
    mel, _ = table.mention(person("Mel")), table.mention(person("Melanie"))
    decide(table, "Melanie", EntityAction.SPLIT, "Melissa", names=("mel",))
    assert table.people() == {"Melanie", "Melissa"}
    assert table.memories_of(table.names["melissa"]) == [mel]


def test_a_new_name_and_kind_stay_when_it_is_mentioned_by_the_old_ones() -> None:
    table = Table()
    table.mention(person("Nimbus"))
    decide(table, "Nimbus", EntityAction.RENAME, "Project Nimbus", names=("nimbus",))
    decide(table, "Project Nimbus", EntityAction.KIND, "project")
    table.mention(person("Nimbus"))
    assert list(table.entities.values()) == [("Project Nimbus", "project")]


def test_the_later_of_two_decisions_counts() -> None:
    table = Table()
    table.mention(person("Nimbus"))
    table.mention(person("Tom Baker"))
    decide(table, "Nimbus", EntityAction.MERGE, "Tom Baker", names=("nimbus",))
    decide(table, "Nimbus", EntityAction.APART, "Tom Baker")
    assert table.people() == {"Nimbus", "Tom Baker"}
    decide(table, "Nimbus", EntityAction.MERGE, "Tom Baker", names=("nimbus",))
    assert table.people() == {"Tom Baker"}
