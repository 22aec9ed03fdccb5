"""What flows: the values that every room hands to the next.

Frozen, standard library only, no I/O, no rows, no wire form. A change makes a new value (`frozen.replace`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from types import MappingProxyType

from engram.frozen import field, fields, frozen
from engram.vitals import NEUTRAL as NEUTRAL
from engram.vitals import Affect as Affect
from engram.vitals import Backup as Backup
from engram.vitals import Change as Change
from engram.vitals import Counts as Counts
from engram.vitals import Encoder as Encoder
from engram.vitals import Event as Event
from engram.vitals import Events as Events
from engram.vitals import Fact as Fact
from engram.vitals import Finding as Finding
from engram.vitals import Health as Health
from engram.vitals import Language as Language
from engram.vitals import Latency as Latency
from engram.vitals import Severity as Severity
from engram.vitals import Signal as Signal
from engram.vitals import Space as Space
from engram.vitals import Trust as Trust
from engram.vitals import Version as Version
from engram.vitals import Warmth as Warmth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeVar, overload

    T = TypeVar("T")

NO_ATTRIBUTES: Mapping[str, str] = MappingProxyType({})


class _Many(Sequence["T"]):
    """A value that behaves as the sequence of its members."""

    __slots__ = ()

    @property
    @abstractmethod
    def _members(self) -> tuple[T, ...]: ...

    def __len__(self) -> int:
        return len(self._members)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, index: int) -> T: ...

        @overload
        def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self._members[index]


@frozen
class Scope:
    """The places a memory belongs to, or a reader stands in. Empty means: this dimension is not named.

    Project ⊃ squad ⊃ agent ⊃ channel + user; the empty scope is global.
    """

    project: str = ""
    squad: str = ""
    agent: str = ""
    channel: str = ""
    user: str = ""


SCOPE_DIMENSIONS: tuple[str, ...] = tuple(f.name for f in fields(Scope))
scope_values: Callable[[Scope], tuple[str, ...]] = attrgetter(*SCOPE_DIMENSIONS)
"""A scope's values in the order of `SCOPE_DIMENSIONS`: 0.2 µs, where `astuple`, which copies deeply, takes 6.5."""


class Policy(StrEnum):
    """How much of what it may see a reader asks for."""

    OWN = "own"  # written from exactly where the reader stands
    AGENT = "agent"  # naming the reader's agent
    AGENT_GLOBAL = "agent+global"  # everything whose every named scope the reader is in
    PROJECT = "project"  # that, and all squads and agents of the reader's project; for orchestrators
    ALL = "all"  # everything; for the owner at the console


class Role(StrEnum):
    """What a reader is, as established at the door."""

    GUEST = "guest"  # from the network: reads only
    AGENT = "agent"
    ORCHESTRATOR = "orchestrator"
    OWNER = "owner"


@frozen
class Reader:
    """Who asks. Made where identity is established (open, token), never from an argument of an operation."""

    scope: Scope = Scope()
    policy: Policy = Policy.AGENT_GLOBAL
    role: Role = Role.AGENT
    may_write: bool | None = None

    @property
    def writes(self) -> bool:
        """As granted; where nothing was said, all but guests may."""
        return self.role is not Role.GUEST if self.may_write is None else self.may_write


class Tier(StrEnum):
    """How closely the words of a memory are kept; the later, the closer."""

    CLEARTEXT = "cleartext"
    SENSITIVE = "sensitive"
    CONFIDENTIAL = "confidential"


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


class Source(StrEnum):
    """Whose word it is."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    IMPORT = "import"
    INFERRED = "inferred"


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
    tier: Tier = Tier.CLEARTEXT
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
    tier: Tier = Tier.CLEARTEXT  # how closely its words are kept; capture says


@frozen
class Waiting:
    """A turn that a model has not read yet, by its key, and since when it waits."""

    key: int
    since: datetime
    turn: Turn


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


class Fate(StrEnum):
    """What became of a piece of what was said."""

    KEPT = "kept"
    MERGED = "merged"
    DROPPED = "dropped"


@frozen
class Verdict:
    """Why a piece of a turn was kept, merged or dropped. Holds no words: the piece is a place in a turn."""

    fate: Fate
    reason: str
    turn: int
    start: int
    end: int
    memory: str = ""


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
class Why:
    """Why a hit is here: what each arm said, and what was decided after. As text it reads as a sentence."""

    signals: tuple[Signal, ...]
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[Signal, ...]:
        """The arms that had a part in it."""
        return tuple(one for one in self.signals if one.rank and one.share >= 0.005)

    def __str__(self) -> str:
        return "; ".join([*(f"{s.arm} #{s.rank} ({s.score:.2f}, {s.share:.0%})" for s in self.found), *self.notes])


@frozen
class Hit:
    """A memory that answers, and the reasons it is here. `score` is how near it is, times the answer's support."""

    memory: Memory
    score: float
    trust: Trust
    why: Why


class Outcome(StrEnum):
    """What an answer means. An empty one is never ambiguous."""

    ANSWERED = "answered"
    NOTHING_KNOWN = "nothing_known"
    BELOW_THRESHOLD = "below_threshold"
    DEGRADED = "degraded"


class Mode(StrEnum):
    """Which sorts of memories a recall is for (D): what is so; that and how to act; everything, stories included."""

    FACTS_ONLY = "facts_only"
    FACTS_PLUS_RULES = "facts_plus_rules"
    FULL_CONTEXT = "full_context"


@frozen(kw_only=True)
class Quality:
    """Figures of one recall: how it was made, what it cost, how good it is.

    support: how well the first hit stands for an answer, 0 … 1: near, and about whom the question names;
    covered: the chance that the hits have to do with the question, times how far they are about whom it names;
    relevancy: mean cosine of question and hits (of the scores' shares of the best one, where there are no vectors);
    ndcg: of the order returned, graded by trust; tokens: of all hits, None if some of them were never counted.
    """

    strategy: str
    weights: Mapping[str, float]
    support: float | None
    rerank: str
    candidates: int
    returned: int
    relevancy: float
    ndcg: float
    tokens: int | None
    milliseconds: Mapping[str, float]
    covered: float = 0.0


class Stage(StrEnum):
    """Where on its way into an answer a memory is, or was dropped."""

    GATE = "gate"  # nothing was looked up
    FILTER = "filter"  # not what was asked for: its status, kind, category, time, attributes
    SEARCH = "search"  # no arm brought it among its candidates
    DUPLICATE = "duplicate"  # something that says the same stands in its place
    SUPPRESSED = "suppressed"  # a reader said that it did not help with such a question
    SUPERSEDED = "superseded"  # what took its place stands in the answer
    FLAGGED = "flagged"  # it reads as an attack on the model
    THRESHOLD = "threshold"  # too far from the question, or from the best hit
    LIMIT = "limit"  # further down than hits were asked for
    BUDGET = "budget"  # no tokens left for it
    ANSWER = "answer"  # it is a hit


@frozen
class LeftOut:
    """A candidate that is not among the hits: where it was dropped, and by how much (`score` against `needed`)."""

    id: str
    stage: Stage
    reason: str
    score: float
    needed: float | None = None


@frozen(kw_only=True)
class Explanation:
    """Why one memory is in the answer to a question, or why not. As text it reads as a sentence."""

    id: str
    stage: Stage
    reason: str
    rank: int = 0
    score: float | None = None
    needed: float | None = None
    why: Why | None = None

    @property
    def recalled(self) -> bool:
        return self.stage is Stage.ANSWER

    def __str__(self) -> str:
        told = "" if self.why is None else str(self.why)
        found = f"; {'found by ' if self.why and self.why.found else ''}{told}" if told else ""
        by = f" (its score is {self.score:.2f}" if self.score is not None else ""
        by += f", {self.needed:.2f} would be enough)" if by and self.needed is not None else ")" if by else ""
        return f"{self.reason}{by}{found}."


@frozen
class Recall(_Many[Hit]):
    """All hits, best first; what was held back; how far the engine was degraded. Behaves as a sequence of hits.

    `left_out` says of every candidate that is no hit why it is none, if the recall was asked to explain itself.
    """

    hits: tuple[Hit, ...]
    outcome: Outcome
    quality: Quality
    hidden: int = 0
    notes: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def _members(self) -> tuple[Hit, ...]:
        return self.hits


@frozen
class Evidence:
    """One question, why it was asked, what is known to it (the best first), words nothing was found for, and its parts.

    An outcome of None: it was not asked, because the calls were used up.
    """

    question: str
    why: str
    outcome: Outcome | None
    hits: tuple[Hit, ...] = ()
    missing: tuple[str, ...] = ()
    parts: tuple[Evidence, ...] = ()

    def walk(self) -> Iterator[Evidence]:
        yield self
        for part in self.parts:
            yield from part.walk()


@frozen
class Reasoned:
    """The tree of evidence, questions in it that nothing is known to, and what it took."""

    evidence: Evidence
    gaps: tuple[str, ...]
    calls: int
    depth: int
    notes: tuple[str, ...] = ()


@frozen
class StatusChange:
    old: Status
    new: Status
    reason: str
    at: datetime


@frozen
class AuditEntry:
    """Who did what, when, to which id. `digest` is a keyed hash for correlation; there is no content in it."""

    at: datetime
    operation: str
    subject: str
    scope: Scope
    count: int
    digest: str
    ok: bool


@frozen
class Page(_Many[Memory]):
    """Some memories in order, and the cursor that fetches those after them (None at the end)."""

    memories: tuple[Memory, ...]
    cursor: str | None

    @property
    def _members(self) -> tuple[Memory, ...]:
        return self.memories


@frozen(kw_only=True)
class Report:
    """What an operation changed, with ids and counts by place."""

    operation: str
    ids: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
