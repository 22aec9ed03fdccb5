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
_COMPOSITIONS = {
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
    kind = normal_form(kind)
    return kind in _TRANSITIVE or any(kind in pair for pair in _COMPOSITIONS)


def composed(first: str, second: str) -> str | None:
    """Return the relation of A to C, given that of A to B and that of B to C; None if they do not compose."""
    former, latter = normal_form(first), normal_form(second)
    return former if former == latter and former in _TRANSITIVE else _COMPOSITIONS.get((former, latter))


def infer(relations: Iterable[Relation], about: str | None = None, *, least: float = LEAST) -> tuple[Inferred, ...]:
    """Return all conclusions from these relations that they do not state, the most confident first.

    about: only conclusions about this source.
    """
    known = list(relations)
    stated = {(relation.source, normal_form(relation.kind), relation.target) for relation in known}
    outgoing: dict[str, list[Relation]] = {}
    for relation in known:
        if relation.confidence > least and relation.source != relation.target:
            outgoing.setdefault(relation.source, []).append(relation)
    best: dict[tuple[str, str, str], Inferred] = {}
    for start in outgoing if about is None else [about]:
        for conclusion in _conclusions_about(start, outgoing, least):
            triple = (conclusion.source, conclusion.kind, conclusion.target)
            if triple not in stated and (triple not in best or best[triple].confidence < conclusion.confidence):
                best[triple] = conclusion
    return tuple(
        sorted(best.values(), key=lambda relation: (-relation.confidence, relation.source, relation.kind, relation.target))
    )


def _conclusions_about(start: str, outgoing: dict[str, list[Relation]], least: float) -> Iterable[Inferred]:
    """Yield the conclusions about one source, from paths of up to five premises without a cycle.

    Of the paths of equal length to the same target only the most confident is continued: a dense graph has millions of paths.
    """
    paths: list[tuple[str, str, float, tuple[str, ...], set[str]]]
    paths = [
        (relation.target, normal_form(relation.kind), relation.confidence, (relation.premise,), {start, relation.target})
        for relation in outgoing.get(start, ())
    ]
    for _ in range(_LONGEST - 1):
        longer: dict[tuple[str, str], tuple[str, str, float, tuple[str, ...], set[str]]] = {}
        for end, kind, weakest, premises, visited in paths:
            for relation in outgoing.get(end, ()):
                composition = composed(kind, relation.kind)
                confidence = min(weakest, relation.confidence)
                if composition is None or not _composes_through(end, composition) or not _may_inherit(start, composition):
                    continue
                if relation.target in visited or confidence * _STEP ** len(premises) <= least:
                    continue
                known = longer.get((relation.target, composition))
                if known is None or known[2] < confidence:
                    longer[relation.target, composition] = (
                        relation.target,
                        composition,
                        confidence,
                        (*premises, relation.premise),
                        visited | {relation.target},
                    )
                    yield Inferred(
                        start, composition, relation.target, confidence * _STEP ** len(premises), (*premises, relation.premise)
                    )
        paths = list(longer.values())


def _composes_through(middle: str, kind: str) -> bool:
    """True if a relation composes through `middle`. Most do not through a person: Tom's book does not belong to Tom's club."""
    return not _is_person(middle) or kind.endswith(" than") or kind in _OF_PEOPLE


def _may_inherit(source: str, kind: str) -> bool:
    """False for a person who would inherit a dependency: using a tool is not depending on all that the tool needs."""
    return not (_is_person(source) and kind in _OF_THINGS)


def _is_person(name: str) -> bool:
    folded = name.casefold()
    return folded in _SELF or folded.partition(" ")[0] in GIVEN_NAMES


_OF_PEOPLE = frozenset({"ancestor of", "descendant of", "same as"})
_OF_THINGS = frozenset({"depends on", "requires", "needs"})
_VERBS = frozenset(
    """
    contains|belongs to|depends on|requires|needs|blocks|is a|precedes|follows|causes|leads to|runs on|implies|lives in|works at
    works in
    """.strip()
    .replace("\n", "|")
    .replace("    ", "")
    .split("|")
)
_WITH_ARTICLE = frozenset({"kind of", "type of", "subclass of", "instance of", "descendant of", "member of"})
_SELF = {"user": "the user", "i": "the user"}
_WORDINGS = {"ancestor of": "is an ancestor of", "same as": "is the same as"}


def conclusion_sentence(conclusion: Inferred, premises: Sequence[str]) -> str:
    """Return a conclusion as a sentence, with source and target as the premises write them.

    premises: the texts of the premises, in their order.
    """
    verb = (
        conclusion.kind
        if conclusion.kind in _VERBS
        else _WORDINGS.get(conclusion.kind) or f"is {'a ' if conclusion.kind in _WITH_ARTICLE else ''}{conclusion.kind}"
    )
    first, last = as_written(conclusion.source, premises[0]), as_written(conclusion.target, premises[-1])
    text = f"{first} {verb} {within_sentence(last)}"
    return f"{text[0].upper()}{text[1:]}."


def as_written(name: str, text: str) -> str:
    """Return a name as it is written in a text, with its article; unchanged if it does not occur there."""
    match = re.search(rf"(?:\bthe )?(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE)
    return match.group() if match else _SELF.get(name, name)


def within_sentence(name: str) -> str:
    return f"the {name[4:]}" if name.startswith("The ") else name
