"""Decisions on entities by hand (M21): which names mean one entity, which do not, and what it is called. Pure.

Decisions are about names, not about rows: they are applied each time that a mention is read, so that later mentions follow them,
a forgotten memory takes none of them along, and taking one back is to read the mentions again without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engram.text.english.entities import UNSURE, folded
from engram.values.entities import EntityAction, EntityDecision, Mention
from engram.values.frozen import frozen, replace


@frozen
class Rulings:
    """The decisions of a scope as they apply to folded names.

    means: the name that another name stands for, without circles. moved: the same for a name in one memory, by the memory's id.
    shown: how a name is written. kinds: kinds by name. pairs: names that are not one entity.
    """

    means: Mapping[str, str]
    moved: Mapping[tuple[str, str], str]
    shown: Mapping[str, str]
    kinds: Mapping[str, str]
    pairs: frozenset[frozenset[str]]

    def applied(self, mention: Mention, memory: str) -> Mention:
        """Return a mention of a memory with the name and the kind that were decided for it."""
        said = folded(mention.name)
        name = self.name_of(self.moved.get((memory, said), said))
        aliases = tuple(alias for alias in mention.aliases if not self.are_apart((name,), (folded(alias),)))
        if name != said and (memory, said) not in self.moved:
            aliases = (*aliases, mention.name)
        shown = self.shown.get(name, name) if name != said else self.shown.get(name, mention.name)
        kind = mention.kind if mention.kind == UNSURE else self.kinds.get(name, mention.kind)
        return replace(mention, name=shown, kind=kind, aliases=aliases)

    def name_of(self, name: str) -> str:
        """Return the name that this one means."""
        while (following := self.means.get(name)) is not None:
            name = following
        return name

    def names_of(self, name: str) -> list[str]:
        """Return the other names that mean this one."""
        return [other for other in self.means if other != name and self.name_of(other) == name]

    def are_apart(self, names: Iterable[str], others: Iterable[str]) -> bool:
        """True if it was decided that two of these names are not one entity."""
        return bool(self.pairs) and not self.pairs.isdisjoint(frozenset((a, b)) for b in tuple(others) for a in names)


NO_RULINGS = Rulings({}, {}, {}, {}, frozenset())


def rulings(decisions: Sequence[EntityDecision]) -> Rulings:
    """Return what decisions, in their order, say of names."""
    if not decisions:
        return NO_RULINGS
    links = _Links()
    moved: dict[tuple[str, str], str] = {}
    shown: dict[str, str] = {}
    kinds: dict[str, str] = {}
    pairs: set[frozenset[str]] = set()
    for number, decision in enumerate(decisions):
        name, other = folded(decision.name), folded(decision.other)
        if decision.action is EntityAction.KIND:
            kinds[name] = decision.other
            continue
        if decision.action in (EntityAction.UNALIAS, EntityAction.APART):
            pairs.add(frozenset((name, other)))
            links.part(name, other)
            continue
        if decision.action is EntityAction.ALIAS:
            name, other = other, name
            shown.setdefault(other, decision.name)
        else:
            shown[other] = decision.other
        if decision.action is EntityAction.SPLIT:
            pairs |= {frozenset((name, one)) for one in (other, *decision.names) if one != name and not decision.memories}
            pairs.add(frozenset((name, other)))
            moved |= {(memory, one): other for memory in decision.memories for one in decision.names}
        if not decision.memories:
            links.join({*decision.names, *((name,) if decision.action is not EntityAction.SPLIT else ())}, other, number)
            pairs = {pair for pair in pairs if len(set(map(links.end_of, pair))) > 1}
    made = Rulings(links.targets, moved, shown, kinds, frozenset(pairs))
    return replace(made, kinds={made.name_of(name): kind for name, kind in kinds.items()})


class _Links:
    """The names that other names stand for, each with the number of the decision that says so."""

    def __init__(self) -> None:
        self._links: dict[str, tuple[str, int]] = {}

    @property
    def targets(self) -> dict[str, str]:
        return {name: target for name, (target, _) in self._links.items()}

    def end_of(self, name: str) -> str:
        """Return the name that this one means in the end."""
        return self._path(name)[-1]

    def join(self, names: Iterable[str], target: str, number: int) -> None:
        """Let names stand for another, which from now on stands for none itself."""
        self._links |= {name: (target, number) for name in names if name != target}
        self._links.pop(target, None)

    def part(self, name: str, other: str) -> None:
        """Withdraw the latest of the decisions by which two names mean the same, until they do not."""
        while name != other and self.end_of(name) == self.end_of(other):
            passed = {*self._path(name)[:-1], *self._path(other)[:-1]}
            latest = max(self._links[one][1] for one in passed)
            self._links = {one: link for one, link in self._links.items() if link[1] != latest}

    def _path(self, name: str) -> list[str]:
        path = [name]
        while (link := self._links.get(path[-1])) is not None:
            path.append(link[0])
        return path


def names_in(decision: EntityDecision) -> list[str]:
    """Return the folded names that a decision is about."""
    other = () if decision.action is EntityAction.KIND else (folded(decision.other),)
    return list(dict.fromkeys((folded(decision.name), *other, *decision.names)))
