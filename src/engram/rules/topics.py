"""Where the talk is going: the running mean of what was said, whether a new turn goes on with it, and how far a message that
says little by itself leans on it (§8.6, §8.7).

Likeness is the cosine of a message, encoded as a question, with what was said, encoded as passages, over what the encoder
gives to things that have nothing to do with each other: bare cosines of different encoders mean different things. The switch
of a topic shows less in likeness than in what a turn does: one that answers a question goes on, one that asks about something
that was not mentioned does not. The weights are a logistic regression on `topicshift-dev`, rounded; `engram bench topics` says
how well they do beside likeness to the last turn alone.
"""

from __future__ import annotations

import math
import re
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from engram.rules.abridgement import split, telling
from engram.text.terms import terms, word_set
from engram.values.frozen import frozen

if TYPE_CHECKING:  # vectors have operators, which is all that is needed here; it takes longer to load than a short command
    import numpy as np
    import numpy.typing as npt

Vector: TypeAlias = "npt.NDArray[np.float32]"

_BIAS, _NEAR, _ANSWERS, _ASKS_NEW = -1.0, -3.7, -1.0, 1.9
_SWITCH, _DRIFT = -1.25, -1.7
"""Scores from which a turn is a switch (best F1 on the development set) and from which it drifts."""

_STRANGE, _SHARED = 0.11, 0.27
"""Likeness that stands for a vector's where there is none: of a turn that shares no word with those before, and what all add."""
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
_LEANING_WITH_WORDS = (1.0, 0.85, 0.6, 0.3)
"""How far a message leans that refers to something and has 0, 1, 2, 3 telling words of its own; from 4 on it stands alone."""
_LEANS = 0.6
"""From here on a message is taken to go on with what was said, whatever its vector is like."""
_LEANING_BARE = (1.0, 0.4)
"""The same without a referring word: "why?", "deploy"."""


_FIRST = 0.85
"""Confidence after one turn. The specification's 0.2 is slow: what "why?" means is clear after a single exchange."""


_STEADY = 0.5
"""Confidence from which what the talk asks stands for a message that says nothing."""


class Topic(StrEnum):
    """What a turn does to the topic."""

    CONTINUATION = "continuation"
    DRIFT = "drift"
    SWITCH = "switch"


@frozen(eq=False)
class Momentum:
    """The way of a conversation so far. Without an encoder there are no vectors, and words alone tell.

    `centroid` is the running mean of what was said, encoded as passages: what a new turn is compared with. `course` is the same
    encoded as questions: what a message that leans on the talk is taken to ask. The two sides of an encoder are apart: of the
    evidence of a question, "why?" after it finds .39 among ten by the one and .70 by the other (`engram bench followups`).
    """

    centroid: Vector | None = None
    velocity: Vector | None = None
    last: Vector | None = None
    confidence: float = 0.0
    turns: int = 0
    asked: bool = False
    words: tuple[tuple[str, ...], ...] = ()
    course: Vector | None = None


@frozen
class Reading:
    """What was made of a turn: how like it is to the one before and to the whole way (None: not known), and the score."""

    topic: Topic
    score: float
    near: float | None = None
    along: float | None = None


def read(momentum: Momentum, text: str, asked: Vector | None, background: float) -> Reading:
    """Does this message, before it is part of the way, go on with it? `asked`: its vector as a question."""
    if not momentum.turns:
        return Reading(Topic.CONTINUATION, _BIAS + _NEAR)
    near = likeness(asked, momentum.last, background)
    along = likeness(asked, momentum.centroid, background)
    mentioned = {word for turn in momentum.words for word in turn}
    questions = [words for sentence in split(text) if _QUESTION.search(sentence) and (words := set(_stems(sentence)))]
    asks_new = any(words.isdisjoint(mentioned) for words in questions)
    like = _by_words(text, mentioned) if near is None else near
    score = _BIAS + _NEAR * like + _ANSWERS * momentum.asked + _ASKS_NEW * asks_new
    if not telling(text) or (leaning(text) >= _LEANS and not asks_new):
        topic = Topic.CONTINUATION  # "ok, thanks" is about nothing and "deploy it" about what was said
    else:
        topic = Topic.SWITCH if score >= _SWITCH else Topic.DRIFT if score >= _DRIFT else Topic.CONTINUATION
    return Reading(topic, score, near, along)


def move(
    momentum: Momentum, text: str, said: Vector | None, reading: Reading, alpha: float = 0.3, asked: Vector | None = None
) -> Momentum:
    """The way with one more turn; `said`, `asked`: its vector as a passage and as a question. What says nothing moves nothing."""
    words = _stems(text)
    if not words and momentum.turns:
        return momentum
    fresh = momentum.centroid is None or reading.topic is Topic.SWITCH
    centroid, velocity, confidence = said, None, _FIRST
    if said is not None and momentum.centroid is not None and not fresh:
        centroid = alpha * said + (1.0 - alpha) * momentum.centroid
        velocity = said - momentum.centroid
        # The specification compares the velocity with a vector of zeros, which has no direction: no number comes of it.
        # What is meant, how far this turn leads away, is 1 - likeness to the way so far.
        away = 1.0 - min(max(reading.along or 0.0, 0.0), 1.0)
        confidence = min(momentum.confidence * 0.8 + 0.2, 1.0) * (1.0 - away * 0.5 * (reading.topic is not Topic.CONTINUATION))
    elif said is None:
        centroid, velocity, confidence = momentum.centroid, momentum.velocity, momentum.confidence * 0.8
    found = split(text)
    before = () if reading.topic is Topic.SWITCH else momentum.words
    return Momentum(
        centroid=centroid,
        velocity=velocity,
        last=said if said is not None else momentum.last,
        confidence=confidence,
        turns=momentum.turns + 1,
        asked=bool(found) and _QUESTION.search(found[-1]) is not None,
        words=(*before, words)[-_WINDOW:],
        course=_mean(None if fresh else momentum.course, asked, alpha),
    )


def _mean(so_far: Vector | None, one_more: Vector | None, alpha: float) -> Vector | None:
    if one_more is None or so_far is None or one_more.shape != so_far.shape:
        return one_more if one_more is not None else so_far
    return alpha * one_more + (1.0 - alpha) * so_far


def blend(momentum: Momentum, text: str, query: Vector, share: float = 0.9) -> Vector:
    """The question's vector drawn towards the way, as far as the message leans on it and the way is steady. Of length one."""
    weight = share * leaning(text) * momentum.confidence
    way = momentum.course if momentum.course is not None else momentum.centroid
    if way is None or weight <= 0.0:
        return query
    length = _length(way)
    if length == 0.0 or way.shape != query.shape:
        return query
    drawn: Vector = (1.0 - weight) * query + weight * way / length
    size = _length(drawn)
    return drawn / size if size > 0.0 else query


def steady(momentum: Momentum) -> Vector | None:
    """What the talk asks, of length one; None while it has no way, or one that is not steady."""
    length = 0.0 if momentum.course is None else _length(momentum.course)
    if momentum.course is None or length == 0.0 or momentum.confidence < _STEADY:
        return None
    return momentum.course / length


def leaning(text: str) -> float:
    """How far a message means what was said before: 1 for "ok, deploy it", 0 for a question that stands by itself."""
    own = len(telling(text))
    refers = any(word in _REFERRING for word in terms(text))
    steps = _LEANING_WITH_WORDS if refers else _LEANING_BARE
    return steps[own] if own < len(steps) else 0.0


def likeness(one: Vector | None, other: Vector | None, background: float) -> float | None:
    """The cosine over the encoder's background: 0 is nothing in common, 1 is the same; None if there is nothing to compare."""
    if one is None or other is None or one.shape != other.shape:
        return None
    lengths = _length(one) * _length(other)
    if lengths == 0.0:
        return None
    return (float(one @ other) / lengths - background) / max(1.0 - background, 1e-6)


def _length(vector: Vector) -> float:
    return math.sqrt(float(vector @ vector))


def _by_words(text: str, mentioned: set[str]) -> float:
    own = _stems(text)
    return _STRANGE + _SHARED * sum(word in mentioned for word in own) / max(len(own), 1)


def _stems(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word[:_STEM] for word in telling(text)))
