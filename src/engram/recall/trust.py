"""Compute the trust of a hit, and judge whether the first hits answer the question. Pure.

Trust (§7) is 0.35 relevance, 0.25 accuracy, 0.20 freshness and 0.20 utility.

Answerability: fused scores, and cosines in standard deviations, are relative: the best of many unrelated memories has a good one,
too. Three signals are absolute: the greatest likeness of a hit over the encoder's background, the share of the question's content
words that the hits hold, and whether the question names a person whom no hit names. The best of many candidates is likelier to
resemble anything, so the number of candidates counts as well. A logistic regression joins them. It was fitted on LoCoMo's
development split: questions with an answer against questions of other conversations and of everyday life, in whole vaults and in
vaults of 1 to 20 turns (docs/notes/recall.md).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from datetime import datetime

import numpy as np

from engram.index.terms import STOP_WORDS
from engram.recall.arms import VECTORS
from engram.recall.fusion import Ranking
from engram.recall.plan import Plan
from engram.text.english.entities import PERSON, folded, mentions
from engram.text.english.grammar import is_assistant
from engram.text.terms import terms
from engram.types import Memory, Status, Trust
from engram.values.frozen import frozen

_HALF_LIFE_DAYS = 30.0
_SHARES = (0.35, 0.25, 0.20, 0.20)
_WITNESS, _HELPFUL, _UNHELPFUL, _CONTRADICTED = 0.05, 0.05, 0.1, 0.2


def trust(memory: Memory, relevance: float, now: datetime, contradicted: bool = False) -> Trust:
    """Return the trust of a memory as a hit: freshness halves in a month; utility follows importance, use and feedback."""
    when = memory.happened_at or memory.learned_at or now
    age = max((now - when).total_seconds() / 86_400.0, 0.0)
    freshness = 0.5 ** (age / _HALF_LIFE_DAYS)
    utility = min(memory.importance + 0.1 * math.log1p(memory.accesses) + _HELPFUL * memory.helpful, 1.0)
    parts = (_within(relevance), accuracy(memory, contradicted), freshness, utility)
    return Trust(*parts, composite=sum(share * part for share, part in zip(_SHARES, parts, strict=True)))


def accuracy(memory: Memory, contradicted: bool = False) -> float:
    """Return the confidence in a memory: more with each corroboration and helpful use, less if it is unhelpful or in dispute."""
    disputed = contradicted or memory.status is Status.CHALLENGED
    return adjusted_confidence(memory.confidence, memory.corroborations, memory.helpful, memory.unhelpful, disputed)


def adjusted_confidence(confidence: float, witnesses: float, helpful: float, unhelpful: float, disputed: float) -> float:
    """Return a confidence adjusted by corroborations, feedback and dispute; means over several memories work as well."""
    return _within(confidence + _WITNESS * witnesses + _HELPFUL * helpful - _UNHELPFUL * unhelpful - _CONTRADICTED * disputed)


def _within(value: float) -> float:
    return min(max(value, 0.0), 1.0)


# ── answerability ──────────────────────────────────────────────────────────────────────────────────────────────────────

JUDGED = 5
"""First hits that are judged."""

_LIKENESS, _HELD, _STRANGER, _AMONG, _BIAS = 19.4, 4.5, -2.9, -1.56, -3.64
_MANY = 200  # candidates: beyond so many they are no longer all memories of the vault
_OWN = "user's "  # the folded name of a person who is only named by a relation to the user begins so
_STEM = 5  # letters by which "plays" and "played" are the same word
_MENTIONED = 0.5


@frozen
class Answerability:
    """The degree to which the first hits answer the question, each value 0 to 1.

    `support` is None without vectors: half the likeness of the first hit, half how far the hits are about the person asked about.
    `related` is None without vectors: the chance that the hits have to do with the question. `covered` is that chance (without
    vectors the share of the question's words that the hits hold) times how far they are about the person asked about.
    """

    support: float | None = None
    related: float | None = None
    covered: float = 0.0


def answerability(ranking: Ranking, memories: Mapping[int, Memory], plan: Plan, background: float) -> Answerability:
    """Judge the first of these memories in the order of the ranking; `background` is the encoder's cosine of unrelated texts."""
    hits = [memories[key] for key in ranking.keys.tolist() if key in memories]
    if not hits:
        return Answerability()
    said = [(hit.speaker, set(terms(hit.text))) for hit in hits[:JUDGED]]
    words = {word for speaker, text_words in said for word in (*terms(speaker), *text_words)}
    subject = about(plan.content_terms, {hit.speaker for hit in hits}, said)
    held = share_held(plan.content_terms, words)
    if VECTORS not in ranking.raw:
        return Answerability(covered=held * subject)
    judged = np.isin(ranking.keys, [hit.key for hit in hits[:JUDGED]])
    likenesses = [likeness(float(cosine), background) for cosine in ranking.raw[VECTORS][judged]]
    chance = chance_related(max(likenesses), held, names_stranger(plan.query.text, words), len(ranking.keys))
    return Answerability(support(likenesses[0], subject), chance, chance * subject)


def chance_related(likeness: float, held: float, stranger: bool, candidates: int) -> float:
    """Return the chance that hits, as the best of so many candidates, have to do with the question."""
    among = _AMONG * math.log10(1 + min(candidates, _MANY))
    return 1.0 / (1.0 + math.exp(-(_LIKENESS * likeness + _HELD * held + _STRANGER * stranger + among + _BIAS)))


def share_held(content_terms: Collection[str], words: Iterable[str]) -> float:
    """Return the share of the question's content words that are among `words`, compared by stem; 1 if it has none."""
    asked = {term[:_STEM] for term in content_terms}
    return len(asked & {word[:_STEM] for word in words}) / len(asked) if asked else 1.0


def names_stranger(question: str, words: Set[str]) -> bool:
    """Return True if the question names a person and no part of that name is among `words`.

    "My boss" is no name: the hits may say "my manager".
    """
    people = [mention for mention in mentions(question) if mention.kind == PERSON and not folded(mention.name).startswith(_OWN)]
    return any(not (set(terms(person.name)) - STOP_WORDS) & words for person in people)


def about(content_terms: Set[str], people: Iterable[str], said: Sequence[tuple[str, Set[str]]]) -> float:
    """Return how far the first hits, as (speaker, words), are about the person that the question names; 1 if it names none.

    `people` are the speakers among the candidates; only their names can be told from other words. A statement by the person
    counts in full, one that names them half, and the first hit most.
    """
    named_by = {person: content_terms & set(terms(person)) for person in people if not is_assistant(person)}
    named = {person for person, shared in named_by.items() if shared}
    names = {term for person in named for term in named_by[person]}
    if not named or not said:
        return 1.0
    shares = [1.0 if who in named else _MENTIONED if names & words else 0.0 for who, words in said]
    discounts = [1.0 / math.log2(place + 2) for place in range(len(said))]
    return sum(share * discount for share, discount in zip(shares, discounts, strict=True)) / sum(discounts)


def likeness(cosine: float, background: float) -> float:
    """Return a cosine as a likeness, 0 to 1, above that of unrelated texts."""
    return min(max((cosine - background) / (1.0 - background), 0.0), 1.0)


def support(likeness: float, about: float) -> float:
    """Return how well the first hit supports an answer, 0 to 1: half its likeness, half whom the hits are about."""
    return (likeness + about) / 2.0
