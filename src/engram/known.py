"""What is known of the world that memories tell of: who and what there is, and what holds of it. Values, as in `types`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import overload

from engram.frozen import frozen
from engram.types import Memory


@frozen
class Entity:
    """Somebody or something that memories name: its name, what it is, what else it is called, how often and when."""

    name: str
    kind: str
    names: tuple[str, ...] = ()
    mentions: int = 0
    first: datetime | None = None
    last: datetime | None = None


@frozen
class Belief:
    """A fact and how it is held: `status` is held, contested or retracted; `memory` is the one that says it.

    What nobody said and follows from others is `inferred`: its memory is empty, and `premises` are those it follows from.
    """

    subject: str
    predicate: str
    object: str
    status: str
    confidence: float
    since: datetime | None
    until: datetime | None
    memory: str
    premises: tuple[str, ...] = ()


@frozen
class Profile:
    """All about an entity: what holds of it now, what it is named together with, and what was told of it, newest first."""

    entity: Entity
    facts: tuple[Belief, ...]
    relations: tuple[tuple[str, int], ...]
    timeline: tuple[Memory, ...]


@frozen
class Bucket:
    """A stretch of time, the end not included, how much was told of it, and whether that is strikingly much."""

    start: datetime
    end: datetime
    count: int
    peak: bool = False


@frozen
class Revision:
    """A memory that set another right, or stands against it: by their ids; `kind` is `supersedes`, `outdates` (a part of
    it) or `contradicts`."""

    memory: str
    other: str
    kind: str


@frozen
class Timeline(Sequence[Memory]):
    """What was told of somebody or something, in the order it happened: behaves as a sequence of memories.

    What was corrected since is among them, by its status, and `revisions` say by what. `buckets` cover the whole time, each a
    `width` (day, week, month or year) long.
    """

    memories: tuple[Memory, ...]
    revisions: tuple[Revision, ...] = ()
    width: str = ""
    buckets: tuple[Bucket, ...] = ()

    @property
    def peaks(self) -> tuple[Bucket, ...]:
        return tuple(one for one in self.buckets if one.peak)

    def __len__(self) -> int:
        return len(self.memories)

    @overload
    def __getitem__(self, index: int) -> Memory: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Memory, ...]: ...

    def __getitem__(self, index: int | slice) -> Memory | tuple[Memory, ...]:
        return self.memories[index]
