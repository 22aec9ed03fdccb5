"""Where a memory stands in its life (M9): how far it is to be relied on, how long it is to be kept, how warm it is. Pure.

`status` is what the store keeps and changes; all of this follows from what the memory has, so nothing of it can be out of date.

Layers and sorts of memory (M8, M13): where a memory belongs by what it is and how it is used, and when it moves. Pure.

Layers: working (what is in mind now), episodic (what happened), semantic (what is so), procedural (how to act), codebase (what
the code is like). Sorts: fact, procedure, narrative; recall's modes are made of them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from engram.rules.strength import fades, importance, retention, strength
from engram.types import Kind, Memory, Mode, Source, Status
from engram.values.episodes import EPISODE, WARNING
from engram.values.frozen import frozen, replace

if TYPE_CHECKING:  # a table of operations is made of what stands here, and needs no settings
    from engram.settings import Settings


LAYER = "layer"
"""The attribute by which somebody puts a memory into a layer; without it, rules do."""

RULES = frozenset({"principle", "decision", "skill", "procedure", WARNING})
STORIES = frozenset({"moment", EPISODE})
_CODE = frozenset({"codebase", "code", "file"})
_SETTLES = timedelta(minutes=30)
_HEEDED = 2
_MATTERS, _USED = 0.7, 5
_FADED, _IN_USE = 0.15, 0.25
"""What is left of a memory that sinks, and of one that may rise: between the two it stays, so that nothing goes up and down."""


class Layer(StrEnum):
    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    CODEBASE = "codebase"


class Sort(StrEnum):
    FACT = "fact"
    PROCEDURE = "procedure"
    NARRATIVE = "narrative"


BOOSTS = {Layer.WORKING: 0.3, Layer.EPISODIC: 0.4, Layer.SEMANTIC: 0.8, Layer.PROCEDURAL: 0.8, Layer.CODEBASE: 0.6}
"""What a layer adds to importance (K4): lasting knowledge weighs more than what happened once."""

_LADDER = (Layer.WORKING, Layer.EPISODIC, Layer.SEMANTIC)
_MODES = {
    Mode.FACTS_ONLY: (Sort.FACT,),
    Mode.FACTS_PLUS_RULES: (Sort.FACT, Sort.PROCEDURE),
    Mode.FULL_CONTEXT: tuple(Sort),
}


def sort_of(memory: Memory) -> Sort:
    """What sort of thing it says."""
    if memory.kind is Kind.SKILL or memory.category in RULES:
        return Sort.PROCEDURE
    return Sort.NARRATIVE if memory.kind is Kind.EPISODE or memory.category in STORIES else Sort.FACT


def included(memory: Memory, mode: Mode) -> bool:
    """Is it of a sort that the mode asks for?"""
    return sort_of(memory) in _MODES[mode]


def layer_of(memory: Memory) -> Layer:
    """Where it was put, else where it belongs."""
    if (said := memory.attributes.get(LAYER, "")) in set(Layer):
        return Layer(said)
    if memory.category in _CODE:
        return Layer.CODEBASE
    sort = sort_of(memory)
    return Layer.PROCEDURAL if sort is Sort.PROCEDURE else Layer.EPISODIC if sort is Sort.NARRATIVE else Layer.SEMANTIC


def moved(memory: Memory, now: datetime, left: float) -> Layer | None:
    """The layer that use or the lack of it has brought a memory to (`left`: its retention); None if it stays, as what is pinned
    does. Asked again at the same moment, nothing more moves."""
    if memory.pinned:
        return None
    there = demotion(memory, left)
    while (above_it := promotion(memory, now, left)) is not None:
        memory, there = replace(memory, attributes={**memory.attributes, LAYER: above_it.value}), above_it
    return there


def promotion(memory: Memory, now: datetime, left: float = 1.0) -> Layer | None:
    """The layer it has grown into: what is in mind settles after half an hour or two uses; an event that matters, is asked for
    again and again and has not faded since is knowledge. None if it stays."""
    layer = layer_of(memory)
    if layer is Layer.WORKING:
        settled = memory.learned_at is not None and now - memory.learned_at >= _SETTLES
        return Layer.EPISODIC if settled or memory.accesses >= _HEEDED else None
    if layer is Layer.EPISODIC:
        asked_for = memory.importance >= _MATTERS and memory.accesses >= _USED
        return Layer.SEMANTIC if asked_for and left >= _IN_USE else None
    return None


def demotion(memory: Memory, left: float) -> Layer | None:
    """The layer it has sunk to: an event that was raised to knowledge and has faded (`left`: its retention) is an event again."""
    raised = memory.attributes.get(LAYER) == Layer.SEMANTIC and sort_of(memory) is Sort.NARRATIVE
    return Layer.EPISODIC if raised and left < _FADED and not memory.pinned else None


def above(layer: Layer) -> Layer | None:
    """One step up, on request; None at the top, and for layers that are no step of the ladder."""
    return _step(layer, 1)


def below(layer: Layer) -> Layer | None:
    return _step(layer, -1)


def _step(layer: Layer, by: int) -> Layer | None:
    if layer not in _LADDER:
        return None
    at = _LADDER.index(layer) + by
    return _LADDER[at] if 0 <= at < len(_LADDER) else None


_SPECULATIVE = 0.4
_STALE = 0.25
_DOUBTED = 0.35
_STIRS = 0.5
"""What stirs so much is not let go of for being old (§37)."""
_FADING = (Layer.WORKING, Layer.EPISODIC)
_EPHEMERAL_FOR = timedelta(days=30)
_ARCHIVED_AFTER = timedelta(days=90)
_COMMITMENT = "commitment"
_LASTING = frozenset({_COMMITMENT, "preference", "decision", "principle", "correction", WARNING})
"""Categories that are not let go of for being old."""


class Lifecycle(StrEnum):
    """candidate: not yet believed. validated: borne out by others. active: in use. stale: an event that faded; knowledge
    and rules do not grow stale by not being asked for. archived: put away."""

    CANDIDATE = "candidate"
    VALIDATED = "validated"
    ACTIVE = "active"
    STALE = "stale"
    ARCHIVED = "archived"


class Verification(StrEnum):
    UNVERIFIED = "unverified"
    USER_CONFIRMED = "user_confirmed"
    SYSTEM_INFERRED = "system_inferred"
    DISPUTED = "disputed"


class Keeping(StrEnum):
    """ephemeral: goes after a month unless somebody bears it out. protected: stays until it is taken away."""

    EPHEMERAL = "ephemeral"
    DURABLE = "durable"
    PROTECTED = "protected"


@frozen
class Standing:
    """All of it, at one moment. `heat` is how much it is in use, `decay` how far it has faded, both 0 … 1."""

    id: str
    layer: Layer
    sort: Sort
    lifecycle: Lifecycle
    verification: Verification
    policy: Keeping
    heat: float
    decay: float
    strength: float
    importance: float


def standing(memory: Memory, now: datetime, settings: Settings) -> Standing:
    layer = layer_of(memory)
    return Standing(
        id=memory.id,
        layer=layer,
        sort=sort_of(memory),
        lifecycle=lifecycle(memory, now, settings),
        verification=verification(memory),
        policy=keeping(memory),
        heat=heat(memory, now, settings),
        decay=decay(memory, now, settings),
        strength=strength(memory, now, settings),
        importance=importance(memory, now, settings, layer_boost=BOOSTS[layer]),
    )


def verification(memory: Memory) -> Verification:
    """Whose word stands behind it. What helped nobody more often than it helped is in dispute."""
    if memory.status is Status.CHALLENGED or memory.unhelpful > memory.helpful:
        return Verification.DISPUTED
    if memory.helpful or (memory.source is Source.USER and memory.corroborations):
        return Verification.USER_CONFIRMED
    return Verification.SYSTEM_INFERRED if memory.source is Source.INFERRED else Verification.UNVERIFIED


def keeping(memory: Memory) -> Keeping:
    if memory.pinned or not fades(memory) or (memory.category in _LASTING and not _was_settled(memory)):
        return Keeping.PROTECTED
    borne_out = memory.corroborations or memory.helpful
    return Keeping.EPHEMERAL if memory.confidence < _SPECULATIVE and not borne_out else Keeping.DURABLE


def _was_settled(memory: Memory) -> bool:
    """A commitment that says until when it held: kept, or void. One that is open stays (L)."""
    return memory.category == _COMMITMENT and memory.valid_until is not None


def lifecycle(memory: Memory, now: datetime, settings: Settings) -> Lifecycle:
    if memory.status is not Status.ACTIVE and memory.status is not Status.CHALLENGED:
        return Lifecycle.ARCHIVED
    if keeping(memory) is Keeping.EPHEMERAL:
        return Lifecycle.CANDIDATE
    if keeping(memory) is not Keeping.PROTECTED and layer_of(memory) in _FADING and retention(memory, now, settings) < _STALE:
        return Lifecycle.STALE
    return Lifecycle.VALIDATED if verification(memory) is Verification.USER_CONFIRMED else Lifecycle.ACTIVE


def heat(memory: Memory, now: datetime, settings: Settings) -> float:
    """How much it is in use: how lately and how often, more if it helped, less if it is in dispute."""
    often = min(memory.accesses / 10.0, 1.0)
    helped = min(0.05 * memory.helpful, 0.2)
    doubted = _DOUBTED if verification(memory) is Verification.DISPUTED else 0.0
    value = 0.5 * retention(memory, now, settings) + 0.3 * often + 0.2 * memory.importance + helped - doubted
    return min(max(value, 0.0), 1.0)


def decay(memory: Memory, now: datetime, settings: Settings) -> float:
    """How far it has faded; what is protected does not."""
    return 0.0 if keeping(memory) is Keeping.PROTECTED else 1.0 - retention(memory, now, settings)


def expired(memory: Memory, now: datetime, settings: Settings) -> str:
    """Why it may be put away by now, as a sentence for its history; empty if it may not.

    What nobody bore out goes after 30 days; a commitment 90 days after it was over. The rest goes after 90, if little is left of
    it (0.15), it mattered little (0.3) and was hardly asked for (under 3 times), did not stir, and if it is an event: knowledge
    and rules stay (D).
    """
    age = timedelta(0) if memory.learned_at is None else now - memory.learned_at
    kept = keeping(memory)
    if memory.status is not Status.ACTIVE or kept is Keeping.PROTECTED:
        return ""
    if kept is Keeping.EPHEMERAL:
        return "was a guess that nobody bore out" if age > _EPHEMERAL_FOR else ""
    if _was_settled(memory):
        over = timedelta(0) if memory.valid_until is None else now - memory.valid_until
        return "was a commitment that has long been over" if over > _ARCHIVED_AFTER else ""
    slight = memory.importance < 0.3 and memory.accesses < 3 and memory.affect.arousal < _STIRS
    faded = slight and retention(memory, now, settings) < 0.15
    return "has faded" if age > _ARCHIVED_AFTER and faded and layer_of(memory) in _FADING else ""
