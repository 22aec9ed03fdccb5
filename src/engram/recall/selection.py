"""Decide which candidates become hits: one of several that say the same, none that is superseded, and as many as are asked for.

Pure: a ranking, the memories and the links among them come in; a decision on every candidate, best first, goes out.

A memory that a reader judged unhelpful for such a question is suppressed (R9, §7). A judgement on one question counts for
questions like it, and the last one counts: a memory that has helped since is back. Likeness is calibrated, (cosine -
background) / (1 - background), because the default encoder gives any two questions a cosine of .52 (419 pairs, .70 at most). Of
46 pairs that put one question in other words 57 % pass .7 (a cosine of .86), of 12 pairs on the same subject that ask something
else 33 %, of unrelated ones none; with .6 it would be 85 %, 58 % and none. Hiding a memory that would have helped is the worse
mistake, and one that is shown again can be judged again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from engram.guard.injection import VERSION, InjectionVerdict, assess_cached
from engram.index.vectors.matrix import decode, restore, rotate
from engram.models.embedders import Vectors
from engram.recall.arms import VECTORS
from engram.recall.fusion import Ranking
from engram.recall.plan import Plan
from engram.recall.score import match_scores
from engram.recall.weights import RecallWeights
from engram.settings import Settings
from engram.text.tokens import count
from engram.types import Hit, Kind, Memory, Stage, Status
from engram.values.frozen import field, frozen, mutable
from engram.values.query import Judgement

SUPERSEDES, OUTDATES, DERIVED, CONTRADICTS = "supersedes", "outdates", "derived_from", "contradicts"
Links = Sequence[tuple[int, int, str]]
"""(source, target, kind) of edges among candidates."""

_FLAGGED = "flagged as a prompt injection; `list` and `get` show it, `update(flagged=False)` clears it"
_FEW_WORDS = 4  # least words of a memory by which it is recognized in a turn
_BY_WORDS = 0.3  # share of a hit's score from other arms than the vectors' from which it counts as found by its words


@frozen
class Decision:
    """The fate of one candidate: ANSWER if it is a hit, else the stage that dropped it. `position` is that in the ranking."""

    position: int
    memory: Memory
    score: float
    stage: Stage
    reason: str
    needed: float | None = None


@frozen(kw_only=True)
class FetchedCandidates:
    """The candidates that were read, and what selection needs to know of them.

    `digests` are equal where two memories say the same; `suppressed` says until when a candidate is left out; `unread` counts the
    candidates below the threshold; `threshold` is the match score that a hit needs, or None; `causes` need none.
    """

    memories: Mapping[int, Memory]
    digests: Mapping[int, bytes]
    suppressed: Mapping[int, datetime]
    flagged: frozenset[int]
    unread: int
    threshold: float | None
    causes: frozenset[int] = frozenset()

    @property
    def allowed(self) -> Mapping[int, Memory]:
        """The memories that are neither suppressed nor flagged."""
        return {key: memory for key, memory in self.memories.items() if key not in self.suppressed and key not in self.flagged}


@mutable
class _Answer:
    """The hits taken so far: their keys, digests of what they say, their number and tokens, and if the token budget is spent."""

    digests: set[bytes] = field(default_factory=set)
    keys: set[int] = field(default_factory=set)
    hits: int = 0
    tokens: int = 0
    spent: bool = False


def select(ranking: Ranking, candidates: FetchedCandidates, links: Links, plan: Plan) -> list[Decision]:
    """Return a decision on every candidate that was read, best first.

    A suppressed memory still supersedes others: a memory that did not help makes nothing true again that it replaced.
    """
    memories, matches = candidates.memories, match_scores(ranking)
    superseded = {target for source, target, kind in links if kind == SUPERSEDES and source in memories}
    outdated = {
        target: source
        for source, target, kind in links
        if kind == OUTDATES and target in memories and memories[target].status is Status.CHALLENGED
    }
    best_of = dict(zip(ranking.keys.tolist(), matches.tolist(), strict=True))
    retold = set(_retold(memories, links))
    said = [" ".join(turn.split()) for turn in plan.query.said]
    answer, decisions = _Answer(), []
    for position, key in enumerate(ranking.keys.tolist()):
        memory = memories.get(key)
        if memory is None:
            continue
        score, needed = float(ranking.scores[position]), None
        if key in candidates.flagged:
            stage, reason = Stage.FLAGGED, _FLAGGED
        elif key in candidates.suppressed:
            stage, until = Stage.SUPPRESSED, candidates.suppressed[key]
            reason = f"feedback says that it did not help with such a question; left out until {until:%Y-%m-%d}"
        elif said and _stands_in(memory, said):
            stage, reason = Stage.SAID, "its words stand in the history that was given"
        elif key in superseded:
            stage, reason = Stage.SUPERSEDED, "the memory that superseded it is in the answer"
        elif outdated.get(key) in answer.keys and float(matches[position]) <= best_of[outdated[key]]:
            stage, reason = Stage.SUPERSEDED, "a later statement in the answer replaces it"
        elif key in retold or candidates.digests[key] in answer.digests:
            stage, reason = Stage.DUPLICATE, "the answer has another memory that says the same"
        else:
            answer.digests.add(candidates.digests[key])
            match = float(matches[position])
            if candidates.threshold is not None and match < candidates.threshold and key not in candidates.causes:
                stage, reason = Stage.THRESHOLD, "it is too far from the question"
                score, needed = match, candidates.threshold
            else:
                stage, reason = _within_limits(memory, answer, plan)
        decisions.append(Decision(position, memory, score, stage, reason, needed))
    return decisions


def _stands_in(memory: Memory, said: Sequence[str]) -> bool:
    """Return True if the words of a memory stand in one of these turns. A few words ("I love it") may be of something else."""
    words = memory.words.split()
    return len(words) >= _FEW_WORDS and any(" ".join(words) in turn for turn in said)


def _within_limits(memory: Memory, answer: _Answer, plan: Plan) -> tuple[Stage, str]:
    """Add the memory to the answer if its number of hits and its tokens allow."""
    budget = plan.query.budget
    if answer.hits >= plan.most:
        return Stage.LIMIT, f"{plan.most} hits rank above it"
    if answer.spent:
        return Stage.BUDGET, f"a memory above it would take the answer over {budget} tokens"
    cost = (memory.tokens[0] or count(memory.text)) if budget is not None else 0
    if budget is not None and answer.tokens + cost > budget:
        answer.spent = True  # best first: no lower memory takes its place
        return Stage.BUDGET, f"it would take the answer over {budget} tokens"
    answer.hits += 1
    answer.keys.add(memory.key)
    answer.tokens += cost
    return Stage.ANSWER, "it is a hit"


def _retold(memories: Mapping[int, Memory], links: Links) -> Iterable[int]:
    """Yield episodes whose derived fact is among the same candidates (§34.3)."""
    for source, target, kind in links:
        if kind == DERIVED and source in memories and target in memories:
            yield from (key for key in (source, target) if memories[key].kind is Kind.EPISODE)


# ── thresholds ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def least_score(ranking: Ranking, settings: Settings) -> float:
    """Return the match score under which a question counts as not answered: 0 without vectors, as BM25 is near 0 in a small
    vault."""
    return settings.recall_threshold if VECTORS in ranking.parts else 0.0


def best_match(ranking: Ranking, excluded: Collection[int]) -> float:
    """Return the best match score of the candidates that are not excluded."""
    matches = match_scores(ranking)
    if excluded:
        matches = matches[~np.isin(ranking.keys, list(excluded))]
    return float(matches.max()) if len(matches) else 0.0


def match_threshold(ranking: Ranking, excluded: Collection[int], plan: Plan, settings: Settings) -> float | None:
    """Return the match score that a hit needs, or None if the caller set a limit or the question asks for a whole period.

    With a limit the caller gets the best so many, however far they are; the outcome of the recall says if they are an answer.
    """
    if plan.query.limit is not None or plan.lists or not len(ranking.keys):
        return None
    return max(least_score(ranking, settings), best_match(ranking, excluded) * plan.weights.recall_floor)


def is_relevant(hit: Hit, background: float, weights: RecallWeights) -> bool:
    """Return True if a hit, which a limit may have brought from however far, is near enough to be put before an agent.

    Fused scores are relative to the other candidates, so the best of unrelated memories has a good one; likeness over the
    encoder's background is absolute. On LoCoMo the defaults drop no evidence from a window, while "What is the capital of
    France?" brings nothing. A hit that was found by its words needs no likeness: names and numbers have little of it.
    """
    if hit.trust.relevance < weights.context_floor:
        return False
    signals = {signal.arm: signal for signal in hit.why.signals}
    meaning = signals.get(VECTORS)
    if meaning is None or sum(signal.share for signal in signals.values() if signal is not meaning) >= _BY_WORDS:
        return True
    return (meaning.score - background) / max(1.0 - background, 1e-6) >= weights.context_likeness


# ── injection ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def is_flagged(memory: Memory) -> bool:
    """Return True if a memory reads as a prompt injection; one that older rules screened, or none, is judged now."""
    return memory.flagged or (memory.screened != VERSION and assess_cached(memory.text).verdict is not InjectionVerdict.CLEAN)


def without_flagged(memories: Iterable[Memory], settings: Settings) -> list[Memory]:
    """Return the memories that are not flagged as injection; all of them if the guard is off."""
    return [memory for memory in memories if not (settings.guard_injection and is_flagged(memory))]


# ── suppression by feedback ────────────────────────────────────────────────────────────────────────────────────────────


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
