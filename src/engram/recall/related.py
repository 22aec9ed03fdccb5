"""Do the first hits have to do with the question at all? Pure.

Fused scores, and likeness in standard deviations, are relative: the best of what has nothing to do with a question has a good one
too. Three things are not relative: how like the likest hit is over the encoder's background, how much of the question's telling
words the hits hold, and whether it names somebody whom none of them names. The best of many is likelier to be like anything, so
that the number of candidates counts, too. They are joined by a logistic regression, fitted on LoCoMo's development split:
questions with an answer against those of other conversations and of everyday life, in whole vaults and in vaults of 1 to 20
turns (docs/benchmarks.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from engram.index.lexical import STOP_WORDS
from engram.text.entities import PERSON, folded, mentions
from engram.text.terms import terms

_LIKENESS, _HELD, _STRANGER, _AMONG, _BIAS = 19.4, 4.5, -2.9, -1.56, -3.64
_MANY = 200  # candidates: beyond so many they are no longer all that there is
_OWN = "user's "  # how those begin, folded, who are somebody to the user
_STEM = 5  # letters by which "plays" and "played" are the same word


def related(likeness: float, held: float, stranger: bool, candidates: int) -> float:
    """The chance that what was found, as the best of so many candidates, has to do with the question."""
    among = _AMONG * math.log10(1 + min(candidates, _MANY))
    return 1.0 / (1.0 + math.exp(-(_LIKENESS * likeness + _HELD * held + _STRANGER * stranger + among + _BIAS)))


def held(question: str, said: Sequence[tuple[str, str]]) -> float:
    """The share of the question's telling words that these hits, as (speaker, text), hold; 1 if it has none."""
    asked = {word[:_STEM] for word in terms(question) if word not in STOP_WORDS}
    return len(asked & {word[:_STEM] for word in _words(said)}) / len(asked) if asked else 1.0


def names_stranger(question: str, said: Sequence[tuple[str, str]]) -> bool:
    """Does the question name a person of whom none of these hits has any part of the name? "My boss" is no name: the hits may
    well say "my manager"."""
    people = [one for one in mentions(question) if one.kind == PERSON and not folded(one.name).startswith(_OWN)]
    told = _words(said) if people else set()
    return any(not (set(terms(one.name)) - STOP_WORDS) & told for one in people)


def _words(said: Sequence[tuple[str, str]]) -> set[str]:
    return {word for speaker, text in said for word in (*terms(speaker), *terms(text))}
