"""Inference (K11): A is part of B and B is part of C, so A is part of C. Pure.

Only relations that are transitive or compose, only premises above a confidence, never through a cycle. A conclusion is marked
with the memories it was inferred from, and is retired with any of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engram.text.english.gazetteer import GIVEN_NAMES
from engram.values.frozen import frozen

LEAST = 0.7
"""A conclusion must have a confidence above this."""
_LONGEST = 5
_STEP = 0.95
"""A conclusion has the confidence of its weakest premise, times this for each further premise."""

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
"""Compositions of two relations: a person who lives in a place that is located in another lives in that one too."""


@frozen
class Relation:
    """A relation of `source` to `target`, its confidence, and the id of the memory that states it."""

    source: str
    kind: str
    target: str
    confidence: float
    premise: str


@frozen
class Inferred:
    """A conclusion and the ids of the memories it follows from; none of them states it."""

    source: str
    kind: str
    target: str
    confidence: float
    premises: tuple[str, ...]


def normal_form(kind: str) -> str:
    """Return the normal form of a relation: "is part of" and "part_of" become "part of"."""
    words = kind.casefold().replace("_", " ").split()
    while len(words) > 1 and words[0] in ("is", "are", "was") and words[1:] != ["a"]:
        words = words[1:]
    return " ".join(words)


def supports_inference(kind: str) -> bool:
    """True if conclusions can follow from such a relation."""
    bare = normal_form(kind)
    return bare in _TRANSITIVE or any(bare in pair for pair in _CARRIED)


def composed(first: str, second: str) -> str | None:
    """Return the relation of A to C, given that of A to B and that of B to C; None if they do not compose."""
    one, other = normal_form(first), normal_form(second)
    return one if one == other and one in _TRANSITIVE else _CARRIED.get((one, other))


def infer(relations: Iterable[Relation], about: str | None = None, *, least: float = LEAST) -> tuple[Inferred, ...]:
    """Return all conclusions from these relations that they do not state, the most confident first.

    about: only conclusions about this source.
    """
    known = list(relations)
    stated = {(one.source, normal_form(one.kind), one.target) for one in known}
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
    """Yield the conclusions about one source, from paths of up to five premises without a cycle.

    Of the paths of equal length to the same target only the most confident is continued: a dense graph has millions of paths.
    """
    ways: list[tuple[str, str, float, tuple[str, ...], set[str]]]
    ways = [
        (one.target, normal_form(one.kind), one.confidence, (one.premise,), {start, one.target}) for one in leading.get(start, ())
    ]
    for _ in range(_LONGEST - 1):
        further: dict[tuple[str, str], tuple[str, str, float, tuple[str, ...], set[str]]] = {}
        for at, kind, weakest, premises, passed in ways:
            for one in leading.get(at, ()):
                made = composed(kind, one.kind)
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
    """True if a relation composes through `middle`. Most do not through a person: Tom's book does not belong to Tom's club."""
    return not _is_person(middle) or kind.endswith(" than") or kind in _OF_PEOPLE


def _may_have(source: str, kind: str) -> bool:
    """False for a person who would inherit a dependency: using a tool is not depending on all that the tool needs."""
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


def conclusion_sentence(one: Inferred, told: Sequence[str]) -> str:
    """Return a conclusion as a sentence, with source and target as the premises write them.

    told: the texts of the premises, in their order.
    """
    verb = (
        one.kind if one.kind in _AS_THEY_ARE else _SAID_AS.get(one.kind) or f"is {'a ' if one.kind in _ONE_OF else ''}{one.kind}"
    )
    first, last = as_written(one.source, told[0]), as_written(one.target, told[-1])
    text = f"{first} {verb} {within_sentence(last)}"
    return f"{text[0].upper()}{text[1:]}."


def as_written(name: str, text: str) -> str:
    """Return a name as it is written in a text, with its article; unchanged if it does not occur there."""
    found = re.search(rf"(?:\bthe )?(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    return found.group() if found else _SELF.get(name, name)


def within_sentence(name: str) -> str:
    return f"the {name[4:]}" if name.startswith("The ") else name
