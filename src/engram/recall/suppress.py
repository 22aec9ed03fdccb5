"""Which memories a reader said do not help with such a question (R9, §7). Pure.

What was said for one question counts for questions like it, and the last word counts: a memory that helped since is back.
Likeness is calibrated, (cosine - background) / (1 - background), because the default encoder gives any two questions a
cosine of .52 (419 pairs, .70 at most). Of 46 pairs of one question in other words 57 % pass .7 (a cosine of .86), of 12
pairs about the same thing that ask something else 33 %, of unrelated ones none; .6 would be 85 %, 58 % and none. Hiding
what would have helped is the worse mistake, and what is shown again can be judged again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from engram.index.lexical import STOP_WORDS
from engram.index.vectors.encoding import decode, restore, rotate
from engram.models.embed import Vectors
from engram.recall.plan import Asked
from engram.recall.recall_weights import RecallWeights
from engram.settings import Settings
from engram.store.protocol import Judgement
from engram.text.terms import terms


def telling(question: str) -> str:
    """The words that a question is known again by: its telling ones, whatever their order."""
    words = set(terms(question))
    return " ".join(sorted(words - STOP_WORDS or words))


def suppressed(
    judgements: Sequence[Judgement],
    asked: Asked,
    query: Vectors | None,
    background: float,
    weights: RecallWeights,
    settings: Settings,
) -> dict[int, datetime]:
    """Keys of what is to be left out, and until when. `judgements` are oldest first."""
    moment, lasting = asked.as_of or asked.now, timedelta(days=settings.suppress_days)
    likenesses = _likenesses(judgements, query, background)
    left_out: dict[int, datetime] = {}
    for judgement, likeness in zip(judgements, likenesses, strict=True):
        unknown_yet = asked.as_of is not None and judgement.at > asked.as_of
        if unknown_yet or not (judgement.same_words or likeness > weights.suppress_likeness):
            continue
        if judgement.helpful:
            left_out.pop(judgement.key, None)
        elif moment < judgement.at + lasting:
            left_out[judgement.key] = judgement.at + lasting
    return left_out


def _likenesses(judgements: Sequence[Judgement], query: Vectors | None, background: float) -> list[float]:
    """Of each judgement's question to this one; 0 where one of them has no vector."""
    known = [place for place, judgement in enumerate(judgements) if judgement.vector]
    made = [0.0] * len(judgements)
    if query is not None and known:
        stored = restore(*decode([judgements[place].vector for place in known], len(query)))
        for place, cosine in zip(known, (stored @ rotate(query)).tolist(), strict=True):
            made[place] = (cosine - background) / (1.0 - background)
    return made


def with_twins(left_out: Mapping[int, datetime], digests: Mapping[int, bytes]) -> dict[int, datetime]:
    """With what says the same in another place: the reader would read the same words again."""
    said = {digests[key]: until for key, until in left_out.items()}
    return {key: said[digest] for key, digest in digests.items() if digest in said}
