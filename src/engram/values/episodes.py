"""What the kinds of memory have beside the memory itself: the course of an episode, the parts of a skill, boxes, standing.

Frozen like all that flows (`types.py`); each hangs on a `Memory`, which has the words, the scope and the dates.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from engram.values.frozen import frozen
from engram.values.identity import Scope
from engram.values.memories import Memory

EPISODE, WARNING = "episode", "warning"
"""Categories: an episode that was recorded as it went (captured events are of other ones), and what must not be done again."""


REHEARSED = "rehearsed"
"""The attribute that tells how often a memory was rehearsed at rest, and when last."""


def rehearsal_attributes(times: int, at: datetime) -> dict[str, str]:
    return {REHEARSED: f"{times} {at.isoformat()}"}


def rehearsals_of(memory: Memory) -> tuple[int, datetime | None]:
    """How often a memory was rehearsed, and when last; what somebody else wrote there is none."""
    told = memory.attributes.get(REHEARSED, "")
    if not told:
        return 0, None
    number, _, moment = told.partition(" ")
    try:
        at = datetime.fromisoformat(moment)
        return (int(number), at) if at.tzinfo is not None else (0, None)
    except ValueError:
        return 0, None


class EpisodeOutcome(StrEnum):
    """How an episode came out. `ongoing` is also what a process that was killed leaves behind."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    ABANDONED = "abandoned"
    ONGOING = "ongoing"


@frozen
class EpisodeEvent:
    """One thing that happened in an episode. `type` is a word of the caller's; `ok`: did it go well (None: not said)?"""

    at: datetime
    type: str
    text: str
    actor: str = ""
    ok: bool | None = None


@frozen
class Participant:
    name: str
    role: str = ""


@frozen
class Episode:
    """Something that was done, from its goal to its outcome. Its context is the memory's attributes, how much it matters the
    memory's importance, how unexpected its outcome was the memory's surprise."""

    memory: Memory
    goal: str
    outcome: EpisodeOutcome
    result: str
    valence: float
    started_at: datetime
    ended_at: datetime | None
    events: tuple[EpisodeEvent, ...] = ()
    participants: tuple[Participant, ...] = ()

    @property
    def id(self) -> str:
        return self.memory.id


@frozen
class SkillStep:
    """One step of a skill, and what helped when it failed (empty: not known)."""

    text: str
    on_failure: str = ""


@frozen
class FailureMode:
    """A way in which a skill has failed."""

    text: str
    recovery: str
    occurrences: int
    last_at: datetime


@frozen
class Refinement:
    """What was learned in using a skill, and from which episode."""

    text: str
    episode: str
    at: datetime


@frozen
class Practice:
    """How a skill has done. `rate` is a running mean (EMA) of how it went, 0 … 1; `seconds` likewise of how long it took."""

    executions: int = 0
    successes: int = 0
    failures: int = 0
    partials: int = 0
    rate: float = 0.0
    seconds: float = 0.0
    used_at: datetime | None = None


@frozen
class Cue:
    """A word (as a stem) that calls for a skill, and how much it weighs; all of a skill's cues weigh 1 together."""

    stem: str
    weight: float


@frozen
class Precondition:
    """What the context must say for a skill to apply."""

    name: str
    value: str


@frozen
class Skill:
    """How something is done, learned from episodes in which it was done well."""

    memory: Memory
    name: str
    cues: tuple[Cue, ...]
    threshold: float
    preconditions: tuple[Precondition, ...]
    steps: tuple[SkillStep, ...]
    practice: Practice
    failure_modes: tuple[FailureMode, ...] = ()
    refinements: tuple[Refinement, ...] = ()

    @property
    def id(self) -> str:
        return self.memory.id


@frozen
class SkillMatch:
    """A skill that fits a situation: how well, 0 … 1, and what it asks for that the context does not say."""

    skill: Skill
    score: float
    unmet: tuple[str, ...] = ()


class SealReason(StrEnum):
    """Why a box was closed."""

    OPEN = ""
    SHIFT = "shift"
    GAP = "gap"
    SIZE = "size"


@frozen
class Box:
    """A stretch of memories about one thing. Boxes about the same thing have the same trace."""

    key: int
    scope: Scope
    session: str
    opened_at: datetime
    last_at: datetime
    sealed: SealReason
    trace: int
    size: int
    topic: tuple[str, ...]


@frozen
class ReachedMemory:
    """A memory that links lead to: how many away, how strong the best way is (0 … 1), and by which kinds of link.

    `inferred`: the kind of link that follows from those in between, where one does: a part of a part is a part.
    """

    memory: Memory
    distance: int
    strength: float
    by: tuple[str, ...]
    inferred: str = ""
