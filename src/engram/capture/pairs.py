"""Compare new statements with the nearest memories and with each other: which say the same, and which replace an earlier one.

Comes in: statements with their neighbours. Goes out: for each, the relations that the pair model is sure enough of
(`rules/pairs.py`). Few pairs are read, all of one owner: those that are near by meaning, the nearest first, and those that share
a slot.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from engram.errors import EngramError
from engram.models.pair_reader import PairReader
from engram.rules.pairs import PairWeights, Relation, may_be_outdated, reason, relation, shown
from engram.text.english.grammar import is_assistant, named
from engram.text.terms import day_of
from engram.types import Kind, Memory, Proposition, Replacement
from engram.values.episodes import EPISODE
from engram.values.frozen import frozen

Statement = Memory | Proposition
Place = TypeVar("Place", bound=Hashable)
"""The name of a statement: the id of a memory, or its number in a batch."""

_SLACK = timedelta(days=1)


@frozen
class PairCandidate(Generic[Place]):
    """Two statements that may have to do with each other: the number of the later one, and the place of the earlier one.

    of_slot: they share a slot, whatever their cosine is.
    """

    number: int
    later: Statement
    place: Place
    earlier: Statement
    cosine: float
    of_slot: bool = False


@frozen
class Related(Generic[Place]):
    """An earlier statement with what a later one does to it, and the probability that it is replaced."""

    place: Place
    relation: Relation
    replaces: float

    def replacement(self, place: str | int, *, sure: bool = True) -> Replacement:
        """Return the replacement that a draft carries. `sure` is False where the earlier one may be challenged at most."""
        return Replacement(place, sure and self.relation is Relation.REPLACES, reason(self.replaces))


def may_pair(later: Statement, earlier: Statement, weights: PairWeights) -> bool:
    """Return True if two statements are by one owner, short, and of kinds that one sentence can repeat or replace."""
    if named(later.speaker) != named(earlier.speaker) or is_assistant(later.speaker):
        return False
    if isinstance(earlier, Memory) and (earlier.kind is Kind.SKILL or earlier.category == EPISODE or earlier.flagged):
        return False
    return max(len(later.text), len(earlier.text)) <= weights.longest


def is_later(at: datetime | None, earlier: Memory) -> bool:
    """Return False if a statement was made before a memory that is known since: old talk outdates nothing. A memory of a dated
    event does not tell when it was said, and counts as earlier."""
    said = earlier.happened_at if earlier.happened_until is None else None
    return at is None or said is None or at >= said - _SLACK


def relations(
    reader: PairReader, candidates: Iterable[PairCandidate[Place]], weights: PairWeights
) -> tuple[dict[int, list[Related[Place]]], tuple[str, ...]]:
    """Return the relations of each later statement, the nearest first; and a note if the model cannot be read."""
    read = chosen(candidates, weights)
    texts = [(shown(pair.earlier), shown(pair.later)) for pair in read]
    try:
        judged = reader.judge(texts) if read else []
    except EngramError as error:
        return {}, (f"{error.code}: {error.message} Statements are stored without comparing them until it is there.",)
    found: dict[int, list[Related[Place]]] = {}
    for pair, (earlier, later), judgement in zip(read, texts, judged, strict=True):
        what = relation(judgement, earlier, later, weights)
        if what is Relation.SAME:
            follows = day_of(pair.earlier) == day_of(pair.later)  # what tells of a day is another on another day
        else:
            follows = what is not Relation.NEITHER and may_be_outdated(pair.earlier, pair.later)
        if follows:
            found.setdefault(pair.number, []).append(Related(pair.place, what, judgement.replaces))
    return found, ()


def chosen(candidates: Iterable[PairCandidate[Place]], weights: PairWeights) -> Sequence[PairCandidate[Place]]:
    """Return the pairs to read: of each later statement the nearest few, and a few that share a slot with it."""
    taken: dict[int, dict[Place, PairCandidate[Place]]] = {}
    room: Counter[tuple[int, bool]] = Counter()
    for pair in sorted(candidates, key=lambda pair: (pair.of_slot, -pair.cosine)):
        own, most = taken.setdefault(pair.number, {}), weights.most_of_slot if pair.of_slot else weights.most_at_once
        if pair.place not in own and room[pair.number, pair.of_slot] < most:
            own[pair.place] = pair
            room[pair.number, pair.of_slot] += 1
    return [pair for number in sorted(taken) for pair in taken[number].values()]
