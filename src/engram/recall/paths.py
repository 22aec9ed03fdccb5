"""Find the chain of facts that connects two names: Ada works at Acme, Acme is in Oslo."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.store.ports import Store
from engram.text.english.entities import folded
from engram.types import Reader
from engram.values.entities import FactNeighbour, FactPath, PathStep

LONGEST = 6
_WIDEST = 400  # names that one step goes out from
_FACTS = 4000  # facts that one step reads


def shortest(
    store: Store, reader: Reader, start: str, end: str, *, predicates: Sequence[str], most: int, as_of: datetime | None
) -> FactPath:
    """Return the shortest chain of facts between two names, the surest of those that are equally short; a query per step."""
    source, goals = folded(start), {folded(end)}
    found = store.entities.get(reader, end)
    if found is not None:
        goals |= {folded(found[0].name), *found[0].names}
    reached: dict[str, FactNeighbour | None] = {source: None}
    frontier = [source]
    for _ in range(most):
        step = store.facts.around(reader, frontier, predicates=predicates, as_of=as_of, most=_FACTS)
        frontier = []
        for fact in step:
            name = fact.subject if fact.backwards else fact.object
            if name in reached:
                continue
            reached[name] = fact
            if name in goals:
                return FactPath(start, end, _chain(reached, name))
            frontier.append(name)
        frontier = frontier[:_WIDEST]
        if not frontier:
            break
    return FactPath(start, end)


def _chain(reached: dict[str, FactNeighbour | None], name: str) -> tuple[PathStep, ...]:
    steps: list[PathStep] = []
    while (fact := reached[name]) is not None:
        ends = fact.subject, fact.predicate, fact.object
        steps.append(PathStep(*ends, fact.backwards, fact.memory, fact.confidence, fact.since, fact.until))
        name = fact.name
    return tuple(reversed(steps))
