"""Find the memories that give a value to the same slot as a new statement: "the budget is 8k", "the budget is 6.5k".

They are candidates of the pair decision however far their words are apart. One query for a batch. Pairs whose values exclude each
other by their types are left out: the rules on facts decide those (`rules/contradiction.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engram.rules.contradiction import disagree
from engram.store.ports import Store
from engram.text.english.facts import facts
from engram.text.language import language_of
from engram.types import Fact, Memory, Reader

_OF_ONE_SLOT = 3  # latest memories of a slot that are looked at


def slots_of(words: str, speaker: str, known: Sequence[Fact] | None = None) -> list[Fact]:
    """Return the facts of a statement that fill a slot of one value. `known`: its facts, if they are known without reading it."""
    if known is None:
        known = facts(words, speaker) if language_of(words) in ("en", "") else ()
    return [fact for fact in known if fact.single and fact.holds]


def sharing(store: Store, here: Reader, stated: Mapping[int, Sequence[Fact]]) -> dict[int, list[Memory]]:
    """Return the memories that share a slot with each of these statements and do not exclude its value, the latest first."""
    slots = list(dict.fromkeys((fact.subject, fact.predicate) for some in stated.values() for fact in some))
    found = store.facts.sharing(here, slots, most=_OF_ONE_SLOT) if slots else {}
    keys = {
        number: [key for fact in some for key, thing in found.get((fact.subject, fact.predicate), ()) if _is_open(fact, thing)]
        for number, some in stated.items()
    }
    memories = _fetched(store, here, (key for some in keys.values() for key in some))
    return {number: [memories[key] for key in dict.fromkeys(some) if key in memories] for number, some in keys.items() if some}


def share_a_slot(one: Sequence[Fact], other: Sequence[Fact]) -> bool:
    """Return True if two statements give a value to the same slot, and the values do not exclude each other."""
    return any(
        (first.subject, first.predicate) == (second.subject, second.predicate) and _is_open(first, second.object)
        for first in one
        for second in other
    )


def _is_open(fact: Fact, thing: str) -> bool:
    return not disagree(fact, Fact(fact.subject, fact.predicate, thing))


def _fetched(store: Store, here: Reader, keys: Iterable[int]) -> dict[int, Memory]:
    wanted = list(dict.fromkeys(keys))
    return {memory.key: memory for memory in store.memories.fetch(here, wanted)} if wanted else {}
