"""Statements that share a slot are compared with each other, however far their words are apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from recall.vaults import open_engram

from engram.capture.pairs import PairCandidate, chosen
from engram.capture.slots import share_a_slot, sharing, slots_of
from engram.engine import Engram
from engram.rules.pairs import PairWeights
from engram.types import Memory


@pytest.fixture
def mem(tmp_path: Path) -> Engram:
    return open_engram(tmp_path / "vault")


def test_memories_of_one_slot_are_found_in_one_query_whatever_their_words(mem: Engram) -> None:
    with mem:
        kept = mem.remember("The office is in Portugal.")
        mem.remember("The warehouse is in Lisbon.")
        stated = {
            0: slots_of("These days, as everybody here knows by now, we like it.", "user"),
            1: slots_of("The office is in Lisbon.", "user"),
            2: slots_of("The office is in Spain.", "user"),
        }
        found = sharing(mem._vault.store, mem.reader, stated)
        assert {number: [memory.id for memory in some] for number, some in found.items()} == {1: [kept.id]}  # 2: by the rules


def test_the_slot_of_an_entity_is_found_by_its_other_names(mem: Engram) -> None:
    with mem:
        kept = mem.remember("Maria Lopez lives in Portugal.")
        found = sharing(mem._vault.store, mem.reader, {0: slots_of("Maria lives in Lisbon.", "user")})
        assert [memory.id for memory in found[0]] == [kept.id]


def test_values_that_exclude_each_other_are_left_to_the_rules() -> None:
    first, second = slots_of("The office is in Lisbon.", "user"), slots_of("The office is in Porto.", "user")
    assert not share_a_slot(second, first)
    assert share_a_slot(slots_of("The office is in Portugal.", "user"), first)


def test_slots_of_several_values_and_of_other_languages_are_none() -> None:
    assert slots_of("We use Postgres.", "user") == []
    assert slots_of("Das Büro ist in Porto, und wir fahren morgen mit dem Zug hin.", "user") == []


def test_a_pair_of_one_slot_is_read_beside_the_nearest() -> None:
    later, earlier = Memory(text="a"), Memory(text="b")
    near = [PairCandidate(0, later, place, earlier, cosine) for place, cosine in ((1, 0.7), (2, 0.9))]
    of_slot = [PairCandidate(0, later, place, earlier, 1.0, of_slot=True) for place in (2, 3, 4)]
    read = [pair.place for pair in chosen([*near, *of_slot], PairWeights(most_at_once=3, promising=0.0))]
    assert read == [2, 3, 4]
