"""Decide which earlier statement of a speaker a correction in talk is about, and how sure that is. Pure.

The cue and what is behind it are read in `text/english/corrections.py`. A value ("sorry, Thursday") corrects the statement just
before it if that names a value of the same sort; a sentence corrects the one of the last statements that it replaces by the pair
model, or that it repeats with another word. Where nothing fits, nothing is corrected: "no, it's fine" is an answer.

Of 31 labelled corrections 2 are missed, and of 33 sentences that only sound like one none retires anything
(`tests/labelled/spoken_corrections.jsonl`). The cues were written with these rows in view; there is no unseen figure yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engram.rules.wording import overlap
from engram.text.english.corrections import Correction, values_in
from engram.text.terms import words
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.models.pair_reader import PairJudgement

Judge = Callable[[Sequence[tuple[str, str]]], Sequence["PairJudgement"]]
"""The pair model: judges pairs of an earlier and a later statement."""

_REPLACES = 0.5
"""Probability from which a sentence that begins as a correction replaces an earlier statement of its speaker."""
_REPEATS = 0.5
"""Share of common words from which a correction repeats the statement that it corrects."""
_PRONOUN = re.compile(r"(?:it|he|she|they|that)(?='s\b|'re\b|\s)", re.IGNORECASE)
_SUBJECT = re.compile(r"(?P<subject>.{1,60}?)(?='s\b|\s+(?:is|are|was|were|has|have|had|will|can|\w+s)\b)", re.IGNORECASE)


@frozen
class CorrectedStatement:
    """The place of the corrected statement among the earlier ones. sure: else it is only challenged. elliptic: the correction
    cannot be understood without it."""

    place: int
    sure: bool
    elliptic: bool


def corrected_by(correction: Correction, earlier: Sequence[str], judge: Judge) -> CorrectedStatement | None:
    """Return the statement that is corrected; None if none is. `earlier` are the speaker's last statements, the last first."""
    if not earlier:
        return None
    rest, last = correction.rest, earlier[0]
    if not rest:
        return CorrectedStatement(0, True, False)
    if correction.wrong:
        named = (place for place, text in enumerate(earlier) if _names(text, correction.wrong) and not _names(text, rest))
        place = next(named, None)
        return None if place is None else CorrectedStatement(place, True, True)
    pronoun = _PRONOUN.match(rest)
    repeats = [overlap(text, rest) >= _REPEATS for text in earlier]
    if not any(repeats) and (correction.is_value or pronoun is not None):
        alike = next((place for place, text in enumerate(earlier) if _has_part_of_the_name(text, rest)), None)
        if alike is not None:
            return CorrectedStatement(alike, True, True)
        resolved = _with_subject(last, rest)
        if _fits(last, rest) or (resolved and judge([(last, resolved)])[0].replaces >= _REPLACES):
            return CorrectedStatement(0, True, True)
        return CorrectedStatement(0, False, True) if correction.explicit and not values_in(f"a {rest}") else None
    scores = [judged.replaces for judged in judge([(text, rest) for text in earlier])]
    best = max(range(len(earlier)), key=scores.__getitem__)
    if scores[best] >= _REPLACES:
        return CorrectedStatement(best, True, False)
    same = next((place for place, is_repeated in enumerate(repeats) if is_repeated), None)
    if same is not None and earlier[same].rstrip(".! ").lower() != rest.lower() and (correction.explicit or _fits(last, rest)):
        return CorrectedStatement(same, True, False)
    return CorrectedStatement(0, False, False) if correction.explicit and _fits(last, rest) else None


def _names(text: str, value: str) -> bool:
    wanted, found = words(value), words(text)
    return any(found[at : at + len(wanted)] == wanted for at in range(len(found) - len(wanted) + 1))


def _fits(statement: str, rest: str) -> bool:
    """Return True if both name a value of one sort, and the statement does not name that of the correction."""
    known, new = values_in(statement), values_in(f"a {rest}")
    return any(sort in known and not new[sort] & known[sort] for sort in new)


def _has_part_of_the_name(statement: str, rest: str) -> bool:
    """Return True if a statement has some words of the name in a correction, but not all: "Priya Shah" for "Prita Shah"."""
    known, new = set(_CAPITAL.findall(statement)), set(_CAPITAL.findall(rest))
    return bool(new & known) and not new <= known


_CAPITAL = re.compile(r"(?<=\s)[^\W\d_a-z]\w+")


def _with_subject(statement: str, rest: str) -> str:
    """Return a sentence about "it" or "she" with the subject of the statement before it; empty if either has none."""
    subject = _SUBJECT.match(statement)
    return "" if subject is None or _PRONOUN.match(rest) is None else _PRONOUN.sub(subject["subject"], rest, count=1)
