"""What a question, and what the arms said to it, make each opinion worth. Pure.

Four rules, each measured apart on the development splits (docs/benchmarks.md): words count less where the best text match
holds little of what was asked; what an assistant said counts less than what people said, unless it is asked for; a session
with many good candidates lifts them; and an answer is supported as far as it is near, and about whom it was asked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import numpy as np

from engram.index.lexical import STOP_WORDS
from engram.models.embed import Vectors
from engram.recall.fusion import Fused, Scores
from engram.recall.intent import Sought
from engram.recall.parts import BESIDE, GATHER, SUBSTANCE, TIME, beside_part, gather_part, substance_part, time_part
from engram.recall.recall_weights import RecallWeights
from engram.recall.standing import AFFECT, LIFECYCLE
from engram.store.protocol import Heard
from engram.text.person import is_assistant
from engram.text.terms import terms
from engram.text.verbs import IRREGULAR_PARTICIPLES, is_past

ASSISTANT, SESSION = "assistant", "session"
ADDED = (ASSISTANT, SESSION, SUBSTANCE, TIME, GATHER, BESIDE, LIFECYCLE, AFFECT)
"""Parts that say nothing of how near a candidate is to the question."""

HEAD = 150
"""Candidates that are looked at more closely: who said them, when, and what they tell."""

JUDGED = 5
"""First hits by which it is judged whether they are an answer."""

_MOST_OF_A_TERM = 2.2  # k1 + 1: what a word can add to BM25, in units of its rarity
_THIN, _FULL = 0.2, 0.35  # shares of the attainable score between which words come to count in full
_LEAST = 0.4
_VOTERS = 60
_GATHERED, _TELLING = 0.3, 1.5  # where many things are asked for: of the session's weight, and of what tells much
_SCATTERED = 0.5  # and of what stands beside something good: many things are seldom told in one place
_MENTIONED = 0.5

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


def attainable(frequencies: Iterable[int], total: int) -> float:
    """The BM25 that a memory with all these words would have at best; `frequencies` of `total` memories hold each word."""
    return _MOST_OF_A_TERM * sum(
        max(math.log((total - held + 0.5) / (held + 0.5)), 1e-6) for held in frequencies if 0 < held <= total
    )


def word_weight(full: float, best: float, attainable: float) -> float:
    """What words count for this question: `full` if the best text match holds a good part of it, down to 0.4 of that.

    A question in other words than the answer's still shares some word with something; that match says little.
    """
    held = best / attainable if attainable > 0 else 1.0
    return full * (_LEAST + (1.0 - _LEAST) * min(max((held - _THIN) / (_FULL - _THIN), 0.0), 1.0))


def asks_assistant(question: str) -> bool:
    """Does the question ask for what the assistant said: "you suggested", "our last chat", "did you"?"""
    if _TALK.search(question):
        return True
    verbs = (match.group(1).lower() for match in _YOU.finditer(question))
    return any(is_past(verb) or verb in IRREGULAR_PARTICIPLES for verb in verbs)


def assistant_part(speakers: Sequence[str], question: str, discount: float) -> Scores:
    """What an assistant's words lose: they repeat the question's words at length and seldom hold what the user said."""
    lost = 0.0 if asks_assistant(question) else -discount
    made: Scores = np.array([lost if is_assistant(speaker) else 0.0 for speaker in speakers], np.float32)
    return made


def session_part(scores: Scores, sessions: Sequence[str], weight: float) -> Scores:
    """What a candidate gains from the others of its session: the best session's sum of scores is worth `weight`."""
    sums: dict[str, float] = {}
    for at in np.argsort(-scores, kind="stable")[:_VOTERS].tolist():
        if sessions[at]:
            sums[sessions[at]] = sums.get(sessions[at], 0.0) + max(float(scores[at]), 0.0)
    most = max(sums.values(), default=0.0)
    gained = [weight * sums.get(session, 0.0) / most if most > 0 else 0.0 for session in sessions]
    made: Scores = np.array(gained, np.float32)
    return made


def settled(
    fused: Fused,
    heard: Sequence[Heard],
    question: str,
    sought: Sought,
    weights: RecallWeights,
    meaning: tuple[Vectors, Vectors] | None = None,
) -> Fused:
    """The candidates in the order that who said them, where, when, and what they tell makes. `heard` is of the first so many.

    What is not known so stays below, in its order. `meaning`: the question's vector and theirs, where many things are asked
    for: then a session that holds much of it counts for less, and what sets each apart for more.
    """
    head = len(heard)
    discounted = assistant_part([one.speaker for one in heard], question, weights.assistant_discount)
    share = _GATHERED if sought.gathers and weights.gather_weight else 1.0
    voted = session_part(fused.scores[:head] + discounted, [one.session for one in heard], share * weights.session_weight)
    told = weights.substance_weight * (_TELLING if share < 1.0 else 1.0)
    parts: dict[str, Scores] = {ASSISTANT: discounted, SESSION: voted, SUBSTANCE: substance_part(heard, sought, told)}
    if sought.when is not None and weights.time_weight:
        parts[TIME] = time_part(heard, sought.when, weights.time_weight)
    if meaning is not None and sought.gathers and weights.gather_weight:
        parts[GATHER] = gather_part(*meaning, weights.gather_weight)
    if weights.beside_weight and head:
        near = weights.beside_weight * (_SCATTERED if sought.gathers else 1.0)
        so_far = fused.scores[:head] + sum(parts.values(), np.zeros(head, np.float32))
        parts[BESIDE] = beside_part(fused.keys[:head], so_far, [one.session for one in heard], near)
    return fused.adjusted(parts)


def about(question: str, people: Iterable[str], said: Sequence[tuple[str, str]]) -> float:
    """How far the first hits, as (speaker, text), are about the person that the question names: 1 wholly or if it names none.

    `people` are those who speak among the candidates: only they can be told from other words. Said by the person counts
    whole, naming them half, the first hit most.
    """
    asked = set(terms(question)) - STOP_WORDS
    named = {person for person in people if not is_assistant(person) and asked & set(terms(person))}
    names = {term for person in named for term in terms(person)} & asked
    return _about(named, names, said[:JUDGED]) if named and said else 1.0


def _about(named: set[str], names: set[str], said: Sequence[tuple[str, str]]) -> float:
    shares = [1.0 if who in named else _MENTIONED if names & set(terms(text)) else 0.0 for who, text in said]
    counts = [1.0 / math.log2(place + 2) for place in range(len(said))]
    return sum(share * count for share, count in zip(shares, counts, strict=True)) / sum(counts)


def likeness(cosine: float, background: float) -> float:
    """How like a hit is, 0 to 1: over that of things that have nothing to do with each other."""
    return min(max((cosine - background) / (1.0 - background), 0.0), 1.0)


def support(likeness: float, about: float) -> float:
    """How well the first hit stands for an answer, 0 to 1: half its likeness, half whom it is about."""
    return (likeness + about) / 2.0
