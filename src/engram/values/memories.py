"""What is kept: a memory with its words, dates and strengths, the turns and statements it came from, what links it to others."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar, overload

from engram.values.frozen import field, frozen
from engram.values.identity import Scope, Sensitivity, Source

T = TypeVar("T")

NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


class ValueSequence(Sequence[T]):
    """A value that behaves as the sequence of its members."""

    __slots__ = ()

    @property
    @abstractmethod
    def _members(self) -> tuple[T, ...]: ...

    def __len__(self) -> int:
        return len(self._members)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._members[index]


class Kind(StrEnum):
    PROPOSITION = "proposition"
    EPISODE = "episode"
    FACT = "fact"
    SKILL = "skill"


class Status(StrEnum):
    """Where a memory stands in storage. Only `active` is recalled unless asked otherwise."""

    ACTIVE = "active"
    CHALLENGED = "challenged"
    INVALIDATED = "invalidated"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    ARCHIVED = "archived"


@frozen
class Affect:
    """What a memory feels like: valence (bad to good) and dominance (at its mercy to in control) -1 … 1; arousal and surprise
    0 … 1."""

    valence: float = 0.0
    arousal: float = 0.0
    dominance: float = 0.0
    surprise: float = 0.0

    @property
    def sentiment(self) -> str:
        return "positive" if self.valence >= 0.2 else "negative" if self.valence <= -0.2 else "neutral"


NEUTRAL = Affect()


@frozen(kw_only=True)
class Memory:
    """One thing kept. `id` is for people and links, `key` for indexes and edges; the store gives both."""

    text: str
    id: str = ""
    key: int = 0
    kind: Kind = Kind.PROPOSITION
    category: str = "fact"
    summary: str = ""
    key_fact: str = ""
    tag: str = ""
    scope: Scope = Scope()
    source: Source = Source.USER
    happened_at: datetime | None = None
    happened_until: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    learned_at: datetime | None = None
    updated_at: datetime | None = None
    importance: float = 0.5
    confidence: float = 0.5
    strength: float = 1.0
    accesses: int = 0
    accessed_at: datetime | None = None
    status: Status = Status.ACTIVE
    pinned: bool = False
    version: int = 1
    session: str = ""
    speaker: str = ""
    surprise: float = 0.0
    affect: Affect = NEUTRAL
    corroborations: int = 0
    helpful: int = 0
    unhelpful: int = 0
    tokens: tuple[int, int, int, int] = (0, 0, 0, 0)  # of text, summary, key fact and tag; 0 if not counted
    tier: Sensitivity = Sensitivity.CLEARTEXT
    flagged: bool = False  # reads as an attack on the model: kept, and left out of every answer
    screened: int = 0  # by which rules that was decided; 0 if by none
    refs: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=lambda: NO_ATTRIBUTES)


@frozen
class Turn:
    """One thing said, as it was said. `ref` is the caller's own name for it."""

    text: str
    speaker: str = "user"
    at: datetime | None = None
    session: str | None = None
    ref: str | None = None
    tier: Sensitivity = Sensitivity.CLEARTEXT  # how closely its words are kept; capture says


@frozen
class PendingTurn:
    """A turn that a model has not read yet, by its key, and since when it waits."""

    key: int
    since: datetime
    turn: Turn


@frozen
class Fact:
    """What is said of somebody or something. `single`: it has one such at a time; `holds` is false for what is so no more."""

    subject: str
    predicate: str
    object: str
    single: bool = True
    holds: bool = True


@frozen(kw_only=True)
class Draft:
    """A memory on its way into the store: the turns of its batch it came from, and its vector if there is one."""

    memory: Memory
    turns: tuple[int, ...] = ()
    vector: bytes | None = None
    facts: tuple[Fact, ...] | None = None  # what it says, where that is known without reading it


@frozen(kw_only=True)
class Proposition:
    """One statement taken from a turn: `text` stands by itself, `said` is the words as they were."""

    text: str
    said: str
    speaker: str
    category: str
    confidence: float
    importance: float = 0.5
    kind: Kind = Kind.PROPOSITION
    happened_at: datetime | None = None
    happened_until: datetime | None = None
    valid_from: datetime | None = None  # since when it goes on, if the words say so


@frozen
class Edge:
    """A typed, weighted, dated link from one memory to another, by their ids."""

    source: str
    target: str
    kind: str
    weight: float = 1.0
    confidence: float = 1.0
    created_at: datetime | None = None
    reinforced_at: datetime | None = None  # when it was last seen again


@frozen
class TextHit:
    """What the text index says of one memory: higher is better."""

    key: int
    score: float


@frozen
class Version:
    """An earlier wording of a memory."""

    number: int
    text: str
    replaced_at: datetime


@frozen
class StatusChange:
    old: Status
    new: Status
    reason: str
    at: datetime


@frozen
class Page(ValueSequence[Memory]):
    """Some memories in order, and the cursor that fetches those after them (None at the end)."""

    memories: tuple[Memory, ...]
    cursor: str | None

    @property
    def _members(self) -> tuple[Memory, ...]:
        return self.memories


@frozen
class Space:
    """A vector space: its name, the fingerprint of the model whose vectors it holds, and their length."""

    name: str
    model: str
    dimensions: int
