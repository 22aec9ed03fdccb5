"""What is known of the world that memories tell of: who and what there is, and what holds of it. Values, as in `types`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import overload

from engram.values.frozen import frozen
from engram.values.identity import Scope
from engram.values.memories import Memory


@frozen
class Entity:
    """Somebody or something that memories name: its name, what it is, what else it is called, how often and when."""

    name: str
    kind: str
    names: tuple[str, ...] = ()
    mentions: int = 0
    first: datetime | None = None
    last: datetime | None = None

    @property
    def also(self) -> tuple[str, ...]:
        """What else it is called; not the handles that its name would make."""
        return tuple(name for name in self.names if not name.startswith("@") and name.casefold() != self.name.casefold())


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


class GapKind(StrEnum):
    """What a gap is: a question that nothing answers; two memories that cannot both hold; one that is much used, and old."""

    UNANSWERED = "unanswered"
    CONTESTED = "contested"
    STALE = "stale"


@frozen(kw_only=True)
class Gap:
    """Something that is not known, as a question to ask: how often and when last it was asked for, and when it was offered to be
    asked back. `memories`: ids of those that it is about."""

    text: str
    scope: Scope
    times: int
    asked_at: datetime
    offered_at: datetime | None = None
    kind: GapKind = GapKind.UNANSWERED
    memories: tuple[str, ...] = ()


class KnowledgeLevel(StrEnum):
    """How well a subject is known."""

    CONFIDENT = "confident"
    UNCERTAIN = "uncertain"
    UNKNOWN = "unknown"


@frozen
class KnowledgeFigures:
    """What a level comes from: how many memories tell of a subject, in how many sessions, by how many speakers; how sure they are
    (0 to 1); how many are in dispute, or much used and old; and of which time they are."""

    memories: int = 0
    sessions: int = 0
    speakers: int = 0
    sure: float = 0.0
    contested: int = 0
    stale: int = 0
    first: datetime | None = None
    last: datetime | None = None


@frozen
class Knowledge:
    """How well a subject is known. `kind` is what it is: a person, a technology, a category of memories; empty if only its words
    are known.

    `covered`: the chance that what was found is about it at all (1: it is known by name). `evidence`: ids of the best memories;
    `strong`: their words; `holes`: open questions, disputes and old notes about it. `said`: all that in a sentence.
    """

    subject: str
    level: KnowledgeLevel
    confidence: float
    covered: float
    figures: KnowledgeFigures
    kind: str = ""
    evidence: tuple[str, ...] = ()
    strong: tuple[str, ...] = ()
    holes: tuple[Gap, ...] = ()
    said: str = ""


@frozen
class KnowledgeMap(Sequence[Knowledge]):
    """The subjects of a memory, the best known first: behaves as a sequence of them. `memories`: all that there are, whether or
    not they are of any of these."""

    domains: tuple[Knowledge, ...]
    memories: int
    said: str = ""

    @property
    def best(self) -> Knowledge | None:
        return self.domains[0] if self.domains else None

    @property
    def weakest(self) -> Knowledge | None:
        return self.domains[-1] if self.domains else None

    def __len__(self) -> int:
        return len(self.domains)

    @overload
    def __getitem__(self, index: int) -> Knowledge: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Knowledge, ...]: ...

    def __getitem__(self, index: int | slice) -> Knowledge | tuple[Knowledge, ...]:
        return self.domains[index]
