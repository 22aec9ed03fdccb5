"""Why a memory is in an answer, and why not: which stage dropped it, and by how much. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram.env import to_micros
from engram.recall.activation import Way
from engram.recall.fusion import ArmResult, Fused
from engram.recall.parts import BESIDE, GATHER, SUBSTANCE, TIME
from engram.recall.select import Pick
from engram.recall.standing import AFFECT, LIFECYCLE
from engram.recall.weights import ASSISTANT, SESSION
from engram.store.protocol import Filter
from engram.text.terms import terms
from engram.types import ArmSignal, Explanation, LeftOut, Memory, Stage, Why

_NO_WAYS: Mapping[int, str] = {}


def told(ways: Mapping[int, Way], memories: Mapping[int, Memory]) -> dict[int, str]:
    """The ways to what links led to, as sentences; where a way began is named if that is at hand."""
    return {
        key: f"reached over {', then '.join(way.by)}"
        + (f" from {memories[way.start].id}" if way.start != key and way.start in memories else "")
        for key, way in ways.items()
    }


def why(fused: Fused, at: int, rerank: str = "", ways: Mapping[int, str] = _NO_WAYS) -> Why:
    arms = [name for name in fused.parts if name not in _NOTED]
    total = float(sum(abs(fused.parts[arm][at]) for arm in arms)) or 1.0
    gave = {arm: max(float(fused.parts[arm][at]), 0.0) for arm in arms}  # what speaks against a hit is no part of why it is one
    signals = tuple(ArmSignal(arm, int(fused.ranks[arm][at]), float(fused.raw[arm][at]), gave[arm] / total) for arm in arms)
    moved = {name: float(fused.parts[name][at]) for name in _NOTED if name in fused.parts}
    notes = [f"{_NOTED[name]} ({by:+.2f})" for name, by in moved.items() if by]
    way = ways.get(int(fused.keys[at]))
    notes += [way] if way else []
    return Why(signals, (*notes, *((f"reranked by {rerank.partition('+')[2]}",) if "+" in rerank else ())))


_NOTED = {
    ASSISTANT: "said by an assistant",
    SESSION: "from a session with more of it",
    SUBSTANCE: "how much it tells",
    TIME: "from the time asked about",
    GATHER: "what sets it apart",
    BESIDE: "said beside something good",
    LIFECYCLE: "where it stands",
    AFFECT: "feels as the question does",
}


def left_out(picks: Sequence[Pick], scale: float = 1.0) -> tuple[LeftOut, ...]:
    """All that was looked at and is no hit, best first; `scale` is what hits' scores are multiplied by too."""
    return tuple(
        LeftOut(pick.memory.id, pick.stage, pick.reason, pick.score * scale, _times(pick.needed, scale))
        for pick in picks
        if pick.stage is not Stage.ANSWER
    )


def of_candidate(
    fused: Fused, picks: Sequence[Pick], memory: Memory, scale: float = 1.0, ways: Mapping[int, str] = _NO_WAYS
) -> Explanation | None:
    """What became of a candidate; None if it was none."""
    pick = next((pick for pick in picks if pick.memory.key == memory.key), None)
    if pick is not None:
        rank = 1 + sum(one.stage is Stage.ANSWER for one in picks[: picks.index(pick)]) if pick.stage is Stage.ANSWER else 0
        reason = f"it is hit number {rank}" if rank else pick.reason
        found = why(fused, pick.at, ways=ways)
        score, needed = pick.score * scale, _times(pick.needed, scale)
        return Explanation(id=memory.id, stage=pick.stage, reason=reason, rank=rank, score=score, needed=needed, why=found)
    places = (fused.keys == memory.key).nonzero()[0]
    if not len(places):
        return None
    at = int(places[0])
    reason = f"{at} candidates stand above it, more than were looked at"
    score, needed = float(fused.scores[at]) * scale, picks[-1].score * scale if picks else None
    return Explanation(id=memory.id, stage=Stage.LIMIT, reason=reason, score=score, needed=needed, why=why(fused, at, ways=ways))


def _times(score: float | None, scale: float) -> float | None:
    return None if score is None else score * scale


def filtered(where: Filter, memory: Memory) -> str:
    """Which part of a filter leaves this memory out; '' if none does."""
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


def unfound(arms: Sequence[ArmResult], memory: Memory, cosine: float | None, question: str, fused: Fused) -> Explanation:
    """No arm brought it: how near it came in meaning, and whether it has words of the question."""
    shared = set(terms(question)) & set(terms(memory.text))
    reason = (
        "no word of the question that is worth looking up is in it" if not shared else "others hold rarer words of the question"
    )
    nearest = next((arm for arm in arms if arm.name == "vectors"), None)
    if nearest is None or not len(nearest.scores):
        return Explanation(id=memory.id, stage=Stage.SEARCH, reason=reason)
    if cosine is None:
        return Explanation(id=memory.id, stage=Stage.SEARCH, reason=f"{reason}, and it has no vector yet")
    needed = float(nearest.scores.min())
    told = f"{len(nearest.keys)} memories are nearer in meaning, and {reason}"
    return Explanation(id=memory.id, stage=Stage.SEARCH, reason=told, score=cosine, needed=needed)
