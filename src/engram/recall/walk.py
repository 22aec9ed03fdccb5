"""The values that one recall collects on its way through the stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from engram.frozen import field, frozen, mutable
from engram.models.embed import Vectors
from engram.recall.arms import WORDS
from engram.recall.fusion import ArmResult, Ranking
from engram.recall.plan import Plan, Query
from engram.recall.related import Answerability
from engram.recall.select import Decision, Links
from engram.recall.weights import ASSISTANT
from engram.types import Stage


@mutable
class Stopwatch:
    """Measures stages; `spent` holds their milliseconds by name."""

    monotonic: Callable[[], float]
    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = self.monotonic()
        yield
        self.spent[name] = round((self.monotonic() - start) * 1000, 3)


@frozen(kw_only=True)
class SearchTrace:
    """Everything that one search computed; the answer and its explanation are made from it.

    `paths` says by which links a memory was reached; `unread` counts the candidates that were too far to be read; `least` is the
    match score under which the question counts as not answered.
    """

    plan: Plan
    vector: Vectors | None
    arms: Sequence[ArmResult]
    weights: Mapping[str, float]
    ranking: Ranking
    answerability: Answerability
    best: float
    rerank: str
    decisions: Sequence[Decision]
    links: Links
    paths: Mapping[int, str]
    unread: int
    least: float
    notes: Sequence[str]
    spent: Mapping[str, float]

    @property
    def query(self) -> Query:
        return self.plan.query

    @property
    def hits(self) -> list[Decision]:
        return [decision for decision in self.decisions if decision.stage is Stage.ANSWER]

    @property
    def scale(self) -> float:
        """The factor of all scores that are shown: the support of the answer. It leaves the order as it is."""
        support = self.answerability.support
        return support if support is not None and ASSISTANT in self.ranking.parts else 1.0

    @property
    def worth_deepening(self) -> bool:
        """True if there is no hit and a wider search may find more."""
        full = any(len(arm.keys) >= self.plan.breadth for arm in self.arms)
        return not self.hits and (full or WORDS not in self.ranking.parts) and not self.plan.deep
