"""What a candidate gains by what it is, for what the question is after: parts of its score beside those of the arms. Pure.

Four rules, each measured apart (docs/benchmarks.md): what tells much stands above what says little; what happened in the
time that the question names stands above the rest; where many things are asked for, candidates are told apart by what they
do not have in common; and what was said beside something good gains by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt

from engram.env import to_micros
from engram.models.embed import Vectors
from engram.recall.fusion import Keys, Scores
from engram.recall.intent import Sought
from engram.store.protocol import Heard

SUBSTANCE, TIME, GATHER, BESIDE = "substance", "time", "gather", "beside"

_DATED, _ASKED_WHEN = 0.3, 1.5  # what a statement gains that tells when, in units of substance; and if that is asked
_NAMES, _NAMED = 0.75, 2  # what it gains by each thing it names, up to two, where a name is asked for
_SAID = 0.7  # what was said in that time counts less than what happened in it
_NEAR = 0.5
_LEAST_OVERLAP = 0.3
_SLACK = 3 * 86_400_000_000  # talk of a day goes on for some days
_GOOD, _REACH = 10, 4  # candidates that lift what was said beside them, and how far
_LEFT = np.float32(0.8) ** np.arange(_REACH + 1, dtype=np.float32)  # of it, by steps


def substance_part(heard: Sequence[Heard], sought: Sought, weight: float) -> Scores:
    """What tells much: names, deeds, dates; more of it where that is what the question asks for."""
    told = np.array([one.substance for one in heard], np.float32)
    dated = np.array([one.until is not None or one.lasts for one in heard], np.float32)
    told += dated * (_DATED + _ASKED_WHEN * sought.asks_when)
    if sought.asks_name:
        told += _NAMES * np.array([min(one.named, _NAMED) for one in heard], np.float32)
    made: Scores = weight * told
    return made


def time_part(heard: Sequence[Heard], when: tuple[datetime, datetime], weight: float) -> Scores:
    """How well each fits the time asked about: it happened then, it was said then, or soon before or after."""
    start, end = to_micros(when[0]), to_micros(when[1])
    slack = max(end - start, _SLACK)
    made: Scores = np.array([weight * _fit(one, start, end, slack) for one in heard], np.float32)
    return made


def _fit(one: Heard, start: int, end: int, slack: int) -> float:
    at = one.happened
    if at is None:
        return 0.0
    if one.until is not None and at < end and max(one.until, at + 1) > start:
        shared = (min(end, one.until) - max(start, at)) / max(one.until - at, 1)
        return max(shared, _LEAST_OVERLAP)
    if start <= at < end:
        return _SAID
    gap = start - at if at < start else at - end
    return _NEAR * max(0.0, 1.0 - gap / slack)


def beside_part(keys: Keys, scores: Scores, sessions: Sequence[str], weight: float) -> Scores:
    """What was said just before or after one of the best candidates: a share of that one's score, less with every step.

    An answer often takes several turns, and one of them has the words of the question. Keys count up as things are said.
    """
    numbers: dict[str, int] = {}
    told = np.array([numbers.setdefault(session, len(numbers)) if session else -1 for session in sessions], np.int64)
    good = np.lexsort((-keys, -scores))[:_GOOD]
    apart = np.abs(keys[:, None] - keys[good])
    beside = (apart > 0) & (apart <= _REACH) & (told[:, None] == told[good]) & (told >= 0)[:, None]
    passed = np.where(beside, _LEFT[np.minimum(apart, _REACH)] * np.maximum(scores[good], 0.0), 0.0)
    made: Scores = (weight * passed.max(axis=1, initial=0.0)).astype(np.float32)
    return made


def gather_part(query: Vectors, vectors: Vectors, weight: float) -> Scores:
    """How near each is by what sets it apart from the other candidates, in standard deviations.

    All candidates share the person, or the topic, that the question names; with that taken away from both sides, what is
    left is what kind of thing was asked for.
    """
    known = np.isfinite(vectors).all(axis=1)
    made = np.zeros(len(vectors), np.float32)
    if known.sum() < 3:
        return made
    middle = vectors[known].mean(axis=0)
    cosines = _units(vectors[known] - middle) @ _units((query - middle)[None, :])[0]
    spread = float(cosines.std())
    if spread > 0:
        made[known] = weight * (cosines - cosines.mean()) / spread
    return made


def _units(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(lengths, 1e-9), np.float32)
