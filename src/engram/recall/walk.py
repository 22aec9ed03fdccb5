"""What a question picks up on its way through the stages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

from engram.frozen import field, frozen, mutable
from engram.models.embed import Vectors
from engram.recall.arms import WORDS
from engram.recall.fusion import ArmResult, Fused
from engram.recall.plan import Asked, Plan
from engram.recall.select import Links, Pick
from engram.recall.weights import ASSISTANT
from engram.types import Memory, Stage


@mutable
class Stopwatch:
    monotonic: Callable[[], float]
    spent: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = self.monotonic()
        yield
        self.spent[name] = round((self.monotonic() - start) * 1000, 3)


@frozen
class Standing:
    """What the first hits are worth as an answer, each 0 … 1: `support` and `related` (None without vectors), and `covered`, the
    chance that they have to do with the question times how far they are about whom it names."""

    support: float | None = None
    related: float | None = None
    covered: float = 0.0


@frozen(kw_only=True)
class Walk:
    """One question's way, stage by stage: what an answer, or an account of it, is made from."""

    asked: Asked
    plan: Plan
    query: Vectors | None
    arms: Sequence[ArmResult]
    weights: Mapping[str, float]
    fused: Fused
    standing: Standing
    best: float
    rerank: str
    picks: Sequence[Pick]
    links: Links
    ways: Mapping[int, str]  # over which links what was reached came to be here
    unseen: int  # candidates too far to be looked at
    least: float
    notes: Sequence[str]
    spent: Mapping[str, float]

    @property
    def taken(self) -> list[Pick]:
        return [pick for pick in self.picks if pick.stage is Stage.ANSWER]

    @property
    def scale(self) -> float:
        """What scores are multiplied by, of hits and of what is none: the answer's support. Ranks stay what they are."""
        support = self.standing.support
        return support if support is not None and ASSISTANT in self.fused.parts else 1.0

    @property
    def thin(self) -> bool:
        """Is there nothing to show though there may be more than was looked at?"""
        full = any(len(arm.keys) >= self.plan.breadth for arm in self.arms)
        return not self.taken and (full or WORDS not in self.fused.parts) and not self.plan.deep


@frozen
class Got:
    """The candidates that were fetched, what of them is suppressed and until when, how many are too far, what a hit needs."""

    memories: Mapping[int, Memory]
    digests: Mapping[int, bytes]
    suppressed: Mapping[int, datetime]
    flagged: frozenset[int]
    unseen: int
    needed: float | None

    @property
    def shown(self) -> Mapping[int, Memory]:
        return {key: one for key, one in self.memories.items() if key not in self.suppressed and key not in self.flagged}
