"""What verbs answer with: hits and their reasons, what was left out and why, evidence, reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from engram.values.frozen import field, frozen
from engram.values.memories import Memory, ValueSequence


@frozen
class Trust:
    """How far to rely on a hit, each 0 … 1. Relevance is about the question, the rest about the memory (§7)."""

    relevance: float
    accuracy: float
    freshness: float
    utility: float
    composite: float


@frozen
class ArmSignal:
    """What one arm said of a hit: its rank there (1 is best; 0 if the arm did not find it), its score, its share."""

    arm: str
    rank: int
    score: float
    share: float


@frozen
class Why:
    """Why a hit is here: what each arm said, and what was decided after. As text it reads as a sentence."""

    signals: tuple[ArmSignal, ...]
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[ArmSignal, ...]:
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
class Recall(ValueSequence[Hit]):
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
class Reasoning:
    """The tree of evidence, questions in it that nothing is known to, and what it took."""

    evidence: Evidence
    gaps: tuple[str, ...]
    calls: int
    depth: int
    notes: tuple[str, ...] = ()


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


@frozen(kw_only=True)
class Report:
    """What an operation changed, with ids and counts by place."""

    operation: str
    ids: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
