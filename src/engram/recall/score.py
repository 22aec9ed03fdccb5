"""Compute every named part of a candidate's score. Pure.

A score is a sum. The arms give its first parts (`arm_weights` says how much each arm counts); `score` adds the others, each of
which was measured apart on the development splits (docs/notes/recall.md):

    assistant   an assistant's words lose, unless the question asks for them
    session     a session with many good candidates lifts all of them
    substance   names, deeds and dates lift a statement, more so where the question asks for a name or a date
    time        closeness to the time that the question names
    beside      a share of the score of a better candidate that was said just before or after
    lifecycle   a confirmed memory gains, a disputed, faded or merely inferred one loses
    affect      a memory that feels as the question does gains

All numbers stand in `RecallWeights`. The unit is one standard deviation of the cosine between the question and an average memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np

from engram.env import to_micros
from engram.recall.arms import ENTITY, GOVERNING, GRAPH, VECTORS, WORDINGS, WORDS
from engram.recall.fusion import ArmResult, Keys, Ranking, Scores
from engram.recall.plan import Plan, QueryAnalysis
from engram.recall.weights import RecallWeights
from engram.rules.lifecycle import Lifecycle, Verification, lifecycle, verification
from engram.settings import Settings
from engram.text.english.affect import affect
from engram.text.english.grammar import IRREGULAR_PARTICIPLES, is_assistant, is_past
from engram.types import Affect, Kind, Memory
from engram.values.frozen import frozen
from engram.values.query import CandidateTraits

ASSISTANT, SESSION, SUBSTANCE, TIME = "assistant", "session", "substance", "time"
BESIDE, LIFECYCLE, AFFECT = "beside", "lifecycle", "affect"
ADDED = (ASSISTANT, SESSION, SUBSTANCE, TIME, BESIDE, LIFECYCLE, AFFECT)
"""The parts that `score` adds. They order candidates; they do not say how well a candidate matches the question."""

HEAD = 150
"""First candidates whose traits are read; all others stay below them in the order of the arms."""


@frozen(kw_only=True)
class CandidateFacts:
    """Facts about candidates when they are scored: `traits` of the first so many, or the `memories` that were fetched."""

    traits: Sequence[CandidateTraits] = ()
    memories: Mapping[int, Memory] | None = None


def score(ranking: Ranking, plan: Plan, facts: CandidateFacts, settings: Settings) -> Ranking:
    """Return the candidates ranked by the arms' scores plus every part that the facts allow.

    Recall calls this twice: with the traits of the first candidates, which one index read brings, and with the memories of those
    that were worth fetching. Candidates without facts stay below the others. Scores that come from ranks are left alone.
    """
    if not ranking.calibrated:
        return ranking
    asked, weights = plan.analysis, plan.weights
    many = asked.gathers
    parts: dict[str, Scores] = {}
    if traits := facts.traits:
        arms, sessions = ranking.scores[: len(traits)], [trait.session for trait in traits]
        parts[ASSISTANT] = assistant_part([trait.speaker for trait in traits], plan.query.text, weights)
        parts[SESSION] = session_part(arms + parts[ASSISTANT], sessions, weights, factor=weights.session_if_many if many else 1.0)
        parts[SUBSTANCE] = substance_part(traits, asked, weights, factor=weights.substance_if_many if many else 1.0)
        if asked.when is not None and weights.time_weight:
            parts[TIME] = time_part(traits, asked.when, weights)
        if weights.beside_weight:
            so_far = arms + sum(parts.values(), np.zeros(len(traits), np.float32))
            factor = weights.beside_if_many if many else 1.0
            parts[BESIDE] = beside_part(ranking.keys[: len(traits)], so_far, sessions, weights, factor=factor)
    if facts.memories:
        if weights.lifecycle_weight:
            moment = plan.query.now
            parts[LIFECYCLE] = _by_memory(
                ranking, facts.memories, lambda memory: lifecycle_part(memory, moment, weights, settings)
            )
        if weights.affect_weight and (feeling := affect(plan.query.text)).valence:
            parts[AFFECT] = _by_memory(ranking, facts.memories, lambda memory: affect_part(memory, feeling, weights))
        parts = {name: part for name, part in parts.items() if part.any()}
    return _with_parts(ranking, parts) if parts else ranking


def match_scores(ranking: Ranking) -> Scores:
    """Return what the arms alone give each candidate: how well it matches, whoever said it and in whatever state it is."""
    added = [ranking.parts[name] for name in ADDED if name in ranking.parts]
    scores: Scores = ranking.scores - sum(added, np.zeros(len(ranking.scores), np.float32))
    return scores


def _with_parts(ranking: Ranking, parts: Mapping[str, Scores]) -> Ranking:
    """Add parts to the first candidates, as many as a part has values, and rank these anew; the others stay below them."""
    head = min(len(part) for part in parts.values())
    tail = len(ranking.keys) - head
    padded = {name: np.concatenate((part[:head], np.zeros(tail, np.float32))) for name, part in parts.items()}
    total = ranking.scores + sum(padded.values(), np.zeros(len(ranking.keys), np.float32))
    if head:
        total[head:] = np.minimum(total[head:], total[:head].min())
    no_rank = np.zeros(len(ranking.keys), np.int64)
    summed = Ranking(
        ranking.keys,
        total,
        {**ranking.ranks, **dict.fromkeys(parts, no_rank)},
        {**ranking.raw, **padded},
        {**ranking.parts, **padded},
    )
    order = np.lexsort((-ranking.keys[:head], -total[:head]))
    return summed.reordered([*order.tolist(), *range(head, len(ranking.keys))])


# ── arms ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def arm_weights(arms: Sequence[ArmResult], plan: Plan) -> dict[str, float]:
    """Return the weight of each arm for this question: words count less where the best text match holds little of it (R2)."""
    words, weights = 1.0 - plan.vector_weight, plan.weights
    text_arm = next((arm for arm in arms if arm.name == WORDS), None)
    if text_arm is not None and text_arm.most and len(text_arm.scores):
        words = word_weight(words, float(text_arm.scores[0]), text_arm.most, weights)
    by_name = {
        VECTORS: 1.0 - words,
        WORDS: words,
        WORDINGS: weights.wordings_weight,
        ENTITY: weights.entity_weight,
        GRAPH: weights.graph_weight,
        GOVERNING: weights.governing_weight,
    }
    return {arm.name: by_name[arm.name] for arm in arms}


def word_weight(full: float, best: float, most: float, weights: RecallWeights) -> float:
    """Return the weight of words: `full` if the `best` text match reaches a good part of `most`, the attainable BM25, else less.

    A question that is worded otherwise than its answer still shares some word with some memory; such a match says little.
    """
    held = best / most if most > 0 else 1.0
    trusted = min(max((held - weights.words_thin) / (weights.words_full - weights.words_thin), 0.0), 1.0)
    return full * (weights.words_least + (1.0 - weights.words_least) * trusted)


# ── who said it, and where ─────────────────────────────────────────────────────────────────────────────────────────────

_YOU = re.compile(
    r"\byou(?:['’]ve| have| had|['’]d)?(?: (?:also|just|once|first|already|earlier|ever|\w+ly))? (\w+)", re.IGNORECASE
)
_TALK = re.compile(
    r"\bdid you\b|\bwe(?:['’]ve| have| had)?(?: \w+ly)? (?:talked|discussed|spoke|spoken|chatted|covered|went over)\b"
    r"|\bdid we (?:talk|discuss|speak|chat|cover|go over)\b"
    r"|\b(?:our|your) (?:\w+ ){0,2}(?:conversations?|chats?|discussions?|exchange|talks?|answers?|repl(?:y|ies)|responses?"
    r"|advice|suggestions?|recommendations?|explanations?|instructions?)\b",
    re.IGNORECASE,
)


def assistant_part(speakers: Sequence[str], question: str, weights: RecallWeights) -> Scores:
    """Discount an assistant's words, which repeat those of the question at length and seldom hold what the user said."""
    discount = 0.0 if asks_assistant(question) else -weights.assistant_discount
    part: Scores = np.array([discount if is_assistant(speaker) else 0.0 for speaker in speakers], np.float32)
    return part


def asks_assistant(question: str) -> bool:
    """Return True if the question asks for words of the assistant: "you suggested", "our last chat", "did you"."""
    if _TALK.search(question):
        return True
    verbs = (match.group(1).lower() for match in _YOU.finditer(question))
    return any(is_past(verb) or verb in IRREGULAR_PARTICIPLES for verb in verbs)


def session_part(scores: Scores, sessions: Sequence[str], weights: RecallWeights, *, factor: float = 1.0) -> Scores:
    """Lift the candidates of a session by the sum of their scores; those of the best session gain the full weight."""
    weight = factor * weights.session_weight
    sums: dict[str, float] = {}
    for at in np.argsort(-scores, kind="stable")[: weights.session_voters].tolist():
        if sessions[at]:
            sums[sessions[at]] = sums.get(sessions[at], 0.0) + max(float(scores[at]), 0.0)
    most = max(sums.values(), default=0.0)
    part: Scores = np.array([weight * sums.get(session, 0.0) / most if most > 0 else 0.0 for session in sessions], np.float32)
    return part


def beside_part(keys: Keys, scores: Scores, sessions: Sequence[str], weights: RecallWeights, *, factor: float = 1.0) -> Scores:
    """Give each candidate a share of the score of a better one said just before or after it, less with every step between.

    An answer often takes several turns, of which one has the words of the question. Keys count up in the order of the talk.
    """
    weight, reach = factor * weights.beside_weight, weights.beside_reach
    kept = np.float32(weights.beside_step) ** np.arange(reach + 1, dtype=np.float32)
    numbers: dict[str, int] = {}
    session = np.array([numbers.setdefault(name, len(numbers)) if name else -1 for name in sessions], np.int64)
    best = np.lexsort((-keys, -scores))[: weights.beside_best]
    apart = np.abs(keys[:, None] - keys[best])
    beside = (apart > 0) & (apart <= reach) & (session[:, None] == session[best]) & (session >= 0)[:, None]
    gain = np.where(beside, kept[np.minimum(apart, reach)] * np.maximum(scores[best], 0.0), 0.0)
    part: Scores = (weight * gain.max(axis=1, initial=0.0)).astype(np.float32)
    return part


# ── what it says, and when it was ──────────────────────────────────────────────────────────────────────────────────────


def substance_part(
    traits: Sequence[CandidateTraits], asked: QueryAnalysis, weights: RecallWeights, *, factor: float = 1.0
) -> Scores:
    """Lift statements by their names, deeds and dates; more for a date or a name if the question asks for one."""
    substance = np.array([trait.substance for trait in traits], np.float32)
    dated = np.array([trait.until is not None or trait.lasts for trait in traits], np.float32)
    substance += dated * (weights.dated + weights.dated_if_asked * asked.asks_when)
    if asked.asks_name:
        substance += weights.named * np.array([min(trait.named, weights.names_most) for trait in traits], np.float32)
    part: Scores = weights.substance_weight * factor * substance
    return part


def time_part(traits: Sequence[CandidateTraits], when: tuple[datetime, datetime], weights: RecallWeights) -> Scores:
    """Lift candidates by how well they fit the time asked about: an event of that time, told then, or shortly before or after."""
    start, end = to_micros(when[0]), to_micros(when[1])
    slack = max(end - start, weights.time_slack // timedelta(microseconds=1))
    part: Scores = np.array([weights.time_weight * _time_fit(trait, start, end, slack, weights) for trait in traits], np.float32)
    return part


def _time_fit(trait: CandidateTraits, start: int, end: int, slack: int, weights: RecallWeights) -> float:
    at = trait.happened
    if at is None:
        return 0.0
    if trait.until is not None and at < end and max(trait.until, at + 1) > start:
        overlap = (min(end, trait.until) - max(start, at)) / max(trait.until - at, 1)
        return max(overlap, weights.overlap_least)
    if start <= at < end:
        return weights.said_then
    gap = start - at if at < start else at - end
    return weights.near_then * max(0.0, 1.0 - gap / slack)


# ── its state, and its feeling (R10, §37): small against the match ─────────────────────────────────────────────────────

_STATES = {
    Lifecycle.VALIDATED: 1.0,
    Lifecycle.ACTIVE: 0.0,
    Lifecycle.CANDIDATE: -0.5,
    Lifecycle.STALE: -0.5,
    Lifecycle.ARCHIVED: -1.0,
}
_DISPUTED, _INFERRED = -1.0, -0.5  # at most, whatever the state


def lifecycle_part(memory: Memory, now: datetime, weights: RecallWeights, settings: Settings) -> float:
    """Return the gain of a confirmed memory, or the loss of a disputed, faded, archived or inferred one."""
    return weights.lifecycle_weight * state_value(memory, now, settings)


def state_value(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return -1 for a disputed or archived memory, up to 1 for a confirmed one; an inferred fact is below a stated one."""
    verified = verification(memory)
    inferred = verified is Verification.SYSTEM_INFERRED and memory.kind is Kind.FACT
    most = _DISPUTED if verified is Verification.DISPUTED else _INFERRED if inferred else 1.0
    return min(_STATES[lifecycle(memory, now, settings)], most)


def affect_part(memory: Memory, feeling: Affect, weights: RecallWeights) -> float:
    """Return the gain of a memory whose feeling agrees with the question's; a contrary feeling costs nothing."""
    return weights.affect_weight * agreement(feeling, memory.affect)


def agreement(one: Affect, other: Affect) -> float:
    """Return how far two feelings agree, 0 to 1."""
    return max(one.valence * other.valence, 0.0)


def _by_memory(ranking: Ranking, memories: Mapping[int, Memory], rule: Callable[[Memory], float]) -> Scores:
    """Apply a rule to the fetched candidates, up to the last of them; those between that were not fetched get 0."""
    fetched = [position for position, key in enumerate(ranking.keys.tolist()) if key in memories]
    part: Scores = np.zeros(fetched[-1] + 1, np.float32)
    part[fetched] = [rule(memories[int(ranking.keys[position])]) for position in fetched]
    return part
