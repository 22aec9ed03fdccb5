"""What follows from what is known (K11): A is part of B and B of C, so A is part of C. Pure.

Only for relations that carry over, only from premises that are sure, never round in a circle, and never as anybody's word: what
follows is marked with what it was inferred from, and is gone with that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engram.text.english.gazetteer import GIVEN_NAMES
from engram.values.frozen import frozen

LEAST = 0.7
"""What follows must be surer than this."""
_LONGEST = 5
_STEP = 0.95
"""As sure as the least sure premise, and a little less for each further one."""

_TRANSITIVE = frozenset(
    """
    part of|located in|inside|within|contains|belongs to|depends on|requires|needs|blocks|is a|kind of|type of|subclass of
    instance of|ancestor of|descendant of|older than|younger than|taller than|shorter than|larger than|smaller than|bigger than
    faster than|slower than|heavier than|lighter than|north of|south of|east of|west of|above|below|before|after|precedes|follows
    earlier than|later than|causes|caused by|leads to|derived from|runs on|hosted on|same as|implies
    """.strip()
    .replace("\n", "|")
    .replace("    ", "")
    .split("|")
)
_CARRIED = {
    ("lives in", "located in"): "lives in",
    ("lives in", "part of"): "lives in",
    ("works at", "part of"): "works at",
    ("works in", "located in"): "works in",
    ("runs on", "part of"): "runs on",
    ("runs on", "located in"): "located in",
    ("member of", "part of"): "member of",
    ("uses", "depends on"): "depends on",
    ("uses", "requires"): "requires",
}
"""What one relation makes of another: who lives in a place that lies in another lives in that, too."""


@frozen
class Relation:
    """That `source` stands in a relation to `target`: how sure that is, and which memory says so."""

    source: str
    kind: str
    target: str
    confidence: float
    premise: str


@frozen
class Inferred:
    """What follows, and from which memories; none of them says it."""

    source: str
    kind: str
    target: str
    confidence: float
    premises: tuple[str, ...]


def plain(kind: str) -> str:
    """A relation however it is written: "is part of" and "part_of" are "part of"."""
    words = kind.casefold().replace("_", " ").split()
    while len(words) > 1 and words[0] in ("is", "are", "was") and words[1:] != ["a"]:
        words = words[1:]
    return " ".join(words)


def carries(kind: str) -> bool:
    """May something follow from such a relation?"""
    bare = plain(kind)
    return bare in _TRANSITIVE or any(bare in pair for pair in _CARRIED)


def joined(first: str, second: str) -> str | None:
    """The relation of A to C, where A is in the first to B and B in the second to C; None if there is none."""
    one, other = plain(first), plain(second)
    return one if one == other and one in _TRANSITIVE else _CARRIED.get((one, other))


def inferred(relations: Iterable[Relation], about: str | None = None, *, least: float = LEAST) -> tuple[Inferred, ...]:
    """All that follows from these and is not among them, the surest first; `about`: of this one alone."""
    known = list(relations)
    stated = {(one.source, plain(one.kind), one.target) for one in known}
    leading: dict[str, list[Relation]] = {}
    for one in known:
        if one.confidence > least and one.source != one.target:
            leading.setdefault(one.source, []).append(one)
    best: dict[tuple[str, str, str], Inferred] = {}
    for start in leading if about is None else [about]:
        for made in _from(start, leading, least):
            name = (made.source, made.kind, made.target)
            if name not in stated and (name not in best or best[name].confidence < made.confidence):
                best[name] = made
    return tuple(sorted(best.values(), key=lambda one: (-one.confidence, one.source, one.kind, one.target)))


def _from(start: str, leading: dict[str, list[Relation]], least: float) -> Iterable[Inferred]:
    """What follows of one, by ways of up to five premises that pass by nothing twice.

    Of the ways of one length to the same only the surest goes on: where all hangs on all there are millions of them.
    """
    ways: list[tuple[str, str, float, tuple[str, ...], set[str]]]
    ways = [(one.target, plain(one.kind), one.confidence, (one.premise,), {start, one.target}) for one in leading.get(start, ())]
    for _ in range(_LONGEST - 1):
        further: dict[tuple[str, str], tuple[str, str, float, tuple[str, ...], set[str]]] = {}
        for at, kind, weakest, premises, passed in ways:
            for one in leading.get(at, ()):
                made = joined(kind, one.kind)
                sure = min(weakest, one.confidence)
                if made is None or not _passes_on(at, made) or not _may_have(start, made):
                    continue
                if one.target in passed or sure * _STEP ** len(premises) <= least:
                    continue
                known = further.get((one.target, made))
                if known is None or known[2] < sure:
                    further[one.target, made] = (one.target, made, sure, (*premises, one.premise), passed | {one.target})
                    yield Inferred(start, made, one.target, sure * _STEP ** len(premises), (*premises, one.premise))
        ways = list(further.values())


def _passes_on(middle: str, kind: str) -> bool:
    """What holds of people does not go on through them: a book that belongs to Tom does not belong to the club that Tom does."""
    return not _is_person(middle) or kind.endswith(" than") or kind in _OF_PEOPLE


def _may_have(source: str, kind: str) -> bool:
    """Who uses something does not depend on all that it does."""
    return not (_is_person(source) and kind in _OF_THINGS)


def _is_person(name: str) -> bool:
    bare = name.casefold()
    return bare in _SELF or bare.partition(" ")[0] in GIVEN_NAMES


_OF_PEOPLE = frozenset({"ancestor of", "descendant of", "same as"})
_OF_THINGS = frozenset({"depends on", "requires", "needs"})
_AS_THEY_ARE = frozenset(
    """
    contains|belongs to|depends on|requires|needs|blocks|is a|precedes|follows|causes|leads to|runs on|implies|lives in|works at
    works in
    """.strip()
    .replace("\n", "|")
    .replace("    ", "")
    .split("|")
)
_ONE_OF = frozenset({"kind of", "type of", "subclass of", "instance of", "descendant of", "member of"})
_SELF = {"user": "the user", "i": "the user"}
_SAID_AS = {"ancestor of": "is an ancestor of", "same as": "is the same as"}


def sentence(one: Inferred, told: Sequence[str]) -> str:
    """What follows, in words; both ends as the premises (`told`, in their order) write them: "The parser is part of the
    toolchain."."""
    verb = (
        one.kind if one.kind in _AS_THEY_ARE else _SAID_AS.get(one.kind) or f"is {'a ' if one.kind in _ONE_OF else ''}{one.kind}"
    )
    first, last = as_written(one.source, told[0]), as_written(one.target, told[-1])
    text = f"{first} {verb} {within_sentence(last)}"
    return f"{text[0].upper()}{text[1:]}."


def as_written(name: str, text: str) -> str:
    """A name as a text has it, with its article; as it is kept, if it is not there."""
    found = re.search(rf"(?:\bthe )?(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    return found.group() if found else _SELF.get(name, name)


def within_sentence(name: str) -> str:
    return f"the {name[4:]}" if name.startswith("The ") else name
