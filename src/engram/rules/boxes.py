"""Boxes and traces (M14): what was kept in one go about one thing lies in one box; boxes about the same thing share a trace.

A box is closed by a change of subject, a silence or its size. What a statement has in common with a box is the likeness of its
vector to the box's, both seen from the middle of what the vault holds; without vectors, the share of its telling words that the
box has: more boxes then, which traces join. Bare cosines do not tell: all that one person says is alike by 0.8. On development
dialogues they part turns that change the subject from those that do not with an AUC of 0.51, seen from the middle with 0.73.
Pure: comes in statements in the order they were kept, goes out which box each belongs to.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache

import numpy as np

from engram.models.embedders import Vectors
from engram.rules.abridgement import telling
from engram.rules.duplicates import STEM
from engram.rules.topics import Vector, likeness
from engram.settings import Settings
from engram.text.terms import terms
from engram.values.episodes import SealReason
from engram.values.frozen import field, frozen, mutable

Stream = tuple[int, str]
"""A scope (by its key) and a session: boxes never hold what was said elsewhere."""

_TOPIC = 8
_SAME = 0.35
"""Likeness of two topics from which boxes are on one trace."""
_ALIKE = 0.5
"""The cosine, from the middle, of statements about one thing: to have all of that in common is to have everything."""
_SAYS_LITTLE = 3
"""A statement with fewer telling words does not change the subject by its words."""


@frozen(eq=False)
class Item:
    """One memory on its way into a box: what it is about (`words_of`), and its vector as seen from the middle (`centred`)."""

    memory: int
    stream: Stream
    at: datetime
    words: tuple[str, ...]
    vector: Vector | None = None


@mutable(eq=False)
class Growing:
    """A box that is being filled. `key` is 0 until it is kept; `fresh`: memories that were put into it since."""

    stream: Stream
    opened_at: datetime
    last_at: datetime
    key: int = 0
    sealed: SealReason = SealReason.OPEN
    size: int = 0
    words: Counter[str] = field(default_factory=Counter)
    stems: set[str] = field(default_factory=set)
    total: Vector | None = None
    fresh: list[int] = field(default_factory=list)

    def take(self, item: Item) -> None:
        self.last_at = max(self.last_at, item.at)
        self.size += 1
        self.words.update(item.words)
        self.stems |= _stems_of(item.words)
        if item.vector is not None and (self.total is None or self.total.shape == item.vector.shape):
            self.total = item.vector if self.total is None else self.total + item.vector

    @property
    def topic(self) -> tuple[str, ...]:
        return topic_of(self.words)


def centred(vectors: Vectors, middle: Vector) -> Vectors:
    """Directions from the middle: of length one, or nothing for what lies in it."""
    away = vectors - middle
    lengths = np.linalg.norm(away, axis=1, keepdims=True)
    return np.asarray(away / np.where(lengths > 0.0, lengths, 1.0), np.float32)


def words_of(text: str, speaker: str) -> tuple[str, ...]:
    """What a statement is about: its telling words, without the name of who said it, which would be the topic of every box."""
    own = set(terms(speaker))
    return tuple(word for word in telling(text) if word not in own)


def topic_of(words: Counter[str]) -> tuple[str, ...]:
    """The words that came most often; of those that came equally often, the first. A box without a word is called "…"."""
    return tuple(word for word, _ in words.most_common(_TOPIC)) or ("…",)


def begun(item: Item) -> Growing:
    return Growing(item.stream, item.at, item.at)


def common(box: Growing, item: Item) -> float:
    """How much a statement has in common with a box, 0 … 1."""
    near = likeness(item.vector, box.total, 0.0)
    if near is not None:
        return min(max(near / _ALIKE, 0.0), 1.0)
    mine = _stems_of(item.words)
    return len(mine & box.stems) / len(mine) if len(mine) >= _SAYS_LITTLE else 1.0


def closes(box: Growing, item: Item, settings: Settings) -> SealReason:
    """Why this statement begins another box; OPEN if it belongs to this one."""
    if item.at - box.last_at > timedelta(minutes=settings.box_gap_min):
        return SealReason.GAP
    if box.size >= settings.box_size:
        return SealReason.SIZE
    return SealReason.SHIFT if common(box, item) < settings.box_shift else SealReason.OPEN


def fill(items: Iterable[Item], growing: Mapping[Stream, Growing], settings: Settings) -> list[Growing]:
    """Put statements into boxes, going on with those that are open. The boxes that changed, in the order they began."""
    current, changed = dict(growing), list[Growing]()
    for item in items:
        box = current.get(item.stream)
        if box is not None and (why := closes(box, item, settings)) is not SealReason.OPEN:
            box.sealed = why
            if box not in changed:
                changed.append(box)
            box = None
        if box is None:
            box = current[item.stream] = begun(item)
        box.take(item)
        box.fresh.append(item.memory)
        if box not in changed:
            changed.append(box)
    return changed


def trace_of(topic: tuple[str, ...], known: Iterable[tuple[int, tuple[str, ...]]]) -> int | None:
    """The trace of the box whose topic is most like this one; None if it is about something new."""
    mine = _stems_of(topic)
    best = (_SAME, -math.inf)
    for trace, theirs in known:  # hundreds, for every box: nothing is called that need not be
        stems = _stems_of(theirs)
        if (both := len(mine & stems)) and (near := (2.0 * both / (len(mine) + len(stems)), trace)) > best:
            best = near
    return None if best[1] == -math.inf else int(best[1])


@lru_cache(maxsize=4096)  # a topic is compared with hundreds of later ones
def _stems_of(topic: tuple[str, ...]) -> frozenset[str]:
    return frozenset(word[:STEM] for word in topic)
