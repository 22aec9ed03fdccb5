"""Decide whether a statement repeats, in other words, one that was corrected (M19). Pure.

The pair model judges the statement beside the corrected one, in both orders, and beside the one that took its place
(`models/pair_reader.py`). It is believed where it is surest: where the statement would also replace the heir, where it is nearly
certain, or where more than one word differs. It cannot tell "teaches French" from "speaks French": of other statements that
differ in one word the words decide (`rules/duplicates.py`).

Of 122 labelled rewordings 27 come through, and 1 of 129 true statements is refused (`tests/labelled/rewordings.csv`); by words
alone these were 52 and 1. The thresholds were chosen with all of these rows in view, so that unseen talk will do worse: the one
time that 20 and 20 rows were new, 6 came through and 2 were refused, and the thresholds were raised after that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.rules.duplicates import modifiers, senses
from engram.rules.pairs import PairWeights, same_figures
from engram.values.frozen import frozen

if TYPE_CHECKING:
    from engram.models.pair_reader import PairJudgement

_LIKELY = 0.94
"""Probability of the same from which a statement that would replace the heir repeats the corrected one."""
_CERTAIN = 0.98
"""Probability of the same from which a single other word is believed to be a synonym."""


@frozen
class CorrectionReading:
    """The judgements of the pair model on a statement: after the corrected one, before it, and after the heir if there is one."""

    after: PairJudgement
    before: PairJudgement
    after_heir: PairJudgement | None

    @property
    def same(self) -> float:
        """The probability that the two say the same, by the more doubtful order."""
        return min(self.after.same, self.before.same)


_REPEATS = 0.6
"""Probability from which a statement may be a corrected one in other words."""


def may_repeat(judged: PairJudgement) -> bool:
    """Return True if the judgement on a corrected statement and a later one leaves it possible that they are the same."""
    return judged.same >= _REPEATS and judged.same > judged.replaces


def repeats(said: str, corrected: str, heir: str, reading: CorrectionReading, weights: PairWeights) -> bool:
    """Return True if a statement says again what was corrected. One that is closer to the heir does not; `heir` may be empty."""
    if not may_repeat(reading.after) or reading.same < _REPEATS or not same_figures(said, corrected):
        return False
    beside = reading.after_heir
    new, old = set(senses(said)), set(senses(corrected))
    if beside is not None and (beside.same > reading.after.same or (set(senses(heir)) - old) & new):
        return False
    if beside is not None and beside.replaces >= weights.replaces and reading.same >= _LIKELY:
        return True
    if reading.same >= _CERTAIN:
        return True
    extra, missing = new - old, old - new
    return modifiers(said) == modifiers(corrected) and (not extra or max(len(extra), len(missing)) > 1)
