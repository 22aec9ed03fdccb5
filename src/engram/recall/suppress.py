"""Leave out memories that a reader judged unhelpful for such a question (R9, §7). Pure.

A judgement on one question counts for questions like it, and the last one counts: a memory that has helped since is back.
Likeness is calibrated, (cosine - background) / (1 - background), because the default encoder gives any two questions a cosine of
.52 (419 pairs, .70 at most). Of 46 pairs that put one question in other words 57 % pass .7 (a cosine of .86), of 12 pairs on the
same subject that ask something else 33 %, of unrelated ones none; with .6 it would be 85 %, 58 % and none. Hiding a memory that
would have helped is the worse mistake, and one that is shown again can be judged again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from engram.index.vectors.encoding import decode, restore, rotate
from engram.models.embed import Vectors
from engram.recall.plan import Plan
from engram.settings import Settings
from engram.store.protocol import Judgement


def suppressed(
    judgements: Sequence[Judgement], plan: Plan, vector: Vectors | None, background: float, settings: Settings
) -> dict[int, datetime]:
    """Return the keys of the memories to leave out, each with the moment until which. `judgements` are oldest first."""
    query = plan.query
    moment, duration = query.as_of or query.now, timedelta(days=settings.suppress_days)
    until: dict[int, datetime] = {}
    for judgement, likeness in zip(judgements, _likenesses(judgements, vector, background), strict=True):
        later = query.as_of is not None and judgement.at > query.as_of
        if later or not (judgement.same_words or likeness > plan.weights.suppress_likeness):
            continue
        if judgement.helpful:
            until.pop(judgement.key, None)
        elif moment < judgement.at + duration:
            until[judgement.key] = judgement.at + duration
    return until


def _likenesses(judgements: Sequence[Judgement], vector: Vectors | None, background: float) -> list[float]:
    """Return the likeness of each judgement's question to this one; 0 where either has no vector."""
    with_vector = [place for place, judgement in enumerate(judgements) if judgement.vector]
    likenesses = [0.0] * len(judgements)
    if vector is not None and with_vector:
        stored = restore(*decode([judgements[place].vector for place in with_vector], len(vector)))
        for place, cosine in zip(with_vector, (stored @ rotate(vector)).tolist(), strict=True):
            likenesses[place] = (cosine - background) / (1.0 - background)
    return likenesses


def with_duplicates(suppressed: Mapping[int, datetime], digests: Mapping[int, bytes]) -> dict[int, datetime]:
    """Add the memories that say the same as a suppressed one: the reader would read the same words again."""
    until = {digests[key]: moment for key, moment in suppressed.items()}
    return {key: until[digest] for key, digest in digests.items() if digest in until}
