"""What follows from facts that disagree, without a store."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engram.rules.contradiction import consequences, corroborated, is_spent, may_be_two, merged
from engram.types import Memory, Source
from engram.values.facts import CONTRADICTS, OUTDATES, PAST, SUPERSEDES, FactOutcome, Occasion
from engram.values.frozen import replace

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MEMORY = Memory(id="new", text="I live in Oslo.", confidence=0.5, learned_at=NOW)


def test_a_superseded_memory_passes_on_a_fifth_of_its_confidence() -> None:
    decided = consequences(MEMORY, [FactOutcome("old", SUPERSEDES, 0.5)], Occasion.STATED)
    assert [(edge.source, edge.target, edge.kind) for edge in decided.edges] == [("new", "old", SUPERSEDES)]
    assert [memory_id for memory_id, _ in decided.superseded] == ["old"]
    assert decided.confidence == pytest.approx(0.6)


def test_a_memory_outdated_in_part_is_not_superseded() -> None:
    decided = consequences(MEMORY, [FactOutcome("old", OUTDATES, 0.5)], Occasion.STATED)
    assert (decided.superseded, decided.weakened) == ((), ("old",))


def test_a_contradiction_passes_on_no_confidence() -> None:
    decided = consequences(MEMORY, [FactOutcome("old", CONTRADICTS, 0.9)], Occasion.STATED)
    assert decided.confidence == MEMORY.confidence
    assert (decided.superseded, decided.weakened) == ((), ())


@pytest.mark.parametrize("from_turns", [True, False])
def test_a_memory_of_the_past_is_superseded_only_if_it_was_taken_from_turns(from_turns: bool) -> None:
    decided = consequences(MEMORY, [FactOutcome("later", PAST, 0.5, NOW)], Occasion.STATED, from_turns=from_turns)
    assert [memory_id for memory_id, _ in decided.superseded] == (["new"] if from_turns else [])
    assert bool(decided.edges) is from_turns


def test_later_statements_dispute_a_reinstated_memory() -> None:
    decided = consequences(MEMORY, [FactOutcome("later", PAST, 0.5, NOW)], Occasion.REINSTATED)
    assert [(edge.source, edge.target, edge.kind) for edge in decided.edges] == [("later", "new", CONTRADICTS)]
    assert decided.superseded == ()


def test_settling_a_contradiction_leaves_what_is_still_contested() -> None:
    outcomes = [FactOutcome("a", CONTRADICTS, 0.5), FactOutcome("b", PAST, 0.5, NOW)]
    assert not consequences(MEMORY, outcomes, Occasion.SETTLED).edges


def test_each_witness_removes_a_fifth_of_the_doubt() -> None:
    again = corroborated(MEMORY, 1, False, NOW)
    assert again.confidence == pytest.approx(0.6)
    assert again.corroborations == MEMORY.corroborations + 1
    assert merged(MEMORY, replace(MEMORY, id="old"), 2, NOW).confidence == pytest.approx(1 - 0.5 * 0.64)


def test_an_inferred_memory_that_a_person_states_is_theirs() -> None:
    inferred = replace(MEMORY, source=Source.INFERRED)
    assert corroborated(inferred, 1, False, NOW).source is Source.USER
    assert corroborated(inferred, 1, True, NOW).source is Source.INFERRED


def test_a_memory_is_spent_when_no_fact_holds_and_it_says_no_more() -> None:
    assert is_spent("I live in Oslo.", 0)
    assert not is_spent("I live in Oslo.", 1)
    assert not is_spent("I live in Oslo because of the fjord.", 0)


def test_a_name_that_begins_another_may_be_another_person() -> None:
    assert may_be_two("tom", "tom baker")
    assert not may_be_two("tom baker", "tom baker")
    assert not may_be_two("", "tom")
