"""Find statements that repeat a corrected one: they are not kept, in whatever words and from wherever they come (M19)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from engram.capture.pairs import Comparison
from engram.errors import EngramError
from engram.index.vectors.live import LiveIndex
from engram.models.embedders import Vectors
from engram.models.pair_reader import PairJudgement
from engram.rules.corrections import CorrectionReading, may_repeat, repeats
from engram.rules.duplicates import NEAR, same_fact, says_again
from engram.store.ports import Store
from engram.text.english.facts import facts, tells_a_change
from engram.text.english.grammar import named
from engram.text.terms import digest_of, terms, word_set
from engram.types import Memory, Policy, Proposition, Reader
from engram.values.frozen import frozen, replace


@frozen
class Said:
    """A statement to look for among what was corrected: each way it may have been kept, its words with what they carry, whose
    word it is, its vector."""

    wordings: tuple[str, ...]
    words: str
    speaker: str
    vector: Vectors | None

    @classmethod
    def of(cls, statement: Memory | Proposition, vector: Vectors | None) -> Said:
        """Return a statement as it is looked for. Another's "my sister" is another sister; what is about nobody is the same from
        anyone."""
        whose, bare = named(statement.speaker), statement.words
        if _is_personal(bare) and whose != _USER:
            return cls((statement.text,), _shown(statement), whose, vector)
        wordings = (statement.text, bare, f"{_USER}: {bare}")
        return cls(tuple(dict.fromkeys(wordings)), _shown(statement), whose, vector)


def heirs_of(
    store: Store, index: LiveIndex | None, reader: Reader, statements: Iterable[Said], comparison: Comparison
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
        corrected = [
            _Corrected(old, store.feedback.replacement(here, old.key), close[old.key])
            for old in (store.memories.fetch(here, list(close)) if close else ())
        ]
        heir = _by_words(one, corrected, comparison) or _by_model(one, corrected, comparison)
        if heir is not None:
            found[number] = heir
    return found


@frozen
class _Corrected:
    """A corrected memory near to a statement, with the memory in its place, which is itself where there is none."""

    memory: Memory
    heir: Memory
    cosine: float

    @property
    def instead(self) -> str:
        """The words of the heir; empty if there is none."""
        return "" if self.heir.id == self.memory.id else _shown(self.heir)


def _by_words(one: Said, corrected: Sequence[_Corrected], comparison: Comparison) -> Memory | None:
    for old in corrected:
        own = one.speaker == named(old.memory.speaker)
        told = [wording for wording in one.wordings if own or not _is_personal(wording)]
        instead = old.heir.text if old.instead else ""
        if any(says_again(wording, old.memory.text, comparison.words, instead=instead) for wording in told):
            return old.heir
    return None


def _by_model(one: Said, corrected: Sequence[_Corrected], comparison: Comparison) -> Memory | None:
    """Return the heir of the statement that the pair model takes for the same; None too where the model cannot be read."""
    near = [
        old
        for old in sorted(corrected, key=lambda old: -old.cosine)
        if (one.speaker == named(old.memory.speaker) or not _is_personal(one.words))
        and max(len(one.words), len(old.memory.words)) <= comparison.pairs.longest
    ][:_MOST_READ]
    try:
        for old in near:
            if _repeats(one, old, comparison):
                return old.heir
    except EngramError:
        return None
    return None


def _repeats(one: Said, old: _Corrected, comparison: Comparison) -> bool:
    said, was, weights = one.words, _shown(old.memory), comparison.pairs
    (after,) = comparison.reader.judge([(was, said)])
    if not may_repeat(after):
        return False
    judged: list[PairJudgement] = comparison.reader.judge([(said, was), *([(old.instead, said)] if old.instead else [])])
    beside = judged[1] if old.instead else None
    return repeats(said, was, old.instead, CorrectionReading(after, judged[0], beside), weights)


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


def _shown(statement: Memory | Proposition) -> str:
    """Return the words of a statement with what they carry, without the speaker before them."""
    return f"{statement.words} [{statement.carries}]" if statement.carries else statement.words


def _is_personal(words: str) -> bool:
    return not _PERSONAL.isdisjoint(terms(words))


_MOST_READ = 3
"""Corrected statements that the pair model compares with one new statement."""
_USER = "the user"
_PERSONAL = word_set("i me my mine myself we us our ours ourselves")
