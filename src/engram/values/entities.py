"""Entities, beliefs, timelines, gaps and knowledge: values about the world that the memories describe."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, overload

from engram.values.frozen import frozen
from engram.values.identity import Scope
from engram.values.memories import Memory
from engram.values.memories import Mention as Mention


@frozen
class Entity:
    """A person or thing that memories name: its name, kind and other names, and the number and times of its mentions."""

    name: str
    kind: str
    names: tuple[str, ...] = ()
    mentions: int = 0
    first: datetime | None = None
    last: datetime | None = None

    @property
    def also(self) -> tuple[str, ...]:
        """The other names of the entity, without @handles."""
        return tuple(name for name in self.names if not name.startswith("@") and name.casefold() != self.name.casefold())


@frozen
class BeliefRevision:
    """A rival of a belief: `relation` is `replaces`, `replaced_by` or `contested_by`.

    object, memory: the rival's value and the id of the memory that states it. at, reason: when and why the two were decided on.
    """

    relation: str
    object: str
    memory: str
    at: datetime
    reason: str


@frozen
class Belief:
    """A fact with its epistemic status: held, contested, retracted, past or inferred. `memory` is the id of the memory that
    states it. Retracted: another replaced it, or its memory no longer stands. Past: it was stated with an end that is over.

    An inferred belief follows from others: its `memory` is "", and `premises` are the ids of the memories it follows from.
    strength, weight: the evidence for it, by name (axiomatic … hearsay) and from 0 to 1. teller: whose words it reports.
    revisions: the beliefs that it replaced, that replaced it or that contest it, the oldest first.
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
    strength: str = ""
    weight: float = 0.0
    teller: str = ""
    revisions: tuple[BeliefRevision, ...] = ()


@frozen(kw_only=True)
class BeliefQuery:
    """A question about beliefs: of whom, by default those that hold now.

    predicate: only of this one. past: also former ones. as_of: those that held at that time. backwards: those whose object is
    the subject.
    """

    subject: str
    predicate: str = ""
    past: bool = False
    as_of: datetime | None = None
    backwards: bool = False


@frozen
class PathStep:
    """A fact on a path between two names. `backwards`: the path goes from the object to the subject."""

    subject: str
    predicate: str
    object: str
    backwards: bool
    memory: str
    confidence: float
    since: datetime | None
    until: datetime | None


@frozen
class FactPath:
    """The shortest chain of facts from one name to another; without steps if there is none."""

    start: str
    end: str
    steps: tuple[PathStep, ...] = ()


@frozen
class RoleTenure:
    """A role, who has or had it, since when (None: not known), and until when (None: still)."""

    role: str
    holder: str
    since: datetime | None = None
    until: datetime | None = None


@frozen
class Profile:
    """An entity with all that is known of it.

    facts: what holds of it, with the id of the memory that states it. relations: the entities it is mentioned with, and how
    often. timeline: the memories that speak of it, newest first. roles: those it has and had. holders: if it was asked for by a
    role, all who have or had that. former: facts that no longer hold. object_of: facts of others that name it.
    """

    entity: Entity
    facts: tuple[Belief, ...]
    relations: tuple[tuple[str, int], ...]
    timeline: tuple[Memory, ...]
    roles: tuple[RoleTenure, ...] = ()
    holders: tuple[RoleTenure, ...] = ()
    former: tuple[Belief, ...] = ()
    object_of: tuple[Belief, ...] = ()


@frozen
class Bucket:
    """An interval of a timeline (end exclusive), its number of memories, and whether that is unusually high."""

    start: datetime
    end: datetime
    count: int
    peak: bool = False


@frozen
class Revision:
    """A memory that corrects or contradicts another, by id; `kind` is `supersedes`, `outdates` (in part) or `contradicts`."""

    memory: str
    other: str
    kind: str


@frozen
class Timeline(Sequence[Memory]):
    """The memories about an entity in the order of their events; also a sequence of memories.

    Corrected memories are included; `revisions` names what corrected them. `buckets` cover the whole time, each one `width`
    (day, week, month or year) long.
    """

    memories: tuple[Memory, ...]
    revisions: tuple[Revision, ...] = ()
    width: str = ""
    buckets: tuple[Bucket, ...] = ()

    @property
    def peaks(self) -> tuple[Bucket, ...]:
        return tuple(bucket for bucket in self.buckets if bucket.peak)

    def __len__(self) -> int:
        return len(self.memories)

    @overload
    def __getitem__(self, index: int) -> Memory: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Memory, ...]: ...

    def __getitem__(self, index: int | slice) -> Memory | tuple[Memory, ...]:
        return self.memories[index]


class GapKind(StrEnum):
    """The kind of a gap: a question without an answer, two contradictory memories, or an old memory that is often used."""

    UNANSWERED = "unanswered"
    CONTESTED = "contested"
    STALE = "stale"


@frozen(kw_only=True)
class Gap:
    """A gap in what is known, as a question: how often and when it was last asked, and when it was last offered to be put
    to the user. `memories`: the ids of the memories it is about."""

    text: str
    scope: Scope
    times: int
    asked_at: datetime
    offered_at: datetime | None = None
    kind: GapKind = GapKind.UNANSWERED
    memories: tuple[str, ...] = ()


class KnowledgeLevel(StrEnum):
    """A level of knowledge about a subject."""

    CONFIDENT = "confident"
    UNCERTAIN = "uncertain"
    UNKNOWN = "unknown"


@frozen
class KnowledgeFigures:
    """The figures behind a level: the number of memories, sessions and speakers, the confidence of the memories (`sure`,
    0 … 1), the number of contested and of stale memories, and their first and last dates."""

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
    """The knowledge about a subject. `kind` is a person, a technology, a category of memories, or "" if unknown.

    `covered`: the probability that the memories found are about the subject (1: it is known by name). `evidence`: ids of the
    best memories; `strong`: their texts; `holes`: open questions, disputes and old notes about it; `said`: a summary sentence.
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
    """The subjects of a vault, best known first; also a sequence of them. `memories`: the number of all memories."""

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


class RelatedFact(NamedTuple):
    """A fact that holds, how sure it is, and the id of the memory that says it."""

    subject: str
    predicate: str
    object: str
    confidence: float
    memory: str


class FactNeighbour(NamedTuple):
    """A fact that one of the asked names is the subject or the object of; `name` is that one, as it was asked for."""

    name: str
    subject: str
    predicate: str
    object: str
    backwards: bool  # the name is the object
    memory: str
    confidence: float
    since: datetime | None
    until: datetime | None


class SubjectTally(NamedTuple):
    """Figures of some memories, as they are counted: means of how sure they are and what moves that, and times in µs."""

    memories: int
    sessions: int
    speakers: int
    confidence: float | None
    witnesses: float | None
    helpful: float | None
    unhelpful: float | None
    contested: int | None
    stale: int | None
    first: int | None
    last: int | None


class KnownSubject(NamedTuple):
    """An entity that several memories name, or a category of memories, with its figures."""

    name: str
    kind: str
    tally: SubjectTally


@frozen
class StoredMention:
    """A mention of a stored memory: the keys of the memory and of the entity that it means (None: not known), and its number."""

    memory: int
    number: int
    entity: int | None
    said: Mention


@frozen
class Tenure:
    """The time for which an entity has a role: since when (None: not known) and until when (None: it has it still)."""

    entity: int
    since: datetime | None = None
    until: datetime | None = None


class EntityAction(StrEnum):
    """A decision on an entity by hand.

    alias: it is called so too. unalias: that name does not mean it. merge: it is the other one. split: some of its names or
    memories are another's. rename: it is called so from now on. kind: what it is. apart: it is not the other one.
    """

    ALIAS = "alias"
    UNALIAS = "unalias"
    MERGE = "merge"
    SPLIT = "split"
    RENAME = "rename"
    KIND = "kind"
    APART = "apart"


@frozen(kw_only=True)
class EntityDecision:
    """A decision on an entity by hand: the entity, the other name, entity or kind, the names and the ids of the memories that it
    covers, why, when, and when it was taken back."""

    id: str
    action: EntityAction
    name: str
    other: str
    names: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    reason: str = ""
    at: datetime | None = None
    undone_at: datetime | None = None
