"""Answers of verbs: hits with their reasons, explanations, evidence, and reports of changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import chain, zip_longest

from engram.values.frozen import field, frozen
from engram.values.memories import Memory, ValueSequence


@frozen
class Trust:
    """The trust in a hit, each figure 0 … 1. Relevance depends on the question, the rest on the memory (§7)."""

    relevance: float
    accuracy: float
    freshness: float
    utility: float
    composite: float


@frozen
class ArmSignal:
    """A search arm's part in a hit: its rank (1 is best, 0 if the arm did not find it), score, and share of the final score."""

    arm: str
    rank: int
    score: float
    share: float


@frozen
class Why:
    """The reasons for a hit: the signal of each arm, and notes on later decisions. Converts to a readable string."""

    signals: tuple[ArmSignal, ...]
    notes: tuple[str, ...] = ()

    @property
    def found(self) -> tuple[ArmSignal, ...]:
        """The signals of the arms that contributed to the hit."""
        return tuple(signal for signal in self.signals if signal.rank and signal.share >= 0.005)

    def __str__(self) -> str:
        return "; ".join([*(f"{s.arm} #{s.rank} ({s.score:.2f}, {s.share:.0%})" for s in self.found), *self.notes])


@frozen
class Hit:
    """A memory in an answer, with its reasons.

    `score` orders the hits of one answer. By the default fusion it is the sum of the parts that `why` names, in standard
    deviations above unrelated memories, times the support of the answer: it has no upper bound, and is below 0 for what is
    further away than most. By reciprocal ranks it is 1.0 for what leads every arm. A lone candidate that matches has 1.0 by both.
    To compare hits of different questions, use `trust`.
    """

    memory: Memory
    score: float
    trust: Trust
    why: Why


class Outcome(StrEnum):
    """The meaning of an answer, so that an empty one is never ambiguous."""

    ANSWERED = "answered"
    NOTHING_KNOWN = "nothing_known"
    BELOW_THRESHOLD = "below_threshold"
    DEGRADED = "degraded"


class Mode(StrEnum):
    """The kinds of memories that a recall returns (D): facts; facts and rules; or everything, episodes included."""

    FACTS_ONLY = "facts_only"
    FACTS_PLUS_RULES = "facts_plus_rules"
    FULL_CONTEXT = "full_context"


@frozen(kw_only=True)
class Quality:
    """Figures of one recall: its method, cost and quality.

    support: how well the first hit supports an answer, 0 … 1: similar, and about the entities that the question names;
    covered: the probability that the hits are related to the question, times the share of its named entities they are about;
    relevancy: mean cosine of question and hits (without vectors: mean score relative to the best one);
    ndcg: of the returned order, graded by trust; tokens: of all hits, None if some were never counted.
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
    """The stage of recall at which a memory was dropped, or `answer` for a hit."""

    GATE = "gate"  # the question needs no search
    FILTER = "filter"  # its status, kind, category, time or attributes do not match the filter
    SEARCH = "search"  # not among the candidates of any arm
    DUPLICATE = "duplicate"  # an equivalent memory is in the answer
    SAID = "said"  # its words stand in the history that was given with the question
    SUPPRESSED = "suppressed"  # feedback said that it did not help with such a question
    SUPERSEDED = "superseded"  # its successor is in the answer
    FLAGGED = "flagged"  # reads as an attack on the model
    THRESHOLD = "threshold"  # too far from the question, or from the best hit
    LIMIT = "limit"  # ranked below the requested number of hits
    BUDGET = "budget"  # no tokens left for it
    ANSWER = "answer"  # a hit


@frozen
class LeftOut:
    """A candidate that is not among the hits: the stage that dropped it, and its score against the score needed."""

    id: str
    stage: Stage
    reason: str
    score: float
    needed: float | None = None


@frozen(kw_only=True)
class Explanation:
    """The reason why a memory is in the answer to a question, or is not. Converts to a readable string."""

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
        why = "" if self.why is None else str(self.why)
        found = f"; {'found by ' if self.why and self.why.found else ''}{why}" if why else ""
        score = f" (its score is {self.score:.2f}" if self.score is not None else ""
        score += f", {self.needed:.2f} would be enough)" if score and self.needed is not None else ")" if score else ""
        return f"{self.reason}{score}{found}."


@frozen
class Recall(ValueSequence[Hit]):
    """The hits of a question, best first, with outcome and quality; also a sequence of hits.

    `left_out` has the reason for every candidate that is not a hit, if the recall was asked to explain itself; else for those
    whose words stand in the history that was given.
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
    """A question, the reason for asking it, its hits (best first), words without a hit, and its sub-questions.

    `outcome` is None if the question was not asked, because the limit of calls was reached. `bridge` is the name over which the
    evidence of the question above leads to this one, or "".
    """

    question: str
    why: str
    outcome: Outcome | None
    hits: tuple[Hit, ...] = ()
    missing: tuple[str, ...] = ()
    parts: tuple[Evidence, ...] = ()
    bridge: str = ""

    def walk(self) -> Iterator[Evidence]:
        yield self
        for part in self.parts:
            yield from part.walk()


@frozen
class Reasoning:
    """A tree of evidence, the questions in it without an answer, and the calls and depth it took.

    `answer` is a language model's, "" if there is none; the ids in it are those of memories among the hits, and `citations` lists
    them.
    """

    evidence: Evidence
    gaps: tuple[str, ...]
    calls: int
    depth: int
    notes: tuple[str, ...] = ()
    answer: str = ""
    citations: tuple[str, ...] = ()

    @property
    def hits(self) -> tuple[Hit, ...]:
        """All hits, each once: the two best of every part, so that each is covered, then those of the question, then the rest."""
        root, *parts = (node.hits for node in self.evidence.walk())
        best, rest = (zip_longest(*(hits[cut] for hits in parts)) for cut in (slice(2), slice(2, None)))
        ordered = chain(chain.from_iterable(best), root, chain.from_iterable(rest))
        return tuple({hit.memory.id: hit for hit in ordered if hit is not None}.values())


class Fate(StrEnum):
    """The result of capture for a piece of a turn."""

    KEPT = "kept"
    MERGED = "merged"
    DROPPED = "dropped"


@frozen
class Verdict:
    """The reason why a piece of a turn was kept, merged or dropped. The piece is given by its span, without its text."""

    fate: Fate
    reason: str
    turn: int
    start: int
    end: int
    memory: str = ""


@frozen(kw_only=True)
class Report:
    """The changes that an operation made: ids, counts by place, and verdicts."""

    operation: str
    ids: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
