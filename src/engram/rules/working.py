"""Working memory: the last turns, the slots, the effect of a turn on both, decay after a pause, and bytes to save it as (§3,
§17.5.5). Pure.

Last turns (tier 1) are verbatim and never saved. A turn is handed on to the slots once: when it has aged, or when it is pushed
out before that. An aged turn stays until it is pushed out: "change that to blue" may come after a minute's thought.

Slots (tier 2) are seven plus or minus two statements, each decaying unless it is mentioned again. Slots and tokens never exceed
the limits, and evicted slots are returned with the reason. Decay counts the time since the last tick, not since a slot was last
touched: otherwise each tick would subtract again what the one before had subtracted.

Saved vectors are 16-bit floats: the cosine with the original is .9999998. Bytes in a format of another release are read as
None, not as an error: only the thread of one conversation is lost.
"""

from __future__ import annotations

import math
from base64 import b64decode, b64encode
from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from engram.env import from_micros, to_micros
from engram.rules import topics
from engram.rules.abridgement import content_words, one_level_shorter, shorten, statement
from engram.rules.checkpoints import Checkpoint as Checkpoint
from engram.rules.checkpoints import from_json_bytes, to_json_bytes
from engram.rules.topics import Momentum, Topic, TopicReading, Vector
from engram.text.terms import digest_of
from engram.text.tokens import count
from engram.types import Turn
from engram.values.frozen import field, frozen, replace

_BATCH = 3  # slots that are summarized together
_LEAST_TOKENS = 8  # a slot is not shortened below this, but evicted
_WEAKENING = {Topic.DRIFT: 0.7, Topic.SWITCH: 0.4}
"""Factor of a slot's activation when the topic changes. The specification (§8.7) clears all slots at a switch; but one task goes
through several topics, so what was just attended to survives one switch and fades with the next, unless it is mentioned."""
_TOPIC_FLOOR = 0.2  # activation below which a change of topic evicts a slot (§8.7)
_BOOST = 0.3  # activation gained by a full mention


class SlotSource(StrEnum):
    """The origin of a slot's statement."""

    SAID = "said"
    RECALLED = "recalled"
    TOOL = "tool"
    GOAL = "goal"


class Strategy(StrEnum):
    """The way to make room in a full working memory."""

    EVICT_LOWEST = "evict-lowest"
    COMPRESS_LOWEST = "compress-lowest"
    SUMMARIZE_BATCH = "summarize-batch"
    HIERARCHICAL = "hierarchical"


class EvictionReason(StrEnum):
    """The reason why a slot was evicted: for room, faded, by a change of topic, or replaced by a shorter one."""

    ROOM = "room"
    FADED = "faded"
    TOPIC = "topic"
    SUMMED_UP = "summed up"
    COMPRESSED = "compressed"
    ABRIDGED = "abridged"


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
    """A statement in working memory. `memory_id`: id if it came from a memory, else empty; `known`: the vault has it already."""

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
    """An evicted slot as it was, and the reason."""

    slot: Slot
    reason: EvictionReason

    @property
    def candidate(self) -> bool:
        """True if the slot is to be stored: it is not in the vault already."""
        return not self.slot.memory_id and not self.slot.known


@frozen
class WorkingMemory:
    """The slots, the most active first."""

    slots: tuple[Slot, ...] = ()
    ticked_at: datetime | None = None

    @property
    def tokens(self) -> int:
        return sum(slot.tokens for slot in self.slots)


Transition = tuple[WorkingMemory, tuple[Evicted, ...]]


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
) -> Transition:
    """Add a statement. If it is in a slot already, the slot is refreshed; if it exceeds the token limit, it is shortened."""
    text = shorten(text, limits.tokens)
    if not text:
        return memory, ()
    level = _unit(activation)
    at = _find(memory, text, memory_id)
    if at is not None:
        old = memory.slots[at]
        level = max(level, _unit(old.activation + _BOOST))
        known_id = memory_id or old.memory_id
        slot = Slot(text, source, level, old.entered_at, now, count(text), known_id, known or old.known)
        others = (*memory.slots[:at], *memory.slots[at + 1 :])
    else:
        slot = Slot(text, source, level, now, now, count(text), memory_id, known)
        others = memory.slots
    return _fitted(WorkingMemory((*others, slot), memory.ticked_at or now), limits, newest=slot)


def refresh(memory: WorkingMemory, at: int, now: datetime, boost: float = _BOOST) -> WorkingMemory:
    """Raise the activation of one slot."""
    return _sorted(memory, [_touched(slot, boost, now) if n == at else slot for n, slot in enumerate(memory.slots)])


def mention(memory: WorkingMemory, text: str, now: datetime) -> WorkingMemory:
    """Raise the activation of each slot by the share of its content words that occur in the text."""
    mentioned = {word[:_STEM] for word in content_words(text)}
    return _sorted(memory, [_touched(slot, _BOOST * _share(slot, mentioned), now) for slot in memory.slots])


def tick(memory: WorkingMemory, now: datetime, limits: SlotLimits, turns: int = 1) -> Transition:
    """Apply the time since the last tick and a number of turns: all slots decay, and those below the floor are evicted."""
    since = (now - (memory.ticked_at or now)).total_seconds()
    factor = math.pow(0.5, max(since, 0.0) / limits.half_life_s) * math.pow(limits.tick, max(turns, 0))
    return _without_faint(WorkingMemory(_scaled(memory.slots, factor), now), limits.floor)


def change_topic(memory: WorkingMemory, topic: Topic) -> Transition:
    """Apply a change of topic: it weakens the slots, a switch more than a drift, and evicts faint ones. Goals stay."""
    if topic is Topic.CONTINUATION:
        return memory, ()
    goals = tuple(slot for slot in memory.slots if slot.source is SlotSource.GOAL)
    others = tuple(slot for slot in memory.slots if slot.source is not SlotSource.GOAL)
    weaker = replace(memory, slots=_scaled(others, _WEAKENING[topic]))
    remaining, evicted = _without_faint(weaker, _TOPIC_FLOOR, EvictionReason.TOPIC)
    return _sorted(remaining, [*goals, *remaining.slots]), evicted


def weakened(memory: WorkingMemory, factor: float, floor: float, now: datetime) -> WorkingMemory:
    """Return working memory after a pause: activations times `factor`, without those below the floor, ticked now."""
    return _without_faint(WorkingMemory(_scaled(memory.slots, _unit(factor)), now), floor)[0]


def fit_to(memory: WorkingMemory, limits: SlotLimits) -> Transition:
    """Make working memory fit other limits."""
    return _fitted(memory, limits)


# ── making room ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fitted(memory: WorkingMemory, limits: SlotLimits, newest: Slot | None = None) -> Transition:
    """Make room until the limits hold. Each round removes tokens or slots, so it ends; the newest slot is evicted last."""
    evicted: list[Evicted] = []
    slots = list(memory.slots)
    while len(slots) > limits.slots or sum(slot.tokens for slot in slots) > limits.tokens:
        crowded = len(slots) > limits.slots
        lowest = sorted(slots, key=lambda slot: (slot is newest, slot.activation, slot.touched_at))
        if limits.strategy is Strategy.SUMMARIZE_BATCH and (batch := _batch(lowest, newest)):
            summary = _summary_of(batch)
            slots = [slot for slot in slots if not any(slot is merged for merged in batch)] + [summary]
            evicted += [Evicted(slot, EvictionReason.SUMMED_UP) for slot in batch]
            continue
        shorter = _joined(lowest, newest, limits.strategy) if crowded else _shorter(lowest, limits.strategy)
        if shorter is not None:
            replaced, new = shorter
            slots = [slot for slot in slots if not any(slot is old for old in replaced)] + [new]
            newest = new if any(old is newest for old in replaced) else newest
            reason = EvictionReason.COMPRESSED if limits.strategy is Strategy.COMPRESS_LOWEST else EvictionReason.ABRIDGED
            evicted += [Evicted(old, reason) for old in replaced]
        else:
            slots = [slot for slot in slots if slot is not lowest[0]]
            evicted.append(Evicted(lowest[0], EvictionReason.ROOM))
    return _sorted(memory, slots), tuple(evicted)


def _shorter(lowest: Sequence[Slot], strategy: Strategy) -> tuple[list[Slot], Slot] | None:
    """Return the slot to be shortened and the shorter one, where tokens are short; None if a slot must be evicted instead.

    `compress-lowest` halves the least active slot; `hierarchical` takes a level of detail from the least active that has one.
    """
    if strategy is Strategy.COMPRESS_LOWEST:
        cut = shorten(lowest[0].text, lowest[0].tokens // 2) if lowest[0].tokens >= 2 * _LEAST_TOKENS else ""
        return ([lowest[0]], _with_text(lowest[0], cut)) if cut else None
    if strategy is Strategy.HIERARCHICAL:
        for slot in lowest:
            new = _with_text(slot, one_level_shorter(slot.text))
            if new.tokens < slot.tokens:
                return [slot], new
    return None


def _joined(lowest: Sequence[Slot], newest: Slot | None, strategy: Strategy) -> tuple[list[Slot], Slot] | None:
    """Return the two least active slots and one that holds both, where slots are short; None if a slot must be evicted instead.

    The least active one is shortened as the strategy says; the other stands before it in full.
    """
    pair = [slot for slot in lowest if slot is not newest and slot.source is not SlotSource.GOAL][:2]
    shorter = _shorter(pair[:1], strategy) if len(pair) == 2 else None
    if shorter is None:
        return None
    first = pair[1]
    return pair, _with_text(replace(first, known=True, memory_id=""), f"{first.text} {shorter[1].text}")


def _batch(lowest: Sequence[Slot], newest: Slot | None) -> list[Slot]:
    """Return the least active slots to summarize together; empty if there are fewer than two or they are short."""
    batch = [slot for slot in lowest if slot is not newest and slot.source is not SlotSource.GOAL][:_BATCH]
    return batch if len(batch) > 1 and sum(slot.tokens for slot in batch) >= 2 * _LEAST_TOKENS else []


def _summary_of(batch: Sequence[Slot]) -> Slot:
    """Return one slot for several: the beginning of each, within half of their tokens."""
    room = sum(slot.tokens for slot in batch) // 2
    parts = [shorten(slot.text, max(room // len(batch), 1)) for slot in batch]
    text = shorten(" ".join(part for part in parts if part), room) or batch[-1].text[:1]
    mean = sum(slot.activation for slot in batch) / len(batch)
    entered, touched = min(slot.entered_at for slot in batch), max(slot.touched_at for slot in batch)
    return Slot(text, batch[-1].source, mean, entered, touched, count(text), known=all(slot.known for slot in batch))


def _with_text(slot: Slot, text: str) -> Slot:
    return replace(slot, text=text, tokens=count(text), known=True)  # the slot as it was is handed on to be stored


# ── decay ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

_STEM = 5  # leading letters by which words count as forms of one


def _find(memory: WorkingMemory, text: str, memory_id: str) -> int | None:
    digest = digest_of(text)
    for at, slot in enumerate(memory.slots):
        if (memory_id and slot.memory_id == memory_id) or digest_of(slot.text) == digest:
            return at
    return None


def _share(slot: Slot, mentioned: set[str]) -> float:
    slot_stems = {word[:_STEM] for word in content_words(slot.text)}
    return len(slot_stems & mentioned) / len(slot_stems) if slot_stems else 0.0


def _touched(slot: Slot, boost: float, now: datetime) -> Slot:
    return replace(slot, activation=_unit(slot.activation + boost), touched_at=now) if boost > 0 else slot


def _scaled(slots: Sequence[Slot], factor: float) -> tuple[Slot, ...]:
    return tuple(replace(slot, activation=_unit(slot.activation * factor)) for slot in slots)


def _without_faint(memory: WorkingMemory, floor: float, reason: EvictionReason = EvictionReason.FADED) -> Transition:
    faint = tuple(Evicted(slot, reason) for slot in memory.slots if slot.activation < floor)
    return _sorted(memory, [slot for slot in memory.slots if slot.activation >= floor]), faint


def _sorted(memory: WorkingMemory, slots: Sequence[Slot]) -> WorkingMemory:
    """Return working memory with these slots, the most active first; of equals, the one touched last."""
    return replace(memory, slots=tuple(sorted(slots, key=lambda slot: (slot.activation, slot.touched_at), reverse=True)))


def _unit(value: float) -> float:
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else 0.0


@frozen
class RecentTurn:
    """A turn and its time; `known`: it was also stored in the vault, or must not be."""

    turn: Turn
    at: datetime
    known: bool = False


@frozen
class LastTurns:
    """The last turns, oldest first; the first `handed_on` of them have been handed on."""

    turns: tuple[RecentTurn, ...] = ()
    handed_on: int = 0

    @property
    def waiting(self) -> bool:
        """True if some turns have not been handed on."""
        return len(self.turns) > self.handed_on


def add_turn(
    last_turns: LastTurns, turn: Turn, now: datetime, capacity: int, known: bool = False
) -> tuple[LastTurns, tuple[RecentTurn, ...]]:
    """Add a turn; return the new last turns, and the turns it pushed out that had not been handed on."""
    turns = (*last_turns.turns, RecentTurn(turn, now, known))
    over = max(len(turns) - capacity, 0)
    return LastTurns(turns[over:], max(last_turns.handed_on - over, 0)), turns[last_turns.handed_on : over]


def take_aged(last_turns: LastTurns, now: datetime, after_s: float) -> tuple[LastTurns, tuple[RecentTurn, ...]]:
    """Hand on the turns that are at least `after_s` seconds old; return the new last turns and those turns."""
    limit = now - timedelta(seconds=after_s)
    end = last_turns.handed_on
    while end < len(last_turns.turns) and last_turns.turns[end].at <= limit:
        end += 1
    return LastTurns(last_turns.turns, end), last_turns.turns[last_turns.handed_on : end]


_LOST = 0.8  # activation lost in a pause of `stale_h`; a shorter pause loses a proportional part


class SavedAge(StrEnum):
    """The condition in which a suspended working memory was found."""

    NOTHING = "nothing"  # none was saved
    FRESH = "fresh"
    DECAYED = "decayed"
    DROPPED = "dropped"  # too old to continue with


@frozen
class WorkingState:
    """The last turns, the slots, and the momentum of the conversation. The last turns are not saved with the other two."""

    last_turns: LastTurns = field(default_factory=LastTurns)
    working: WorkingMemory = field(default_factory=WorkingMemory)
    momentum: Momentum = field(default_factory=Momentum)


@frozen(kw_only=True)
class WorkingLimits:
    """The numbers that tune working memory. Slots, tokens, strategy and the pauses are replaced by the user's settings."""

    slot_limits: SlotLimits = field(default_factory=SlotLimits)
    last_turns: int = 20  # last turns held verbatim (§3)
    last_turns_s: float = 30.0  # age at which a held turn becomes a slot (§3)
    alpha: float = 0.3  # weight of a new turn in the running mean of a conversation (§8.6)
    fresh_h: float = 4.0
    stale_h: float = 24.0


@frozen
class TurnVectors:
    """The vectors of a turn encoded as a question and as a passage, and the encoder's background cosine; None without one."""

    asked: Vector | None = None
    said: Vector | None = None
    background: float = 0.0


@frozen(kw_only=True)
class Resumed:
    """The state to resume from: the last checkpoint, however old, and the slots left of the saved working memory."""

    goal: str = ""
    decided: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    noted_at: datetime | None = None
    slots: tuple[Slot, ...] = ()
    saved_at: datetime | None = None
    age: SavedAge = SavedAge.NOTHING


def apply_turn(
    state: WorkingState, turn: Turn, vectors: TurnVectors, now: datetime, limits: WorkingLimits, known: bool = False
) -> tuple[WorkingState, TopicReading, tuple[Evicted, ...]]:
    """Apply a turn: slots decay, those it mentions are boosted, a new topic clears them, and the turn joins the last turns.

    Return the new state, the assessment of the topic, and the evicted slots.
    """
    reading = topics.assess_topic(state.momentum, turn.text, vectors.asked, vectors.background)
    momentum = topics.advance(state.momentum, turn.text, vectors.said, reading, limits.alpha)
    last_turns, aged_turns = take_aged(state.last_turns, now, -1.0 if reading.topic is Topic.SWITCH else limits.last_turns_s)
    memory, evicted = tick(state.working, now, limits.slot_limits)
    for recent in aged_turns:  # before the topic changes: these turns belong to the old topic
        memory, also_evicted = _promote(memory, recent, now, limits.slot_limits)
        evicted += also_evicted
    memory, evicted_after = change_topic(mention(memory, turn.text, now), reading.topic)
    last_turns, pushed_out = add_turn(last_turns, turn, now, limits.last_turns, known)
    for recent in pushed_out:
        memory, also_evicted = _promote(memory, recent, now, limits.slot_limits)
        evicted_after += also_evicted
    return WorkingState(last_turns, memory, momentum), reading, evicted + evicted_after


def pass_time(
    state: WorkingState, now: datetime, limits: WorkingLimits, turns: int = 0
) -> tuple[WorkingState, tuple[Evicted, ...]]:
    """Apply the passing of time: turns that have aged become slots, and all slots decay."""
    last_turns, aged_turns = take_aged(state.last_turns, now, limits.last_turns_s)
    memory, evicted = tick(state.working, now, limits.slot_limits, turns)
    for recent in aged_turns:
        memory, also_evicted = _promote(memory, recent, now, limits.slot_limits)
        evicted += also_evicted
    return replace(state, last_turns=last_turns, working=memory), evicted


def after_pause(state: WorkingState, saved_at: datetime, now: datetime, limits: WorkingLimits) -> tuple[WorkingState, SavedAge]:
    """Return a saved state as it is after a pause: unchanged up to `fresh_h`, then weaker by the hour, empty from `stale_h`.

    The specification subtracts minutes/240, at most 0.8; that is 0.8 at once at four hours, where the decay begins. Here the
    loss grows from nothing at four hours to 0.8 at a day.
    """
    hours = max((now - saved_at).total_seconds() / 3600.0, 0.0)
    if hours >= limits.stale_h:
        return WorkingState(), SavedAge.DROPPED
    fresh = hours < limits.fresh_h
    share = 1.0 if fresh else 1.0 - _LOST * (hours - limits.fresh_h) / max(limits.stale_h - limits.fresh_h, 1e-6)
    memory = weakened(state.working, share, 0.0 if fresh else limits.slot_limits.floor, now)
    memory, _ = fit_to(memory, limits.slot_limits)
    momentum = replace(state.momentum, confidence=state.momentum.confidence * share)
    return WorkingState(LastTurns(), memory, momentum), SavedAge.FRESH if fresh else SavedAge.DECAYED


def _promote(memory: WorkingMemory, recent: RecentTurn, now: datetime, limits: SlotLimits) -> Transition:
    text = statement(recent.turn)
    source = SlotSource.TOOL if recent.turn.speaker == "tool" else SlotSource.SAID
    return attend(memory, text, now, limits, source=source, activation=0.6, known=recent.known) if text else (memory, ())


def state_to_bytes(state: WorkingState, model: str) -> bytes:
    """Return working memory as bytes. `model`: fingerprint of the encoder that made its vectors."""
    momentum, ticked = state.momentum, state.working.ticked_at
    return to_json_bytes(
        {
            "slots": [_slot_to_row(slot) for slot in state.working.slots],
            "ticked": None if ticked is None else to_micros(ticked),
            "model": model,
            "vectors": [_vector_to_text(vector) for vector in (momentum.centroid, momentum.velocity, momentum.last)],
            "way": [momentum.confidence, momentum.turns, momentum.asked, momentum.words],
        }
    )


def state_from_bytes(body: bytes, model: str) -> WorkingState | None:
    """Return stored working memory; None if it cannot be read. Vectors of another encoder are dropped."""
    try:
        stored = from_json_bytes(body)
        ticked = None if stored["ticked"] is None else from_micros(stored["ticked"])
        vectors = [_vector_from_text(vector) if stored["model"] == model else None for vector in stored["vectors"]]
        centroid, velocity, last, *_ = vectors  # older formats have a fourth
        confidence, turns, asked, words = stored["way"]
        mentioned = tuple(tuple(turn) for turn in words)
        momentum = Momentum(centroid, velocity, last, float(confidence), int(turns), bool(asked), mentioned)
        return WorkingState(LastTurns(), WorkingMemory(tuple(_slot_from_row(slot) for slot in stored["slots"]), ticked), momentum)
    except (ValueError, KeyError, TypeError):
        return None


def _slot_to_row(slot: Slot) -> list[Any]:
    moments = to_micros(slot.entered_at), to_micros(slot.touched_at)
    return [slot.text, slot.source.value, slot.activation, *moments, slot.tokens, slot.memory_id, slot.known]


def _slot_from_row(row: list[Any]) -> Slot:
    text, source, activation, entered, touched, tokens, memory_id, *known = row  # older formats have no `known`
    moments = from_micros(entered), from_micros(touched)
    return Slot(text, SlotSource(source), float(activation), *moments, int(tokens), memory_id, bool(known and known[0]))


def _vector_to_text(vector: Vector | None) -> str | None:
    return None if vector is None else b64encode(vector.astype("float16").tobytes()).decode("ascii")


def _vector_from_text(text: str | None) -> Vector | None:
    if text is None:
        return None
    import numpy as np  # late: every command imports this module, few read vectors

    return np.frombuffer(b64decode(text), np.float16).astype(np.float32)
