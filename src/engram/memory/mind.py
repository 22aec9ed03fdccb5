"""All that is in mind at once, and what hearing a turn does to it; how it is found again after a pause (§17.5.5)."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from engram.frozen import field, frozen, replace
from engram.memory import momentum, sensory, working
from engram.memory.handoff import Checkpoint as Checkpoint
from engram.memory.momentum import Momentum, Reading, Topic, Vector
from engram.memory.sensory import Heard, Ring
from engram.memory.shortening import statement
from engram.memory.working import Evicted, Slot, SlotLimits, SlotSource, WorkingMemory
from engram.types import Turn

_LOST = 0.8  # what a pause of a day takes off; a shorter one its part


class Age(StrEnum):
    """How a suspended mind was found."""

    NOTHING = "nothing"  # none was put away
    FRESH = "fresh"
    DECAYED = "decayed"
    DROPPED = "dropped"  # too old to go on with


@frozen
class Mind:
    """What was just said, what is in mind, and where the talk is going. Only the last two outlive the process."""

    ring: Ring = field(default_factory=Ring)
    working: WorkingMemory = field(default_factory=WorkingMemory)
    momentum: Momentum = field(default_factory=Momentum)


@frozen(kw_only=True)
class WorkingLimits:
    """The numbers that tune working memory. Slots, tokens, strategy and the pauses are replaced by the user's settings."""

    slot_limits: SlotLimits = field(default_factory=SlotLimits)
    ring_turns: int = 20  # last turns held verbatim (§3)
    ring_s: float = 30.0  # age at which a held turn becomes a slot (§3)
    alpha: float = 0.3  # weight of a new turn in the running mean of a conversation (§8.6)
    share: float = 0.9  # how far a message that says nothing by itself is drawn towards that mean (§8.6)
    anticipated: float = 0.85  # least likeness of a message to the expected one; cosine over the background (§8.9)
    fresh_h: float = 4.0
    stale_h: float = 24.0


@frozen
class Vectors:
    """A turn as the encoder has it: as a question, as a passage; and its background. All may be missing."""

    asked: Vector | None = None
    said: Vector | None = None
    background: float = 0.0


@frozen(kw_only=True)
class Resumed:
    """What there is to go on with: the last checkpoint, however old, and what is in mind of what was put away."""

    goal: str = ""
    decided: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    noted_at: datetime | None = None
    slots: tuple[Slot, ...] = ()
    saved_at: datetime | None = None
    age: Age = Age.NOTHING


def hear(
    mind: Mind, turn: Turn, vectors: Vectors, now: datetime, limits: WorkingLimits, known: bool = False
) -> tuple[Mind, Reading, tuple[Evicted, ...]]:
    """One turn: slots fade by it and those it mentions are livelier; a new topic clears them; the ring takes it up."""
    reading = momentum.read(mind.momentum, turn.text, vectors.asked, vectors.background)
    way = momentum.move(mind.momentum, turn.text, vectors.said, reading, limits.alpha, vectors.asked)
    ring, ripe = sensory.ripen(mind.ring, now, -1.0 if reading.topic is Topic.SWITCH else limits.ring_s)
    now_in, gone = working.tick(mind.working, now, limits.slot_limits)
    for old in ripe:  # before the topic turns: what was said last belongs to what is left behind
        now_in, more = _promote(now_in, old, now, limits.slot_limits)
        gone += more
    now_in, left = working.turn_to(working.mention(now_in, turn.text, now), reading.topic)
    ring, pushed = sensory.hear(ring, turn, now, limits.ring_turns, known)
    for old in pushed:
        now_in, more = _promote(now_in, old, now, limits.slot_limits)
        left += more
    return Mind(ring, now_in, way), reading, gone + left


def settle(mind: Mind, now: datetime, limits: WorkingLimits, turns: int = 0) -> tuple[Mind, tuple[Evicted, ...]]:
    """Time passed: what has aged in the ring comes to mind, and all of it fades."""
    ring, ripe = sensory.ripen(mind.ring, now, limits.ring_s)
    now_in, gone = working.tick(mind.working, now, limits.slot_limits, turns)
    for old in ripe:
        now_in, more = _promote(now_in, old, now, limits.slot_limits)
        gone += more
    return replace(mind, ring=ring, working=now_in), gone


def aged(mind: Mind, saved_at: datetime, now: datetime, limits: WorkingLimits) -> tuple[Mind, Age]:
    """As it is after a pause: as it was, then fainter by the hour, then gone.

    The specification takes off minutes/240, at most 0.8: at four hours, where it begins, that is 0.8 at once, and it stays so.
    Here it grows from nothing at four hours to 0.8 at a day.
    """
    hours = max((now - saved_at).total_seconds() / 3600.0, 0.0)
    if hours >= limits.stale_h:
        return Mind(), Age.DROPPED
    fresh = hours < limits.fresh_h
    kept = 1.0 if fresh else 1.0 - _LOST * (hours - limits.fresh_h) / max(limits.stale_h - limits.fresh_h, 1e-6)
    found = working.weakened(mind.working, kept, 0.0 if fresh else limits.slot_limits.floor, now)
    found, _ = working.fitted(found, limits.slot_limits)
    way = replace(mind.momentum, confidence=mind.momentum.confidence * kept)
    return Mind(Ring(), found, way), Age.FRESH if fresh else Age.DECAYED


def _promote(memory: WorkingMemory, heard: Heard, now: datetime, limits: SlotLimits) -> working.Step:
    text = statement(heard.turn)
    source = SlotSource.TOOL if heard.turn.speaker == "tool" else SlotSource.SAID
    return working.attend(memory, text, now, limits, source=source, activation=0.6, known=heard.known) if text else (memory, ())
