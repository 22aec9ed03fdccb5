"""Decisions on entities by hand, in a real vault (M21)."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engram
from engram.engine import Engram
from engram.errors import Conflict, EngramError, InvalidContent, InvalidQuery, NotFound
from engram.types import Policy, Role
from engram.values.entities import EntityDecision

DAY = datetime(2024, 5, 1, tzinfo=UTC)
WORDS = "correct horse battery staple"
QUIET = {"model": "none", "harden_process": False, "backup_hours": 0.0, "scrypt_log_n": 14}


def opened(path: Path, **identity: str) -> Engram:
    return engram.open(path, key=bytes(32), settings=QUIET, clock=lambda: DAY, **identity)


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Engram]:
    with opened(tmp_path / "vault", agent="rex") as made:
        made.remember("I met Nimbus in the hall.")
        made.remember("Tom Baker lives in Oslo.")
        yield made


def named(mem: Engram, name: str) -> tuple[str, int] | None:
    """Return the own name of the entity of a name, and how many memories speak of it."""
    profile = mem.entity(name)
    return None if profile is None else (profile.entity.name, profile.entity.mentions)


def test_a_merge_is_told_in_the_history_and_taken_back(mem: Engram) -> None:
    decision = mem.decide_entity("nimbus", "merge", "tom baker", reason="it is his handle")
    assert (decision.name, decision.other, decision.names) == ("Nimbus", "Tom Baker", ("nimbus",))
    assert named(mem, "Nimbus") == named(mem, "Tom") == ("Tom Baker", 2)
    mem.remember("Nimbus works at Acme.")
    assert named(mem, "Nimbus") == ("Tom Baker", 3)
    assert {one.object for one in mem.beliefs("Tom Baker")} == {"oslo", "acme"}
    [kept] = mem.entity_decisions(name="Tom Baker")
    assert (kept.id, kept.reason, kept.at, kept.undone_at) == (decision.id, "it is his handle", DAY, None)
    mem.undo_entity_decision(decision.id)
    assert named(mem, "Nimbus") == ("Nimbus", 2)
    assert named(mem, "Tom Baker") == ("Tom Baker", 1)
    assert [one.object for one in mem.beliefs("Nimbus")] == ["acme"]
    assert mem.entity_decisions()[0].undone_at == DAY
    audited = [one for one in owner(mem).audit() if one.subject == decision.id]
    assert {one.operation for one in audited} == {"decide_entity", "undo_entity_decision"}


def owner(mem: Engram) -> Engram:
    return mem.as_reader(engram.Reader(scope=mem.reader.scope, policy=Policy.ALL, role=Role.OWNER))


def test_a_split_takes_memories_of_a_name_to_somebody_else(mem: Engram) -> None:
    other = mem.remember("Tom Baker plays the cello in Rome.")
    mem.decide_entity("Tom Baker", "split", "Tom Baker junior", memories=[other.id])
    assert named(mem, "Tom Baker junior") == ("Tom Baker junior", 1)
    assert named(mem, "Tom Baker") == ("Tom Baker", 1)


def test_a_name_with_brackets_after_a_split_has_no_other_names(mem: Engram) -> None:
    other = mem.remember("Tom Baker sails to Rome.")
    mem.decide_entity("Tom Baker", "split", "Tom Baker (sailor)", memories=[other.id])
    profile = mem.entity("Tom Baker (sailor)")
    assert profile is not None
    assert (profile.entity.name, profile.entity.names) == ("Tom Baker (sailor)", ("tom baker (sailor)",))


def test_names_kinds_and_aliases_are_set_by_hand(mem: Engram) -> None:
    mem.decide_entity("Nimbus", "kind", "project")
    mem.decide_entity("Nimbus", "rename", "Nimbus 2000")
    mem.decide_entity("Nimbus", "alias", "the broom")
    found = mem.entity("the broom")
    assert found is not None
    assert (found.entity.name, found.entity.kind) == ("Nimbus 2000", "project")
    mem.decide_entity("Nimbus 2000", "unalias", "the broom")
    assert mem.entity("the broom") is None


def test_a_decision_outlives_a_forgotten_memory(mem: Engram) -> None:
    mem.decide_entity("Nimbus", "merge", "Tom Baker")
    later = mem.remember("Nimbus called about the roof.")
    mem.forget(later.id, erase=True)
    assert named(mem, "Nimbus") == ("Tom Baker", 2)
    mem.remember("Nimbus called again.")
    assert named(mem, "Nimbus") == ("Tom Baker", 3)


def test_erasing_all_memories_of_somebody_erases_the_decisions_on_them(mem: Engram, tmp_path: Path) -> None:
    mem.decide_entity("Nimbus", "alias", "Quiddle", reason="Quiddle is short")
    mem.decide_entity("Tom Baker", "kind", "person")
    profile = mem.entity("Quiddle")
    assert profile is not None
    owner(mem).forget(*(one.id for one in profile.timeline), erase=True)
    assert [one.name for one in mem.entity_decisions()] == ["Tom Baker"]
    with mem._vault.store.gate.readers.use("test") as connection:
        assert not connection.execute("SELECT name FROM aliases WHERE name LIKE '%quiddle%'").get


def test_an_erased_decision_stays_in_no_cache(mem: Engram) -> None:
    memory = mem.remember("I met Quibblethorpe in the hall.")
    mem.decide_entity("Quibblethorpe", "alias", "Quibby", reason="Quibby is what they say")
    mem.remember("I met Nimbus again.")
    owner(mem).forget(memory.id, erase=True)
    assert list(mem.entity_decisions()) == []
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, EntityDecision) and "Quibby" in one.reason]


def test_an_archive_carries_the_decisions(mem: Engram, tmp_path: Path) -> None:
    moved = mem.remember("Tom Baker plays the cello in Rome.")
    mem.decide_entity("Nimbus", "merge", "Tom Baker")
    mem.decide_entity("Tom Baker", "split", "Tom Waits", memories=[moved.id])
    taken_back = mem.decide_entity("Nimbus", "kind", "thing")
    mem.undo_entity_decision(taken_back.id)
    file, plain = tmp_path / "out.engram", tmp_path / "out.json"
    mem.export(file, passphrase=WORDS)
    mem.export(plain, form="json", confirm=True)
    with opened(tmp_path / "two", agent="kim") as other:
        assert other.import_(file, passphrase=WORDS).counts["decisions"] == 2
        assert other.import_(file, passphrase=WORDS).counts["decisions"] == 0
        assert named(other, "Nimbus") == ("Tom Baker", 2)
        assert named(other, "Tom Waits") == ("Tom Waits", 1)
        assert {one.id for one in other.entity_decisions()}.isdisjoint(one.id for one in mem.entity_decisions())
    with opened(tmp_path / "three", agent="kim") as stranger:
        done = stranger.import_(plain)
        assert named(stranger, "Nimbus") == ("Nimbus", 1)
        assert any("2 decisions" in note for note in done.notes)


def test_another_agent_neither_sees_nor_makes_decisions_here(mem: Engram) -> None:
    decision = mem.decide_entity("Nimbus", "merge", "Tom Baker")
    kim = mem.as_reader(engram.Reader(engram.Scope(agent="kim")))
    assert list(kim.entity_decisions()) == []
    for call in (
        lambda: kim.undo_entity_decision(decision.id),
        lambda: kim.decide_entity("Nimbus", "kind", "thing"),
    ):
        with pytest.raises(NotFound):
            call()
    assert named(mem, "Nimbus") == ("Tom Baker", 2)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda mem: mem.decide_entity("Nobody", "kind", "person"), NotFound),
        (lambda mem: mem.decide_entity("Nimbus", "kind", "dragon"), InvalidQuery),
        (lambda mem: mem.decide_entity("Nimbus", "marry", "Tom Baker"), InvalidQuery),
        (lambda mem: mem.decide_entity("Nimbus", "merge", "Nobody"), NotFound),
        (lambda mem: mem.decide_entity("Nimbus", "merge", "nimbus"), Conflict),
        (lambda mem: mem.decide_entity("Nimbus", "alias", "Tom Baker"), Conflict),
        (lambda mem: mem.decide_entity("Nimbus", "rename", "Tom Baker"), Conflict),
        (lambda mem: mem.decide_entity("Nimbus", "unalias", "Nim"), NotFound),
        (lambda mem: mem.decide_entity("Nimbus", "apart", "NIMBUS"), InvalidQuery),
        (lambda mem: mem.decide_entity("Nimbus", "split", "Cloud", names=["Nim"]), NotFound),
        (lambda mem: mem.decide_entity("Nimbus", "split", "Cloud", memories=["0" * 26]), NotFound),
        (lambda mem: mem.decide_entity("Nimbus", "alias", " "), InvalidContent),
        (lambda mem: mem.decide_entity("Nimbus", "alias", "x" * 100_000), InvalidContent),
        (lambda mem: mem.decide_entity("Nimbus", "alias", "Cloud", names=["x"]), InvalidQuery),
        (lambda mem: mem.undo_entity_decision("unknown"), NotFound),
    ],
)
def test_a_decision_that_makes_no_sense_changes_nothing(
    mem: Engram, call: Callable[[Engram], object], error: type[EngramError]
) -> None:
    before = mem.entities()
    with pytest.raises(error) as caught:
        call(mem)
    assert caught.value.way_out
    assert mem.entities() == before
    assert list(mem.entity_decisions()) == []


def test_a_decision_is_taken_back_once(mem: Engram) -> None:
    decision = mem.decide_entity("Nimbus", "alias", "Cloud")
    mem.undo_entity_decision(decision.id)
    with pytest.raises(Conflict):
        mem.undo_entity_decision(decision.id)


def chained(mem: Engram) -> list[str]:
    """Merge Nimbus into Tom Baker, and Tom Baker into Ida Moss; return the ids of the decisions."""
    mem.remember("Ida Moss plays the cello.")
    return [mem.decide_entity("Nimbus", "merge", "Tom Baker").id, mem.decide_entity("Tom Baker", "merge", "Ida Moss").id]


def test_the_earlier_of_two_chained_merges_is_taken_back_alone(mem: Engram) -> None:
    first, second = chained(mem)
    assert named(mem, "Nimbus") == named(mem, "Tom Baker") == named(mem, "Ida Moss") == ("Ida Moss", 3)
    mem.undo_entity_decision(first)
    assert named(mem, "Nimbus") == ("Nimbus", 1)
    assert named(mem, "Tom Baker") == named(mem, "Ida Moss") == ("Ida Moss", 2)
    mem.remember("Nimbus called about the roof.")
    assert named(mem, "Nimbus") == ("Nimbus", 2)
    mem.undo_entity_decision(second)
    assert named(mem, "Tom Baker") == ("Tom Baker", 1)


def test_the_later_of_two_chained_merges_is_taken_back_alone(mem: Engram) -> None:
    _, second = chained(mem)
    mem.undo_entity_decision(second)
    assert named(mem, "Nimbus") == named(mem, "Tom Baker") == ("Tom Baker", 2)
    assert named(mem, "Ida Moss") == ("Ida Moss", 1)


def test_a_merge_after_a_rename_stands_without_it(mem: Engram) -> None:
    renamed = mem.decide_entity("Nimbus", "rename", "Cumulus")
    mem.decide_entity("Cumulus", "merge", "Tom Baker")
    mem.undo_entity_decision(renamed.id)
    assert named(mem, "Nimbus") == ("Tom Baker", 2)


def test_a_merge_of_memories_that_were_split_off_leaves_the_rest(mem: Engram) -> None:
    other = mem.remember("Tom Baker plays the cello in Rome.")
    mem.decide_entity("Tom Baker", "split", "Tom Baker junior", memories=[other.id])
    mem.decide_entity("Tom Baker junior", "merge", "Nimbus")
    assert named(mem, "Nimbus") == ("Nimbus", 2)
    assert named(mem, "Tom Baker") == ("Tom Baker", 1)


def test_two_that_were_merged_into_a_third_can_be_kept_apart(mem: Engram) -> None:
    chained(mem)
    mem.decide_entity("Nimbus", "apart", "Ida Moss")
    assert named(mem, "Nimbus") == named(mem, "Tom Baker") == ("Tom Baker", 2)
    assert named(mem, "Ida Moss") == ("Ida Moss", 1)


def test_a_chain_of_merges_overrules_what_was_kept_apart(mem: Engram) -> None:
    mem.remember("Ida Moss plays the cello.")
    mem.decide_entity("Nimbus", "apart", "Ida Moss")
    mem.decide_entity("Nimbus", "merge", "Tom Baker")
    mem.decide_entity("Tom Baker", "merge", "Ida Moss")
    assert named(mem, "Nimbus") == named(mem, "Tom Baker") == ("Ida Moss", 3)


def test_an_alias_is_taken_back_although_its_entity_was_merged_later(mem: Engram) -> None:
    alias = mem.decide_entity("Nimbus", "alias", "Quiddle")
    mem.remember("I met Quiddle in the park.")
    mem.decide_entity("Nimbus", "merge", "Tom Baker")
    assert named(mem, "Quiddle") == ("Tom Baker", 3)
    mem.undo_entity_decision(alias.id)
    assert named(mem, "Quiddle") == ("Quiddle", 1)
    assert named(mem, "Nimbus") == ("Tom Baker", 2)
