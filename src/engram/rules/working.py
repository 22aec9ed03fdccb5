"""What is in mind: seven slots, give or take two, each a statement that fades unless it is mentioned again (§3, tier 2).

A value and its transitions. Whatever happens there are never more slots and tokens than the limits say, and what leaves is
returned with the reason. Fading counts the time since the last tick, not since the slot was last touched: counted from there,
each tick would take off again what the one before had taken.

What was just said: the last turns as they came, in memory only (§3, tier 1).

A turn that has aged is handed on to working memory, and so is one that is pushed out before that; each once. An aged turn stays
until it is pushed out: "change that to blue" may come after a minute's thought.

All that is in mind at once, and what hearing a turn does to it; how it is found again after a pause (§17.5.5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum

from engram.rules import topics
from engram.rules.abridgement import level_down, shorten, statement, telling
from engram.rules.checkpoints import Checkpoint as Checkpoint
from engram.rules.topics import Momentum, Reading, Topic, Vector
from engram.text.terms import digest_of
from engram.text.tokens import count
from engram.types import Turn
from engram.values.frozen import field, frozen, replace

_BATCH = 3  # slots that are summed up together
_LEAST_TOKENS = 8  # a slot is not cut below this: it goes
_DRIFT = 0.7  # of its activation is what a slot keeps when the topic drifts (§8.7)
_DRIFT_FLOOR = 0.2
_WORTH_KEEPING = 0.3  # activation from which what a change of topic pushes out is worth keeping (§8.7)
_BOOST = 0.3  # what a full mention gives


class SlotSource(StrEnum):
    """How a statement came to mind."""

    SAID = "said"
    RECALLED = "recalled"
    TOOL = "tool"
    GOAL = "goal"


class Strategy(StrEnum):
    """What gives way when there is no room."""

    EVICT_LOWEST = "evict-lowest"
    COMPRESS_LOWEST = "compress-lowest"
    SUMMARIZE_BATCH = "summarize-batch"
    HIERARCHICAL = "hierarchical"


class Leaving(StrEnum):
    """Why a slot was let go."""

    ROOM = "room"
    FADED = "faded"
    TOPIC = "topic"
    SUMMED_UP = "summed up"


@frozen
class SlotLimits:
    """Room for slots, and how fast their activation fades (§3)."""

    slots: int = 7
    tokens: int = 1024
    half_life_s: float = 1800.0  # of the activation of a slot that is not mentioned
    tick: float = 0.95  # share of its activation that a slot keeps with each turn
    floor: float = 0.1  # activation below which a slot is evicted
    strategy: Strategy = Strategy.EVICT_LOWEST


@frozen
class Slot:
    """One statement in mind. `memory_id` if it is one that is kept, else empty; `known` if the vault has heard it anyway."""

    text: str
    source: SlotSource
    activation: float
    entered_at: datetime
    touched_at: datetime
    tokens: int
    memory_id: str = ""
    known: bool = False


@frozen
class Evicted:
    """A slot that was let go."""

    slot: Slot
    reason: Leaving

    @property
    def candidate(self) -> bool:
        """Is it worth long-term memory? What came from there, or was heard there, is in it as far as it is worth that; what
        a new topic found faint is not."""
        new = not self.slot.memory_id and not self.slot.known
        return new and (self.reason is not Leaving.TOPIC or self.slot.activation > _WORTH_KEEPING)


@frozen
class WorkingMemory:
    """Slots, the liveliest first."""

    slots: tuple[Slot, ...] = ()
    ticked_at: datetime | None = None

    @property
    def tokens(self) -> int:
        return sum(slot.tokens for slot in self.slots)


Step = tuple[WorkingMemory, tuple[Evicted, ...]]


def attend(
    memory: WorkingMemory,
    text: str,
    now: datetime,
    limits: SlotLimits,
    *,
    source: SlotSource = SlotSource.SAID,
    activation: float = 0.8,
    memory_id: str = "",
    known: bool = False,
) -> Step:
    """Bring a statement to mind. One that is there already is refreshed; one too long for all slots together is shortened."""
    text = shorten(text, limits.tokens)
    if not text:
        return memory, ()
    level = _unit(activation)
    at = _find(memory, text, memory_id)
    if at is not None:
        old = memory.slots[at]
        level = max(level, _unit(old.activation + _BOOST))
        kept = memory_id or old.memory_id
        slot = Slot(text, source, level, old.entered_at, now, count(text), kept, known or old.known)
        others = (*memory.slots[:at], *memory.slots[at + 1 :])
    else:
        slot = Slot(text, source, level, now, now, count(text), memory_id, known)
        others = memory.slots
    return _fitted(WorkingMemory((*others, slot), memory.ticked_at or now), limits, newest=slot)


def refresh(memory: WorkingMemory, at: int, now: datetime, boost: float = _BOOST) -> WorkingMemory:
    """One slot is still of use."""
    return _sorted(memory, [_touched(slot, boost, now) if n == at else slot for n, slot in enumerate(memory.slots)])


def mention(memory: WorkingMemory, text: str, now: datetime) -> WorkingMemory:
    """Something was said: slots that share telling words with it are livelier, by the share of theirs that it has."""
    said = {word[:_STEM] for word in telling(text)}
    return _sorted(memory, [_touched(slot, _BOOST * _share(slot, said), now) for slot in memory.slots])


def tick(memory: WorkingMemory, now: datetime, limits: SlotLimits, turns: int = 1) -> Step:
    """Time passed, and so many turns: all slots fade, and the faint go."""
    since = (now - (memory.ticked_at or now)).total_seconds()
    factor = math.pow(0.5, max(since, 0.0) / limits.half_life_s) * math.pow(limits.tick, max(turns, 0))
    return _without_faint(WorkingMemory(_scaled(memory.slots, factor), now), limits.floor)


def turn_to(memory: WorkingMemory, topic: Topic) -> Step:
    """The topic went on, drifted or was left. A goal stays: it is left by being reached, not by talk of something else."""
    if topic is Topic.CONTINUATION:
        return memory, ()
    goals = tuple(slot for slot in memory.slots if slot.source is SlotSource.GOAL)
    others = tuple(slot for slot in memory.slots if slot.source is not SlotSource.GOAL)
    if topic is Topic.SWITCH:
        return replace(memory, slots=goals), tuple(Evicted(slot, Leaving.TOPIC) for slot in others)
    kept, gone = _without_faint(replace(memory, slots=_scaled(others, _DRIFT)), _DRIFT_FLOOR)
    return _sorted(kept, [*goals, *kept.slots]), gone


def weakened(memory: WorkingMemory, factor: float, floor: float, now: datetime) -> WorkingMemory:
    """As it is found after a pause: fainter at once, and the clock starts anew."""
    return _without_faint(WorkingMemory(_scaled(memory.slots, _unit(factor)), now), floor)[0]


def fitted(memory: WorkingMemory, limits: SlotLimits) -> Step:
    """The same within other limits."""
    return _fitted(memory, limits)


# ── room ───────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fitted(memory: WorkingMemory, limits: SlotLimits, newest: Slot | None = None) -> Step:
    """Each round takes away tokens or slots, so it ends. What was attended to last gives way last."""
    gone: list[Evicted] = []
    slots = list(memory.slots)
    while len(slots) > limits.slots or sum(slot.tokens for slot in slots) > limits.tokens:
        crowded = len(slots) > limits.slots
        lowest = sorted(slots, key=lambda slot: (slot is newest, slot.activation, slot.touched_at))
        if limits.strategy is Strategy.SUMMARIZE_BATCH and (batch := _batch(lowest, newest)):
            summed = _summed_up(batch)
            slots = [slot for slot in slots if not any(slot is one for one in batch)] + [summed]
            gone += [Evicted(slot, Leaving.SUMMED_UP) for slot in batch]
            continue
        shorter = None if crowded else _shorter(lowest, limits.strategy)
        if shorter is not None:
            old, new = shorter
            slots = [new if slot is old else slot for slot in slots]
            newest = new if old is newest else newest
        else:
            slots = [slot for slot in slots if slot is not lowest[0]]
            gone.append(Evicted(lowest[0], Leaving.ROOM))
    return _sorted(memory, slots), tuple(gone)


def _shorter(lowest: Sequence[Slot], strategy: Strategy) -> tuple[Slot, Slot] | None:
    """The slot that gives up words, before and after; None if one has to go."""
    if strategy is Strategy.COMPRESS_LOWEST:
        cut = shorten(lowest[0].text, lowest[0].tokens // 2) if lowest[0].tokens >= 2 * _LEAST_TOKENS else ""
        return (lowest[0], _said_as(lowest[0], cut)) if cut else None
    if strategy is Strategy.HIERARCHICAL:
        for slot in lowest:
            new = _said_as(slot, level_down(slot.text))
            if new.tokens < slot.tokens:
                return slot, new
    return None


def _batch(lowest: Sequence[Slot], newest: Slot | None) -> list[Slot]:
    """The faintest few, if there are at least two that may be summed up, and words to be saved."""
    batch = [slot for slot in lowest if slot is not newest and slot.source is not SlotSource.GOAL][:_BATCH]
    return batch if len(batch) > 1 and sum(slot.tokens for slot in batch) >= 2 * _LEAST_TOKENS else []


def _summed_up(batch: Sequence[Slot]) -> Slot:
    """One slot for several: what each begins with, in half their tokens together."""
    room = sum(slot.tokens for slot in batch) // 2
    parts = [shorten(slot.text, max(room // len(batch), 1)) for slot in batch]
    text = shorten(" ".join(part for part in parts if part), room) or batch[-1].text[:1]
    mean = sum(slot.activation for slot in batch) / len(batch)
    entered, touched = min(slot.entered_at for slot in batch), max(slot.touched_at for slot in batch)
    return Slot(text, batch[-1].source, mean, entered, touched, count(text), known=all(slot.known for slot in batch))


def _said_as(slot: Slot, text: str) -> Slot:
    return replace(slot, text=text, tokens=count(text))


# ── fading ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

_STEM = 5  # letters by which words are taken for forms of one


def _find(memory: WorkingMemory, text: str, memory_id: str) -> int | None:
    digest = digest_of(text)
    for at, slot in enumerate(memory.slots):
        if (memory_id and slot.memory_id == memory_id) or digest_of(slot.text) == digest:
            return at
    return None


def _share(slot: Slot, said: set[str]) -> float:
    own = {word[:_STEM] for word in telling(slot.text)}
    return len(own & said) / len(own) if own else 0.0


def _touched(slot: Slot, boost: float, now: datetime) -> Slot:
    return replace(slot, activation=_unit(slot.activation + boost), touched_at=now) if boost > 0 else slot


def _scaled(slots: Sequence[Slot], factor: float) -> tuple[Slot, ...]:
    return tuple(replace(slot, activation=_unit(slot.activation * factor)) for slot in slots)


def _without_faint(memory: WorkingMemory, floor: float) -> Step:
    faint = tuple(Evicted(slot, Leaving.FADED) for slot in memory.slots if slot.activation < floor)
    return _sorted(memory, [slot for slot in memory.slots if slot.activation >= floor]), faint


def _sorted(memory: WorkingMemory, slots: Sequence[Slot]) -> WorkingMemory:
    """The liveliest first; of equals, what was touched last."""
    return replace(memory, slots=tuple(sorted(slots, key=lambda slot: (slot.activation, slot.touched_at), reverse=True)))


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0


@frozen
class Heard:
    """A turn and when it came; `known` if the vault has heard it too."""

    turn: Turn
    at: datetime
    known: bool = False


@frozen
class Ring:
    """The last turns, oldest first; the first `handed` of them have been handed on."""

    turns: tuple[Heard, ...] = ()
    handed: int = 0

    @property
    def just_said(self) -> Turn | None:
        """The last turn: no search, no store."""
        return self.turns[-1].turn if self.turns else None


def add_turn(ring: Ring, turn: Turn, now: datetime, capacity: int, known: bool = False) -> tuple[Ring, tuple[Heard, ...]]:
    """The ring with one more turn, and what it pushed out that had not been handed on."""
    turns = (*ring.turns, Heard(turn, now, known))
    over = max(len(turns) - capacity, 0)
    return Ring(turns[over:], max(ring.handed - over, 0)), turns[ring.handed : over]


def ripen(ring: Ring, now: datetime, after_s: float) -> tuple[Ring, tuple[Heard, ...]]:
    """Hand on what is `after_s` old or older."""
    limit = now - timedelta(seconds=after_s)
    ripe = ring.handed
    while ripe < len(ring.turns) and ring.turns[ripe].at <= limit:
        ripe += 1
    return Ring(ring.turns, ripe), ring.turns[ring.handed : ripe]


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


def hear_turns(
    mind: Mind, turn: Turn, vectors: Vectors, now: datetime, limits: WorkingLimits, known: bool = False
) -> tuple[Mind, Reading, tuple[Evicted, ...]]:
    """One turn: slots fade by it and those it mentions are livelier; a new topic clears them; the ring takes it up."""
    reading = topics.read(mind.momentum, turn.text, vectors.asked, vectors.background)
    way = topics.move(mind.momentum, turn.text, vectors.said, reading, limits.alpha, vectors.asked)
    ring, ripe = ripen(mind.ring, now, -1.0 if reading.topic is Topic.SWITCH else limits.ring_s)
    now_in, gone = tick(mind.working, now, limits.slot_limits)
    for old in ripe:  # before the topic turns: what was said last belongs to what is left behind
        now_in, more = _promote(now_in, old, now, limits.slot_limits)
        gone += more
    now_in, left = turn_to(mention(now_in, turn.text, now), reading.topic)
    ring, pushed = add_turn(ring, turn, now, limits.ring_turns, known)
    for old in pushed:
        now_in, more = _promote(now_in, old, now, limits.slot_limits)
        left += more
    return Mind(ring, now_in, way), reading, gone + left


def settle(mind: Mind, now: datetime, limits: WorkingLimits, turns: int = 0) -> tuple[Mind, tuple[Evicted, ...]]:
    """Time passed: what has aged in the ring comes to mind, and all of it fades."""
    ring, ripe = ripen(mind.ring, now, limits.ring_s)
    now_in, gone = tick(mind.working, now, limits.slot_limits, turns)
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
    found = weakened(mind.working, kept, 0.0 if fresh else limits.slot_limits.floor, now)
    found, _ = fitted(found, limits.slot_limits)
    way = replace(mind.momentum, confidence=mind.momentum.confidence * kept)
    return Mind(Ring(), found, way), Age.FRESH if fresh else Age.DECAYED


def _promote(memory: WorkingMemory, heard: Heard, now: datetime, limits: SlotLimits) -> Step:
    text = statement(heard.turn)
    source = SlotSource.TOOL if heard.turn.speaker == "tool" else SlotSource.SAID
    return attend(memory, text, now, limits, source=source, activation=0.6, known=heard.known) if text else (memory, ())
