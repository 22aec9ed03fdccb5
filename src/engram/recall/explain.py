"""Explain why a memory is in an answer, or which stage dropped it and by how much. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram.env import to_micros
from engram.recall.activation import LinkPath
from engram.recall.arms import VECTORS
from engram.recall.fusion import ArmResult, Ranking
from engram.recall.score import AFFECT, ASSISTANT, BESIDE, LIFECYCLE, SESSION, SUBSTANCE, TIME
from engram.recall.selection import Decision
from engram.text.terms import terms
from engram.types import ArmSignal, Explanation, LeftOut, Memory, Stage, Why
from engram.values.query import Filter

_NO_PATHS: Mapping[int, str] = {}
_PART_NOTES = {
    ASSISTANT: "said by an assistant",
    SESSION: "from a session with more matches",
    SUBSTANCE: "how much it tells",
    TIME: "from the time asked about",
    BESIDE: "said beside a better match",
    LIFECYCLE: "confirmed, disputed or faded",
    AFFECT: "feels as the question does",
}


def path_notes(paths: Mapping[int, LinkPath], memories: Mapping[int, Memory]) -> dict[int, str]:
    """Return each path as a note; its start is named if that memory was fetched."""
    return {
        key: f"reached over {', then '.join(path.by)}"
        + (f" from {memories[path.start].id}" if path.start != key and path.start in memories else "")
        for key, path in paths.items()
    }


def why(ranking: Ranking, at: int, rerank: str = "", paths: Mapping[int, str] = _NO_PATHS) -> Why:
    """Return the reasons of the candidate at a position: the signal of each arm, and a note for each further part."""
    parts = {name: float(part[at]) for name, part in ranking.parts.items()}
    arms = [name for name in parts if name not in _PART_NOTES]
    total = float(sum(abs(ranking.parts[arm][at]) for arm in arms)) or 1.0
    signals = tuple(
        # a negative part speaks against a hit, so its share of the reasons is 0
        ArmSignal(arm, int(ranking.ranks[arm][at]), float(ranking.raw[arm][at]), max(parts[arm], 0.0) / total)
        for arm in arms
    )
    notes = [f"{note} ({parts[name]:+.2f})" for name, note in _PART_NOTES.items() if parts.get(name)]
    path = paths.get(int(ranking.keys[at]))
    notes += [path] if path else []
    return Why(signals, (*notes, *((f"reranked by {rerank.partition('+')[2]}",) if "+" in rerank else ())))


def left_out(decisions: Sequence[Decision], scale: float = 1.0) -> tuple[LeftOut, ...]:
    """Return every candidate that was read and is no hit, best first; `scale` is the factor of all scores that are shown."""
    return tuple(
        LeftOut(decision.memory.id, decision.stage, decision.reason, decision.score * scale, _times(decision.needed, scale))
        for decision in decisions
        if decision.stage is not Stage.ANSWER
    )


def of_candidate(
    ranking: Ranking, decisions: Sequence[Decision], memory: Memory, scale: float = 1.0, paths: Mapping[int, str] = _NO_PATHS
) -> Explanation | None:
    """Return what became of a candidate; None if the memory was none."""
    decision = next((decision for decision in decisions if decision.memory.key == memory.key), None)
    if decision is not None:
        is_hit = decision.stage is Stage.ANSWER
        rank = 1 + sum(above.stage is Stage.ANSWER for above in decisions[: decisions.index(decision)]) if is_hit else 0
        return Explanation(
            id=memory.id,
            stage=decision.stage,
            reason=f"it is hit number {rank}" if rank else decision.reason,
            rank=rank,
            score=decision.score * scale,
            needed=_times(decision.needed, scale),
            why=why(ranking, decision.position, paths=paths),
        )
    places = (ranking.keys == memory.key).nonzero()[0]
    if not len(places):
        return None
    at = int(places[0])
    reason = f"{at} candidates rank above it, more than were read"
    score, needed = float(ranking.scores[at]) * scale, decisions[-1].score * scale if decisions else None
    reasons = why(ranking, at, paths=paths)
    return Explanation(id=memory.id, stage=Stage.LIMIT, reason=reason, score=score, needed=needed, why=reasons)


def _times(score: float | None, scale: float) -> float | None:
    return None if score is None else score * scale


NOT_READ = {
    "people": "it mentions nobody of those asked for",
    "technologies": "it mentions none of the technologies asked for",
    "files": "it mentions none of the files asked for",
    "languages": "it is in none of the languages asked for",
    "topics": "it is on none of the topics asked for",
    "speakers": "none of those asked for said it",
}
"""Reasons of the conditions on what was read from the words of a memory."""


def filtered(where: Filter, memory: Memory) -> str:
    """Return the part of a filter that excludes this memory, as a sentence; "" if none does."""
    if where.statuses and memory.status not in where.statuses:
        return f"it is {memory.status.value}"
    if where.kinds and memory.kind not in where.kinds:
        return f"its kind, {memory.kind.value}, was not asked for"
    if (where.categories and memory.category not in where.categories) or memory.category in where.without:
        return f"its category, {memory.category}, was not asked for"
    when = memory.happened_at or memory.learned_at
    if when is not None:
        if where.since is not None and to_micros(when) < to_micros(where.since):
            return "it is from before the time asked about"
        if where.until is not None and to_micros(when) >= to_micros(where.until):
            return "it is from after the time asked about"
    return ""


def not_a_candidate(
    arms: Sequence[ArmResult], memory: Memory, cosine: float | None, question_terms: Sequence[str]
) -> Explanation:
    """Explain why no arm brought a memory: how near it is in meaning, and if it shares words with the question."""
    shared = set(question_terms) & set(terms(memory.text))
    reason = "others hold rarer words of the question" if shared else "it holds no word of the question that is worth looking up"
    vector_arm = next((arm for arm in arms if arm.name == VECTORS), None)
    if vector_arm is None or not len(vector_arm.scores):
        return Explanation(id=memory.id, stage=Stage.SEARCH, reason=reason)
    if cosine is None:
        return Explanation(id=memory.id, stage=Stage.SEARCH, reason=f"{reason}, and it has no vector yet")
    needed = float(vector_arm.scores.min())
    reason = f"{len(vector_arm.keys)} memories are nearer in meaning, and {reason}"
    return Explanation(id=memory.id, stage=Stage.SEARCH, reason=reason, score=cosine, needed=needed)
