"""Find statements that repeat a corrected one: they are not kept, in whatever words and from wherever they come (M19)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from engram.index.vectors.live import LiveIndex
from engram.models.embedders import Vectors
from engram.rules.duplicates import NEAR, DuplicateWeights, same_fact, says_again
from engram.store.ports import Store
from engram.text.english.facts import facts, tells_a_change
from engram.text.english.grammar import named
from engram.text.terms import digest_of, terms, word_set
from engram.types import Memory, Policy, Reader
from engram.values.frozen import frozen, replace


@frozen
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
        told = (text, said, f"{_USER}: {said}")
        return cls(tuple(dict.fromkeys(told)), whose, vector)


def heirs_of(
    store: Store, index: LiveIndex | None, reader: Reader, statements: Iterable[Said], weights: DuplicateWeights
) -> dict[int, Memory]:
    """Return the numbers of statements that were corrected in the reader's own scope, each with the memory in its place."""
    here = replace(reader, policy=Policy.OWN)
    keys = store.feedback.corrections(here)
    if not keys:
        return {}
    said = list(statements)  # only now: each takes some work
    digests = [[digest_of(wording) for wording in one.wordings] for one in said]
    same = store.feedback.corrected(here, [digest for some in digests for digest in some])
    found = {number: same[digest] for number, some in enumerate(digests) for digest in some if digest in same}
    found |= _by_facts(store, here, {number: one for number, one in enumerate(said) if number not in found})
    reworded = {number: one for number, one in enumerate(said) if number not in found and one.vector is not None}
    rows = index.vectors(here, keys) if index is not None and reworded else None
    if rows is None:
        return found
    cosines = np.nan_to_num(np.stack([one.vector for one in reworded.values()]) @ rows.T)  # type: ignore[misc]
    for (number, one), likes in zip(reworded.items(), cosines, strict=True):
        close = {keys[place]: float(likes[place]) for place in np.flatnonzero(likes >= NEAR).tolist()}
        for old in store.memories.fetch(here, list(close)) if close else ():
            heir = store.feedback.replacement(here, old.key)
            if _means(one, old, heir, close[old.key], weights):
                found[number] = heir
                break
    return found


def _means(one: Said, old: Memory, heir: Memory, cosine: float, weights: DuplicateWeights) -> bool:
    whose = one.speaker == named(old.speaker)
    told = [wording for wording in one.wordings if whose or not set(terms(wording)) & _PERSONAL]
    return any(says_again(wording, old.text, weights, instead=heir.text, cosine=cosine) for wording in told)


def _by_facts(store: Store, here: Reader, said: Mapping[int, Said]) -> dict[int, Memory]:
    """Those that say a fact that was corrected, however it is worded."""
    found: dict[int, Memory] = {}
    for number, one in said.items():
        told = [fact for wording in one.wordings[:1] for fact in facts(wording, one.speaker) if not tells_a_change(wording)]
        for old in store.feedback.corrected_facts(here, told) if told else ():
            heir = store.feedback.replacement(here, old.key)
            was, instead = facts(old.text, old.speaker), facts(heir.text, heir.speaker)
            if any(same_fact(new, before, instead) for new in told for before in was):
                found[number] = heir
                break
    return found


_USER = "the user"
_PERSONAL = word_set("i me my mine myself we us our ours ourselves")
