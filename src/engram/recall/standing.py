"""What a candidate gains or loses by where it stands in its life, and by what it feels like (R10, §37). Pure.

Small against how near it is: what was confirmed stands above its equals, what is in dispute or faded stands below them. What
feels as the question does comes a little sooner to mind, as it does to people. None of it decides what is near enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import numpy as np

from engram.memory.lifecycle import Lifecycle, Verification, lifecycle, verification
from engram.recall.fusion import Fused, Scores
from engram.recall.recall_weights import RecallWeights
from engram.settings import Settings
from engram.text.affect import affect
from engram.types import Affect, Kind, Memory

LIFECYCLE, AFFECT = "lifecycle", "affect"
_STANDS = {
    Lifecycle.VALIDATED: 1.0,
    Lifecycle.ACTIVE: 0.0,
    Lifecycle.CANDIDATE: -0.5,
    Lifecycle.STALE: -0.5,
    Lifecycle.ARCHIVED: -1.0,
}
_DISPUTED = -1.0
_CONCLUDED = -0.5


def weighed(
    fused: Fused, memories: Mapping[int, Memory], question: str, now: datetime, weights: RecallWeights, settings: Settings
) -> Fused:
    """The candidates that were fetched, which are the first, with what their standing gives them; the rest as it was."""
    any_weight = weights.lifecycle_weight or weights.affect_weight
    if not memories or not any_weight or settings.fusion != "calibrated":  # ranks are on no scale to add to
        return fused
    places = [place for place, key in enumerate(fused.keys.tolist()) if key in memories]
    parts: dict[str, Scores] = {}
    felt = affect(question) if weights.affect_weight else None
    if weights.lifecycle_weight:
        parts[LIFECYCLE] = _over(fused, memories, places, lambda one: weights.lifecycle_weight * standing_of(one, now, settings))
    if felt is not None and felt.valence:
        parts[AFFECT] = _over(fused, memories, places, lambda one: weights.affect_weight * alike(felt, one.affect))
    moved = {name: part for name, part in parts.items() if part.any()}
    return fused.adjusted(moved) if moved else fused


def standing_of(memory: Memory, now: datetime, settings: Settings) -> float:
    """From -1, for what is in dispute or put away, to 1, for what people confirmed. What was only concluded stands below what was
    said."""
    verified = verification(memory)
    concluded = verified is Verification.SYSTEM_INFERRED and memory.kind is Kind.FACT
    most = _DISPUTED if verified is Verification.DISPUTED else _CONCLUDED if concluded else 1.0
    return min(_STANDS[lifecycle(memory, now, settings)], most)


def alike(one: Affect, other: Affect) -> float:
    """How far two feel the same way, 0 … 1; what feels the other way loses nothing by it."""
    return max(one.valence * other.valence, 0.0)


def faded(memory: Memory, now: datetime, settings: Settings) -> bool:
    """Has it faded so far that one who asks for what is fresh does not want it?"""
    return lifecycle(memory, now, settings) in (Lifecycle.STALE, Lifecycle.ARCHIVED)


def _over(fused: Fused, memories: Mapping[int, Memory], places: Sequence[int], rule: Callable[[Memory], float]) -> Scores:
    made: Scores = np.zeros(places[-1] + 1, np.float32)
    made[places] = [rule(memories[int(fused.keys[place])]) for place in places]
    return made
