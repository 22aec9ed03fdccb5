"""What says again what was corrected: it is not kept, in whatever words and from wherever it comes (M19)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from engram.index.lexical import STOP_WORDS
from engram.index.vectors.live import LiveIndex
from engram.models.embed import Vectors
from engram.settings import Settings
from engram.store.sqlite.store import SqliteStore
from engram.text.person import named, third_person
from engram.text.terms import digest_of, terms
from engram.text.wordlist import word_set
from engram.types import Memory, Policy, Reader


@dataclass(frozen=True, slots=True)
class Said:
    """A statement to look for among what was corrected: each way it may have been kept, whose word it is, its vector."""

    wordings: tuple[str, ...]
    speaker: str
    vector: Vectors | None

    @classmethod
    def of(cls, text: str, said: str, speaker: str, vector: Vectors | None) -> Said:
        """`said` are the bare words. Another's "my sister" is another sister; what is about nobody is the same from anyone."""
        whose = named(speaker)
        if set(terms(said)) & _PERSONAL and whose != _USER:
            return cls((text,), whose, vector)
        told = (text, said, f"{_USER}: {said}", third_person(said, _USER) or text)
        return cls(tuple(dict.fromkeys(told)), whose, vector)


def heirs_of(
    store: SqliteStore, index: LiveIndex | None, reader: Reader, statements: Iterable[Said], settings: Settings
) -> dict[int, Memory]:
    """Which of these say what was corrected exactly where the reader stands, by number, with what stands in its place."""
    here = replace(reader, policy=Policy.OWN)
    keys = store.corrections(here)
    if not keys:
        return {}
    said = list(statements)  # only now: each takes some work
    digests = [[digest_of(wording) for wording in one.wordings] for one in said]
    same = store.corrected(here, [digest for some in digests for digest in some])
    found = {number: same[digest] for number, some in enumerate(digests) for digest in some if digest in same}
    reworded = {number: one for number, one in enumerate(said) if number not in found and one.vector is not None}
    rows = index.vectors(here, keys) if index is not None and reworded else None
    if rows is None:
        return found
    cosines = np.nan_to_num(np.stack([one.vector for one in reworded.values()]) @ rows.T)  # type: ignore[misc]
    for (number, one), likes in zip(reworded.items(), cosines, strict=True):
        close = [keys[place] for place in np.flatnonzero(likes >= _NEAR).tolist()]
        for old in store.fetch(here, close) if close else ():
            heir = store.heir(here, old.key)
            if _means(one, old, heir, settings):
                found[number] = heir
                break
    return found


def _means(one: Said, old: Memory, heir: Memory, settings: Settings) -> bool:
    whose = one.speaker == named(old.speaker)
    told = [wording for wording in one.wordings if whose or not set(terms(wording)) & _PERSONAL]
    return any(says_again(wording, old.text, settings, instead=heir.text) for wording in told)


def says_again(said: str, corrected: str, settings: Settings, *, instead: str = "") -> bool:
    """Do these words, whose vectors are near, say what was corrected, at the same time of its history?

    Its telling words, whatever their ending, in their order, and none that is new; what denies it, or puts it into the past,
    says something else. The encoder alone cannot tell: "lived in Porto" and "does not live in Porto" are as near to "lives in
    Porto" (.97) as "is living in Porto" is (.99). Words that the correction (`instead`) left as they were may change places
    among themselves ("my sister Carla", "Carla, my sister") but not with those that it took away.
    """
    if set(terms(said)) & _TURNS != set(terms(corrected)) & _TURNS:
        return False
    new, old = _telling(said), _telling(corrected)
    kept = set(old) & set(_telling(instead))
    if kept != set(old):  # else only the order was corrected, and all of it tells
        new, old = _runs_sorted(new, kept), _runs_sorted(old, kept)
    rest = iter(old)
    return len(new) >= settings.duplicate_overlap * len(old) and all(word in rest for word in new)


def _runs_sorted(words: list[str], kept: set[str]) -> list[str]:
    """Each run of words that were kept in one order, whatever theirs is."""
    runs = groupby(words, key=kept.__contains__)
    return [word for loose, run in runs for word in (sorted(run) if loose else run)]


def _telling(text: str) -> list[str]:
    return [_stem(word) for word in terms(_NOWADAYS.sub(" ", text)) if word not in STOP_WORDS and word not in _EMPHASIS]


def _stem(word: str) -> str:
    """Without the endings of the present: live, lives, living; run, running."""
    for ending in ("ing", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            bare = word.removesuffix(ending)
            return bare[:-1] if ending == "ing" and bare[-1] == bare[-2] else bare
    return word


_NEAR = 0.85
"""Cosine from which words are looked at: they decide, and "The user:" before them costs .04 by itself."""

_NOWADAYS = re.compile(r"\b(?:these days|nowadays|right now|at the moment|at present|as of now)\b", re.IGNORECASE)
_USER = "the user"
_PERSONAL = word_set("i me my mine myself we us our ours ourselves")
_EMPHASIS = word_set("really truly quite actually totally currently still")
_TURNS = word_set(
    """
    not no never none nothing nobody neither nor cannot don doesn didn isn aren wasn weren won can t without
    was were had did used been before once ago
    """
)
