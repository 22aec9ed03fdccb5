"""Compare new statements with the nearest memories and with each other: which say the same, and which replace an earlier one.

Comes in: statements with their neighbours. Goes out: for each, the relations that the pair model is sure enough of
(`rules/pairs.py`). Few pairs are read, all of one owner: those that share a slot, and those near by meaning that promise most.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from engram.errors import EngramError
from engram.models.embedders import Embedder
from engram.models.pair_reader import PairReader, shared_pair_reader
from engram.rules.duplicates import DuplicateWeights
from engram.rules.pairs import PairWeights, Relation, is_echo, least_cosine, may_be_outdated, promise, reason, relation, shown
from engram.settings import LiveSettings
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
class Comparison:
    """The pair model and the numbers that statements are compared with."""

    reader: PairReader
    pairs: PairWeights = PairWeights()
    words: DuplicateWeights = DuplicateWeights()
    trusted: bool = True  # False for a file's statements, which challenge what is known at most
    background: float = 0.0  # mean cosine of unrelated texts

    @property
    def least_cosine(self) -> float:
        """The cosine from which two statements are compared."""
        return least_cosine(self.pairs, self.background)


def comparison_of(live: LiveSettings, embedder: Embedder | None, *, trusted: bool = True) -> Comparison:
    """Return the pair model of the package and the numbers in force."""
    background = 0.0 if embedder is None else embedder.background[0]
    return Comparison(shared_pair_reader(), live.tuned(PairWeights), live.tuned(DuplicateWeights), trusted, background)


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
        acts = sure and self.relation is Relation.REPLACES
        return Replacement(place, acts, reason(self.replaces, sure=acts))


def may_pair(later: Statement, earlier: Statement, weights: PairWeights) -> bool:
    """Return True if two statements are by one owner, short, and of kinds that one sentence can repeat or replace."""
    if named(later.speaker) != named(earlier.speaker) or is_assistant(later.speaker):
        return False
    return _is_comparable(later, earlier, weights)


def may_echo(later: Statement, earlier: Statement, weights: PairWeights) -> bool:
    """Return True if an assistant's statement may repeat one that somebody made, or itself."""
    return is_assistant(later.speaker) and _is_comparable(later, earlier, weights)


def _is_comparable(later: Statement, earlier: Statement, weights: PairWeights) -> bool:
    if isinstance(earlier, Memory) and (earlier.kind is Kind.SKILL or earlier.category == EPISODE or earlier.flagged):
        return False
    return max(len(later.text), len(earlier.text)) <= weights.longest


def is_later(at: datetime | None, earlier: Memory) -> bool:
    """Return False if a statement was made before a memory that is known since: old talk outdates nothing. A memory of a dated
    event does not tell when it was said, and counts as earlier."""
    said = earlier.happened_at if earlier.happened_until is None else None
    return at is None or said is None or at >= said - _SLACK


@frozen
class Relations(Generic[Place]):
    """The relations of each later statement, the nearest first; a note if the model cannot be read; and the number of pairs that
    were not read and wait for rest."""

    found: dict[int, list[Related[Place]]]
    notes: tuple[str, ...] = ()
    waiting: int = 0


def relations(reader: PairReader, candidates: Iterable[PairCandidate[Place]], weights: PairWeights) -> Relations[Place]:
    """Return what the pair model says of the most promising of these pairs."""
    ranked = _ranked(candidates)
    waiting = sum(odds >= weights.promising for odds, _ in ranked)
    read = _best(ranked, weights)
    texts = [(shown(pair.earlier), shown(pair.later)) for pair in read]
    try:
        judged = reader.judge(texts) if read else []
    except EngramError as error:
        note = f"{error.code}: {error.message} Statements are stored without comparing them until it is there."
        return Relations({}, (note,), waiting)
    found: dict[int, list[Related[Place]]] = {}
    for pair, (earlier, later), judgement in zip(read, texts, judged, strict=True):
        what = relation(judgement, earlier, later, weights)
        if what is Relation.SAME:
            follows = day_of(pair.earlier) == day_of(pair.later)  # what tells of a day is another on another day
        else:
            follows = what is not Relation.NEITHER and may_be_outdated(pair.earlier, pair.later)
        if follows:
            found.setdefault(pair.number, []).append(Related(pair.place, what, judgement.replaces))
    return Relations(found, (), waiting - len(read))


def echoes(reader: PairReader, candidates: Iterable[PairCandidate[Place]], weights: PairWeights) -> dict[int, Place]:
    """Return the known statement that each of an assistant's statements repeats in other words (C15)."""
    read = chosen(candidates, weights)
    texts = [(_bare(pair.earlier), _bare(pair.later)) for pair in read]
    try:
        judged = reader.judge(texts) if read else []
    except EngramError:
        return {}  # `relations` reports it
    found: dict[int, Place] = {}
    for pair, (known, said), judgement in zip(read, texts, judged, strict=True):
        if is_echo(judgement, known, said, weights):
            found.setdefault(pair.number, pair.place)
    return found


def _bare(statement: Statement) -> str:
    return f"{statement.words} [{statement.carries}]" if statement.carries else statement.words


def chosen(candidates: Iterable[PairCandidate[Place]], weights: PairWeights) -> Sequence[PairCandidate[Place]]:
    """Return the pairs to read: of each later statement the most promising few, the best first."""
    return _best(_ranked(candidates), weights)


def _ranked(candidates: Iterable[PairCandidate[Place]]) -> list[tuple[float, PairCandidate[Place]]]:
    """Return pairs with their odds, the most promising first."""
    odds = ((promise(pair.earlier, pair.later, of_slot=pair.of_slot), pair) for pair in candidates)
    return sorted(odds, key=lambda one: -one[0])


def _best(ranked: Sequence[tuple[float, PairCandidate[Place]]], weights: PairWeights) -> Sequence[PairCandidate[Place]]:
    best: dict[int, dict[Place, PairCandidate[Place]]] = {}
    for odds, pair in ranked:
        own = best.setdefault(pair.number, {})
        if odds >= weights.promising and len(own) < weights.most_at_once:
            own.setdefault(pair.place, pair)
    return [pair for number in sorted(best) for pair in best[number].values()]
