"""Episodes, skills and boxes: the data that a kind of memory has besides the memory itself.

Each value refers to a `Memory`, which holds the text, the scope and the dates.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from engram.values.frozen import frozen
from engram.values.identity import Scope
from engram.values.memories import Memory

EPISODE, WARNING = "episode", "warning"
"""Categories: an episode that was recorded event by event (captured events have other categories), and a warning."""


REHEARSED = "rehearsed"
"""The attribute with the number of rehearsals of a memory in the background, and the time of the last."""


def rehearsal_attributes(times: int, at: datetime) -> dict[str, str]:
    """Return the attribute that records `times` rehearsals, the last one at `at`."""
    return {REHEARSED: f"{times} {at.isoformat()}"}


def rehearsals_of(memory: Memory) -> tuple[int, datetime | None]:
    """Return the number of rehearsals and the time of the last. An attribute that does not parse counts as none."""
    recorded = memory.attributes.get(REHEARSED, "")
    if not recorded:
        return 0, None
    number, _, moment = recorded.partition(" ")
    try:
        at = datetime.fromisoformat(moment)
        return (int(number), at) if at.tzinfo is not None else (0, None)
    except ValueError:
        return 0, None


class EpisodeOutcome(StrEnum):
    """The outcome of an episode. A process that was killed leaves its episode `ongoing`."""

    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"
    ABANDONED = "abandoned"
    ONGOING = "ongoing"


@frozen
class EpisodeEvent:
    """An event of an episode. `type` is chosen by the caller; `ok` says whether it went well (None: unknown)."""

    at: datetime
    type: str
    text: str
    actor: str = ""
    ok: bool | None = None


@frozen
class Participant:
    """A person or agent that took part in an episode."""

    name: str
    role: str = ""


@frozen
class Episode:
    """A task from its goal to its outcome. Its context is in the memory's attributes, its weight in the memory's importance,
    and the unexpectedness of its outcome in the memory's surprise."""

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
    """A step of a skill, and the remedy when it fails ("" if unknown)."""

    text: str
    on_failure: str = ""


@frozen
class FailureMode:
    """A way in which a skill failed, and the remedy."""

    text: str
    recovery: str
    occurrences: int
    last_at: datetime


@frozen
class Refinement:
    """An improvement of a skill, and the id of the episode that taught it."""

    text: str
    episode: str
    at: datetime


@frozen
class Practice:
    """Statistics of a skill's executions. `rate` is an exponential moving average of success, 0 … 1; `seconds` of duration."""

    executions: int = 0
    successes: int = 0
    failures: int = 0
    partials: int = 0
    rate: float = 0.0
    seconds: float = 0.0
    used_at: datetime | None = None


@frozen
class Cue:
    """A word stem that calls for a skill, and its weight. The weights of a skill's cues sum to 1."""

    stem: str
    weight: float


@frozen
class Precondition:
    """An attribute that the context must have for a skill to apply."""

    name: str
    value: str


@frozen
class Skill:
    """A procedure learned from successful episodes."""

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
    """A skill that fits a situation, its score (0 … 1), and the preconditions that the context does not meet."""

    skill: Skill
    score: float
    unmet: tuple[str, ...] = ()


class SealReason(StrEnum):
    """The reason why a box was closed: a change of topic, a pause, or its size."""

    OPEN = ""
    SHIFT = "shift"
    GAP = "gap"
    SIZE = "size"


@frozen
class Box:
    """Consecutive memories about one topic. Boxes about the same topic share a trace."""

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
    """A memory reached through links: its distance, the strength of the best path (0 … 1), and the kinds of its links.

    `inferred`: the kind of link that the path implies, if any: a part of a part is a part.
    """

    memory: Memory
    distance: int
    strength: float
    by: tuple[str, ...]
    inferred: str = ""


BoxTopics = dict[int, tuple[int, tuple[str, ...]]]
"""The trace and the topic of each box of a place, the latest."""


@frozen
class BoxRow:
    """A memory as boxing needs it; `at` is when it was said, whatever time it tells of."""

    key: int
    scope: int
    session: str
    at: datetime
    speaker: str
    text: str
    vector: bytes | None


@frozen
class FilledBox:
    """A box as it is to be kept; `key` 0 is a new one."""

    key: int
    scope: int
    session: str
    opened_at: datetime
    last_at: datetime
    sealed: SealReason
    topic: tuple[str, ...]
    members: tuple[int, ...]
    trace: int = 0  # of a box that is kept and about the same
    like: int | None = None  # else the place, among those kept with it, of a box that is


FOLLOWS, CAUSED_BY, LEARNED_FROM = "follows", "caused_by", "learned_from"
