"""Rewordings of a corrected statement by its words (M19), and similarity of short texts by the stems of content words. Pure.

A rewording is recognized by its words if those that the correction removed occur in it, those that it added do not, and the
others are equal or synonyms (`text/english/synonyms.py`), in another order if a copula or "by" reverses it. Where both texts give
a fact, the facts are compared. Rewordings in entirely other words are for the pair model (`rules/corrections.py`).
"""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import groupby

from engram.index.terms import STOP_WORDS
from engram.rules.abridgement import content_words
from engram.text.english.facts import Fact, tells_a_change
from engram.text.english.gazetteer import GIVEN_NAMES
from engram.text.english.grammar import is_past
from engram.text.english.object_types import same
from engram.text.english.synonyms import sense, twin
from engram.text.terms import marks, terms, word_set, words
from engram.values.frozen import frozen

NEAR = 0.85
"""Cosine from which two texts are compared word by word; a prefix "The user:" alone costs .04."""


@frozen(kw_only=True)
class DuplicateWeights:
    """The numbers that decide which statements are compared as duplicates (C4)."""

    duplicate_cosine: float = 0.93  # cosine of two statements from which they may say the same
    duplicate_overlap: float = 0.6  # share of words that they must have in common then


def says_again(said: str, corrected: str, weights: DuplicateWeights, *, instead: str = "") -> bool:
    """True if a text, whose vector is near, states again what was corrected.

    A text that denies it, puts it into the past, or states a change says something else. Words that the correction (`instead`)
    kept may change places among themselves ("my sister Carla", "Carla, my sister"), but not with words that it removed.
    """
    if modifiers(said) != modifiers(corrected) or (tells_a_change(said) and not tells_a_change(corrected)):
        return False
    return _same_words(said, corrected, weights, instead) or _reworded(said, corrected, instead)


def means_the_same(one: str, other: str) -> bool:
    """True if two texts, whose vectors are near, are one statement in other words: each word is equal or a close synonym.

    Only words of no weight are ignored. Two statements that differ in person, place, direction, number or order are different
    (`tests/labelled/merges.csv`).
    """
    figures = _FIGURE.findall(one) == _FIGURE.findall(other) and marks(one) == marks(other)
    return figures and _core(one) == _core(other) and modifiers(one) == modifiers(other)


def _core(text: str) -> list[str]:
    return [twin(word) for word in words(_NOWADAYS.sub(" ", text)) if word not in _SLIGHT]


def same_fact(said: Fact, corrected: Fact, instead: tuple[Fact, ...]) -> bool:
    """True if this is the fact that was corrected, and the correction states another object for it."""
    if (said.subject, said.predicate) != (corrected.subject, corrected.predicate) or not (said.holds and corrected.holds):
        return False
    others = [one for one in instead if (one.subject, one.predicate) == (said.subject, said.predicate)]
    otherwise = bool(others) and not any(one.holds and same(one.object, said.object) for one in others)
    return otherwise and said.single == corrected.single and said.object == corrected.object


def _same_words(said: str, corrected: str, weights: DuplicateWeights, instead: str) -> bool:
    """True if the text has the stems of the corrected one's content words in their order, and no new ones."""
    new, old = _stemmed_words(said), _stemmed_words(corrected)
    kept = set(old) & set(_stemmed_words(instead))
    if kept != set(old):  # else the correction changed only the order, so the order of all words matters
        new, old = _runs_sorted(new, kept), _runs_sorted(old, kept)
    rest = iter(old)
    return len(new) >= weights.duplicate_overlap * len(old) and all(word in rest for word in new)


def _reworded(said: str, corrected: str, instead: str) -> bool:
    """True if the text says the same by synonyms. Not applicable if the correction changed only order or negation."""
    new, old, now = (senses(text) for text in (said, corrected, instead))
    taken, brought = set(old) - set(now), set(now) - set(old)
    if not instead or not taken or not taken <= set(new) or brought & set(new) or old[0] not in new:
        return False
    return set(new) == set(old) and (_in_order(new, old) or _may_be_reversed(f"{said} {corrected}", old))


def _in_order(new: list[str], old: list[str]) -> bool:
    shared = set(new) & set(old)
    return [word for word in new if word in shared] == [word for word in old if word in shared]


def _may_be_reversed(either: str, old: list[str]) -> bool:
    """True if the order may be reversed ("Porto is where she lives", "is owned by"); never with two people, where it matters."""
    return _REVERSING.search(either) is not None and sum(word in GIVEN_NAMES for word in old) < 2


def _runs_sorted(words: list[str], kept: set[str]) -> list[str]:
    """Return the words with each run of kept words sorted."""
    runs = groupby(words, key=kept.__contains__)
    return [word for loose, run in runs for word in (sorted(run) if loose else run)]


def _stemmed_words(text: str) -> list[str]:
    return [_stem(word) for word in terms(_NOWADAYS.sub(" ", text)) if word not in STOP_WORDS and word not in _EMPHASIS]


def senses(text: str) -> list[str]:
    """Return the senses of a text's words, each once, in order."""
    words = [word for word in terms(_NOWADAYS.sub(" ", text)) if word not in _LIGHT and word not in _EMPHASIS]
    kept = (sense(word) or _stem(cardinal(word)) for word in words if sense(word) or word not in STOP_WORDS)
    return list(dict.fromkeys(kept)) or [""]


def modifiers(text: str) -> set[str]:
    """Return the words that deny a statement, move it in time, or make it a wish. "Is used by" is not past, "used to" is."""
    words = [word.lower() for word in _WORD.findall(text)]
    found = set(words) & _MODIFYING
    if "used to" in text.lower():
        found.add("past")
    if any(
        is_past(word) and word not in _PARTICIPLES and before not in _BEING
        for before, word in zip(["", *words], words, strict=False)
    ):
        found.add("past")
    return found


def cardinal(word: str) -> str:
    """Return an ordinal in figures as its number: 3rd is 3. Other words are returned as they are."""
    return _ORDINAL.sub(r"\1", word)


def _stem(word: str) -> str:
    """Return a word without the endings of the present tense: live, lives, living; run, running."""
    for ending in ("ing", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            bare = word.removesuffix(ending)
            return bare[:-1] if ending == "ing" and bare[-1] == bare[-2] else bare
    return word


_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th)$")
_FIGURE = re.compile(r"[-−]?\b\d[\w.,:]*")
_WORD = re.compile(r"[^\W_]+")
_NOWADAYS = re.compile(r"\b(?:these days|nowadays|right now|at the moment|at present|as of now)\b", re.IGNORECASE)
_REVERSING = re.compile(r"\b(?:is|are|by|of|belongs?|that['’]s)\b", re.IGNORECASE)
_EMPHASIS = word_set("really truly quite actually totally currently still")
_LIGHT = word_set("better best comes falls has have located situated")
_SLIGHT = _EMPHASIS | word_set("a an the this that also too very so just now located situated")
_BEING = word_set("is are be been being am get gets s m re")
_PARTICIPLES = word_set("called named known based born located used owned said")
_MODIFYING = word_set(
    """
    not no never none nothing nobody neither nor cannot don doesn didn isn aren wasn weren won can t without
    was were had did been before once ago former
    if unless until may might could would should must will wants want wish wishes hopes hope plans hardly only except
    """
)

STEM = 5
LIKE = 0.6
"""Overlap from which two goals, or two steps, count as the same: "deploy the API to staging" and "deploy API, staging"."""


def stems(text: str) -> frozenset[str]:
    """Return the first letters of the content words, so that "deploying" and "deployed" are equal."""
    return frozenset(word[:STEM] for word in content_words(text))


def stem_overlap(first: Set[str], second: Set[str]) -> float:
    """Return the Dice overlap of two sets of stems, 0 … 1."""
    return 2.0 * len(first & second) / (len(first) + len(second)) if first and second else 0.0


def alike(first: str, second: str) -> bool:
    """True if two texts overlap enough; texts without content words must be equal but for case and outer space."""
    first_stems, second_stems = stems(first), stems(second)
    if first_stems and second_stems:
        return stem_overlap(first_stems, second_stems) >= LIKE
    return first.strip().casefold() == second.strip().casefold()
