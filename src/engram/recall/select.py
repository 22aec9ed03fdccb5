"""Which candidates become hits: one of those that say the same, nothing beside what replaced it, and as many as are worth it.

Pure: comes in a ranking, the memories and the links among them; goes out what became of each, best first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np

from engram.frozen import field, frozen, mutable
from engram.recall.fusion import Fused, Scores
from engram.recall.plan import Asked, Plan
from engram.recall.recall_weights import RecallWeights
from engram.recall.weights import ADDED
from engram.settings import Settings
from engram.text.tokens import count
from engram.types import Hit, Kind, Memory, Stage

SUPERSEDES, DERIVED, CONTRADICTS = "supersedes", "derived_from", "contradicts"
Links = Sequence[tuple[int, int, str]]


@frozen
class Pick:
    """What became of one candidate; `at` is its place in the ranking. `stage` is ANSWER if it is a hit."""

    at: int
    memory: Memory
    score: float
    stage: Stage
    reason: str
    needed: float | None = None


@mutable
class _So:
    """What has been taken so far."""

    said: set[bytes] = field(default_factory=set)
    hits: int = 0
    tokens: int = 0
    spent: bool = False


def as_found(fused: Fused) -> Scores:
    """What the arms alone say of each candidate: how near it is, whoever said it and wherever."""
    moved = [fused.parts[name] for name in ADDED if name in fused.parts]
    found: Scores = fused.scores - sum(moved, np.zeros(len(fused.scores), np.float32))
    return found


def least(fused: Fused, settings: Settings) -> float:
    """The score a hit needs. BM25 alone is near 0 in a small vault, so without vectors there is none."""
    return settings.recall_threshold if "vectors" in fused.parts else 0.0


def best_of(fused: Fused, suppressed: Collection[int]) -> float:
    """How near the nearest candidate is; what is suppressed does not count."""
    found = as_found(fused)
    if suppressed:
        found = found[~np.isin(fused.keys, list(suppressed))]
    return float(found.max()) if len(found) else 0.0


def enough(fused: Fused, suppressed: Collection[int], asked: Asked, plan: Plan, settings: Settings) -> float | None:
    """What the arms must say of a hit. With a limit the caller gets the best so many, however far they are; the outcome tells."""
    if asked.limit is not None or not len(fused.keys):
        return None
    return max(least(fused, settings), best_of(fused, suppressed) * plan.weights.recall_floor)


def near(hit: Hit, background: float, weights: RecallWeights) -> bool:
    """Is a hit, brought by a limit however far it is, near enough to be put before an agent?

    Fused scores are relative to what else was found, so that the best of what has nothing to do with a message has a good one;
    likeness over the encoder's background is not. On LoCoMo the defaults drop no evidence from a window, while "What is the
    capital of France?" brings nothing. What is found by its words needs no likeness: names and numbers have little of it.
    """
    if hit.trust.relevance < weights.context_floor:
        return False
    given = {signal.arm: signal for signal in hit.why.signals}
    meaning = given.get("vectors")
    if meaning is None or sum(one.share for one in given.values() if one is not meaning) >= _BY_WORDS:
        return True
    return (meaning.score - background) / max(1.0 - background, 1e-6) >= weights.context_likeness


_BY_WORDS = 0.3  # of a score: what the other arms give one that is found by its words
_FLAGGED = "it reads as an attack on the model; `list` and `get` show it, `update(flagged=False)` clears it"


def choose(
    fused: Fused,
    memories: Mapping[int, Memory],
    digests: Mapping[int, bytes],
    links: Links,
    suppressed: Mapping[int, datetime],
    flagged: Collection[int],
    asked: Asked,
    plan: Plan,
    needed: float | None,
) -> list[Pick]:
    """Everything that was fetched, best first, each with what became of it.

    `digests` are equal where the same is said; `suppressed` says until when. What is suppressed still outdates others: that
    it did not help makes nothing true again that it replaced.
    """
    found = as_found(fused)
    outdated = {target: source for source, target, kind in links if kind == SUPERSEDES and source in memories}
    retold = set(_retold(memories, links))
    so, picks = _So(), []
    for at, key in enumerate(fused.keys.tolist()):
        memory = memories.get(key)
        if memory is None:
            continue
        if key in flagged:
            picks.append(Pick(at, memory, float(fused.scores[at]), Stage.FLAGGED, _FLAGGED))
            continue
        if key in suppressed:
            reason = f"somebody said that it did not help with such a question; left out until {suppressed[key]:%Y-%m-%d}"
            picks.append(Pick(at, memory, float(fused.scores[at]), Stage.SUPPRESSED, reason))
            continue
        score = float(found[at])
        stage, reason, by = _fate(memory, score, digests[key], key in outdated, key in retold, needed, so, asked, plan)
        shown = score if stage is Stage.THRESHOLD else float(fused.scores[at])
        picks.append(Pick(at, memory, shown, stage, reason, by))
    return picks


def _retold(memories: Mapping[int, Memory], links: Links) -> Iterable[int]:
    """Stories of which the fact that was made from them stands in the same answer (§34.3)."""
    for source, target, kind in links:
        if kind == DERIVED and source in memories and target in memories:
            yield from (key for key in (source, target) if memories[key].kind is Kind.EPISODE)


def _fate(
    memory: Memory,
    score: float,
    digest: bytes,
    outdated: bool,
    retold: bool,
    needed: float | None,
    so: _So,
    asked: Asked,
    plan: Plan,
) -> tuple[Stage, str, float | None]:
    if outdated:
        return Stage.SUPERSEDED, "what took its place is in the answer", None
    if retold or digest in so.said:
        return Stage.DUPLICATE, "the answer has another memory that says the same", None
    so.said.add(digest)
    if needed is not None and score < needed:
        return Stage.THRESHOLD, "it is too far from the question", needed
    if so.hits >= plan.most:
        return Stage.LIMIT, f"{plan.most} hits stand above it", None
    if so.spent:
        return Stage.BUDGET, f"one that stands above it would take the answer over {asked.budget} tokens", None
    cost = (memory.tokens[0] or count(memory.text)) if asked.budget is not None else 0
    if asked.budget is not None and so.tokens + cost > asked.budget:
        so.spent = True  # best first: nothing that stands lower takes its place
        return Stage.BUDGET, f"it would take the answer over {asked.budget} tokens", None
    so.hits += 1
    so.tokens += cost
    return Stage.ANSWER, "it is a hit", None
