"""Topics of a conversation: its running mean, whether a turn continues, drifts or switches, and how much a short message
depends on the turns before it (§8.6, §8.7).

Similarity is the cosine of a message, encoded as a question, with the turns before, encoded as passages, above the cosine that
the encoder gives to unrelated texts: plain cosines of different encoders are not comparable. A switch of topic shows less in
similarity than in the role of a turn: one that answers a question continues the topic, one that asks about something not
mentioned before does not. The weights are a logistic regression on `topicshift-dev`, rounded; `engram bench topics` compares
them with similarity to the last turn alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from engram.rules.abridgement import content_words, split_sentences
from engram.text.terms import terms, word_set
from engram.types import Turn
from engram.values.frozen import frozen

if TYPE_CHECKING:  # only operators of vectors are used here, and loading numpy takes longer than a short command
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"

_BIAS, _NEAR, _ANSWERS, _ASKS_NEW = -1.0, -3.7, -1.0, 1.9
_SWITCH, _DRIFT = -1.25, -1.7
"""Scores from which a turn is a switch (best F1 on the development set) and from which it is a drift."""

_UNRELATED, _SHARED = 0.11, 0.27
"""Similarity assumed without vectors: of a turn that shares no word with those before, and the gain if it shares all."""
_WINDOW = 3  # turns whose words count as mentioned
_STEM = 5
_QUESTION = re.compile(r"[?？؟\u037e][\s\"'”’)\]!]*$")
_REFERRING = word_set(
    """
    it its that this these those them they he she him his her hers their theirs one ones there here same again also too else
    another other others both either neither next previous first second third last former latter above before continue go so
    then and but or because instead more less such
    """
)
_DEPENDENCE_REFERRING = (1.0, 0.85, 0.6, 0.3)
"""Dependence of a message with a referring word and 0, 1, 2, 3 content words of its own; from 4 on it stands alone."""
_DEPENDS = 0.6
"""Dependence from which a message continues the topic, whatever its vector."""
_PREAMBLE = 2  # content words before a question that say nothing of its matter
_DEPENDENCE_BARE = (1.0, 0.4)
"""Dependence of a message without a referring word: "why?", "deploy"."""


_FIRST = 0.85
"""Confidence after one turn. The specification's 0.2 is too slow: the meaning of "why?" is clear after a single exchange."""


_TALK_TURNS, _EXCERPT = 4, 300
"""Turns with which a dependent message is read, and the characters taken of the beginning and of the end of a long one."""


class Topic(StrEnum):
    """The effect of a turn on the topic."""

    CONTINUATION = "continuation"
    DRIFT = "drift"
    SWITCH = "switch"


@frozen(eq=False)
class Momentum:
    """The running state of a conversation. Without an encoder it has no vectors, and words alone decide.

    `centroid` is the running mean of the turns encoded as passages; a new turn is compared with it.
    """

    centroid: Vector | None = None
    velocity: Vector | None = None
    last: Vector | None = None
    confidence: float = 0.0
    turns: int = 0
    asked: bool = False
    words: tuple[tuple[str, ...], ...] = ()


@frozen
class TopicReading:
    """The topic effect of a turn, its score, and its similarity to the last turn and to the centroid (None: unknown)."""

    topic: Topic
    score: float
    to_last: float | None = None
    to_centroid: float | None = None

    @property
    def near(self) -> float | None:
        """The earlier name of `to_last`."""
        return self.to_last

    @property
    def along(self) -> float | None:
        """The earlier name of `to_centroid`."""
        return self.to_centroid


def assess_topic(momentum: Momentum, text: str, as_question: Vector | None, background: float) -> TopicReading:
    """Assess whether a message continues the topic, before it is added. `as_question`: its vector as a question."""
    if not momentum.turns:
        return TopicReading(Topic.CONTINUATION, _BIAS + _NEAR)
    to_last = similarity(as_question, momentum.last, background)
    to_centroid = similarity(as_question, momentum.centroid, background)
    mentioned = {word for turn in momentum.words for word in turn}
    questions = [words for sentence in split_sentences(text) if _QUESTION.search(sentence) and (words := set(_stems(sentence)))]
    asks_new = any(words.isdisjoint(mentioned) for words in questions)
    closeness = _by_words(text, mentioned) if to_last is None else to_last
    score = _BIAS + _NEAR * closeness + _ANSWERS * momentum.asked + _ASKS_NEW * asks_new
    if not content_words(text) or (dependence(text) >= _DEPENDS and not asks_new):
        topic = Topic.CONTINUATION  # "ok, thanks" has no topic, and "deploy it" refers to the current one
    else:
        topic = Topic.SWITCH if score >= _SWITCH else Topic.DRIFT if score >= _DRIFT else Topic.CONTINUATION
    return TopicReading(topic, score, to_last, to_centroid)


def advance(momentum: Momentum, text: str, as_passage: Vector | None, reading: TopicReading, alpha: float = 0.3) -> Momentum:
    """Return the momentum with one more turn; `as_passage`: its vector. A turn without content words changes nothing."""
    words = _stems(text)
    if not words and momentum.turns:
        return momentum
    restart = momentum.centroid is None or reading.topic is Topic.SWITCH
    centroid, velocity, confidence = as_passage, None, _FIRST
    if as_passage is not None and momentum.centroid is not None and not restart:
        centroid = alpha * as_passage + (1.0 - alpha) * momentum.centroid
        velocity = as_passage - momentum.centroid
        # The specification compares the velocity with a zero vector, for which the cosine is undefined. Its intent, how far
        # the turn leads away, is 1 - similarity to the centroid.
        away = 1.0 - min(max(reading.to_centroid or 0.0, 0.0), 1.0)
        confidence = min(momentum.confidence * 0.8 + 0.2, 1.0) * (1.0 - away * 0.5 * (reading.topic is not Topic.CONTINUATION))
    elif as_passage is None:
        centroid, velocity, confidence = momentum.centroid, momentum.velocity, momentum.confidence * 0.8
    sentence_list = split_sentences(text)
    before = () if reading.topic is Topic.SWITCH else momentum.words
    return Momentum(
        centroid=centroid,
        velocity=velocity,
        last=as_passage if as_passage is not None else momentum.last,
        confidence=confidence,
        turns=momentum.turns + 1,
        asked=bool(sentence_list) and _QUESTION.search(sentence_list[-1]) is not None,
        words=(*before, words)[-_WINDOW:],
    )


def blend(query: Vector, talk: Vector, weight: float) -> Vector:
    """Return the query vector mixed with that of the talk, of unit length; the query if the two cannot be mixed."""
    if talk.shape != query.shape:
        return query
    mixed: Vector = (1.0 - weight) * query + weight * talk
    size = _length(mixed)
    return mixed / size if size > 0.0 else query


def talk_of(turns: Sequence[Turn]) -> str:
    """Return the words of the last turns that say something, oldest first; of a long turn its beginning and its end."""
    telling = [turn.text.strip() for turn in turns[-2 * _TALK_TURNS :] if content_words(turn.text)]
    return "\n".join(
        text if len(text) <= 2 * _EXCERPT else f"{text[:_EXCERPT]} … {text[-_EXCERPT:]}" for text in telling[-_TALK_TURNS:]
    )


def dependence(text: str) -> float:
    """Return how far a message depends on earlier turns: 1 for "ok, deploy it", 0 for a question that stands by itself.

    Of a message that ends in a question after a few words ("Oh dear, I forgot. What happened to them?") the question counts.
    """
    *before, last = split_sentences(text) or [""]
    if _QUESTION.search(last) and len(content_words(" ".join(before))) <= _PREAMBLE:
        text = last
    own = len(content_words(text))
    refers = any(word in _REFERRING for word in terms(text))
    steps = _DEPENDENCE_REFERRING if refers else _DEPENDENCE_BARE
    return steps[own] if own < len(steps) else 0.0


def similarity(first: Vector | None, second: Vector | None, background: float) -> float | None:
    """Return the cosine above the encoder's background: 0 for unrelated, 1 for equal; None if a vector is missing or zero."""
    if first is None or second is None or first.shape != second.shape:
        return None
    lengths = _length(first) * _length(second)
    if lengths == 0.0:
        return None
    return (float(first @ second) / lengths - background) / max(1.0 - background, 1e-6)


def _length(vector: Vector) -> float:
    return math.sqrt(float(vector @ vector))


def _by_words(text: str, mentioned: set[str]) -> float:
    own = _stems(text)
    return _UNRELATED + _SHARED * sum(word in mentioned for word in own) / max(len(own), 1)


def _stems(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word[:_STEM] for word in content_words(text)))
