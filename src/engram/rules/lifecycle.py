"""Lifecycle (M9): stage, verification, retention policy, heat and decay of a memory; layers and sorts (M8, M13). Pure.

The store holds and changes `status`; everything here is computed from the memory itself, so it cannot be out of date.

Layers: working (current), episodic (events), semantic (knowledge), procedural (rules of action), codebase (facts about code). A
memory is promoted and demoted between layers by its use. Sorts: fact, procedure, narrative; each mode of recall is a set of
sorts.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from engram.errors import InvalidQuery
from engram.rules.strength import fades, importance, retention, strength
from engram.types import Kind, Memory, Mode, Source, Status
from engram.values.episodes import EPISODE, WARNING
from engram.values.frozen import frozen, replace

if TYPE_CHECKING:  # the table of operations imports this module, and must not load the settings
    from engram.settings import Settings


LAYER = "layer"
"""The attribute that assigns a memory to a layer; without it, rules decide."""

RULES = frozenset({"principle", "decision", "skill", "procedure", WARNING})
STORIES = frozenset({"moment", EPISODE})
_CODE = frozenset({"codebase", "code", "file"})
_WORKING_FOR = timedelta(minutes=30)
_WORKING_USES = 2
_IMPORTANT, _OFTEN_USED = 0.7, 5
_FADED, _IN_USE = 0.15, 0.25
"""Retention below which a memory is demoted, and from which it may be promoted; the gap keeps memories from oscillating."""


class Layer(StrEnum):
    WORKING = "working"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"
    CODEBASE = "codebase"


class MemorySort(StrEnum):
    FACT = "fact"
    PROCEDURE = "procedure"
    NARRATIVE = "narrative"


BOOSTS = {Layer.WORKING: 0.3, Layer.EPISODIC: 0.4, Layer.SEMANTIC: 0.8, Layer.PROCEDURAL: 0.8, Layer.CODEBASE: 0.6}
"""The contribution of a layer to importance (K4): lasting knowledge weighs more than single events."""

_LADDER = (Layer.WORKING, Layer.EPISODIC, Layer.SEMANTIC)
_MODES = {
    Mode.FACTS_ONLY: (MemorySort.FACT,),
    Mode.FACTS_PLUS_RULES: (MemorySort.FACT, MemorySort.PROCEDURE),
    Mode.FULL_CONTEXT: tuple(MemorySort),
}


def sort_of(memory: Memory) -> MemorySort:
    """Return the sort of a memory's content."""
    if memory.kind is Kind.SKILL or memory.category in RULES:
        return MemorySort.PROCEDURE
    return MemorySort.NARRATIVE if memory.kind is Kind.EPISODE or memory.category in STORIES else MemorySort.FACT


def in_mode(memory: Memory, mode: Mode) -> bool:
    """True if the mode includes the sort of this memory."""
    return sort_of(memory) in _MODES[mode]


def layer_of(memory: Memory) -> Layer:
    """Return the layer a memory was assigned to, else the one that fits its content."""
    if (assigned := memory.attributes.get(LAYER, "")) in set(Layer):
        return Layer(assigned)
    if memory.category in _CODE:
        return Layer.CODEBASE
    sort = sort_of(memory)
    if sort is MemorySort.PROCEDURE:
        return Layer.PROCEDURAL
    return Layer.EPISODIC if sort is MemorySort.NARRATIVE else Layer.SEMANTIC


def target_layer(memory: Memory, now: datetime, retention_left: float) -> Layer | None:
    """Return the layer a memory should move to by its use and retention; None if it stays, as pinned ones do.

    Idempotent: after the move, a second call at the same moment returns None.
    """
    if memory.pinned:
        return None
    layer = demotion(memory, retention_left)
    while (higher := promotion(memory, now, retention_left)) is not None:
        memory, layer = replace(memory, attributes={**memory.attributes, LAYER: higher.value}), higher
    return layer


def promotion(memory: Memory, now: datetime, retention_left: float = 1.0) -> Layer | None:
    """Return the layer a memory is promoted to, or None.

    A working memory becomes episodic after half an hour or two uses; an important, often used event that has not faded becomes
    semantic.
    """
    layer = layer_of(memory)
    if layer is Layer.WORKING:
        settled = memory.learned_at is not None and now - memory.learned_at >= _WORKING_FOR
        return Layer.EPISODIC if settled or memory.accesses >= _WORKING_USES else None
    if layer is Layer.EPISODIC:
        asked_for = memory.importance >= _IMPORTANT and memory.accesses >= _OFTEN_USED
        return Layer.SEMANTIC if asked_for and retention_left >= _IN_USE else None
    return None


def demotion(memory: Memory, retention_left: float) -> Layer | None:
    """Return EPISODIC for an event that was promoted to semantic and has faded since; else None."""
    raised = memory.attributes.get(LAYER) == Layer.SEMANTIC and sort_of(memory) is MemorySort.NARRATIVE
    return Layer.EPISODIC if raised and retention_left < _FADED and not memory.pinned else None


def above(layer: Layer) -> Layer | None:
    """Return the next higher layer, for promotion on request; None at the top, and for procedural and codebase."""
    return _step(layer, 1)


def below(layer: Layer) -> Layer | None:
    return _step(layer, -1)


def layer_change(step: Callable[[Layer], Layer | None], memory: Memory) -> dict[str, object]:
    """Return the change that moves a memory by a step, `above` or `below`. Raise InvalidQuery if its layer has none there."""
    layer = layer_of(memory)
    target = step(layer)
    if target is None:
        raise InvalidQuery(
            f"a memory of the layer {layer.value!r} cannot be moved that way.", way_out="`engram standing ID` shows its layer."
        )
    return {"attributes": {**memory.attributes, LAYER: target.value}}


def _step(layer: Layer, by: int) -> Layer | None:
    if layer not in _LADDER:
        return None
    at = _LADDER.index(layer) + by
    return _LADDER[at] if 0 <= at < len(_LADDER) else None


_SPECULATIVE = 0.4
_STALE = 0.25
_DOUBTED = 0.35
_AROUSING = 0.5
"""Arousal from which a memory is not archived for its age (§37)."""
_FADING = (Layer.WORKING, Layer.EPISODIC)
_EPHEMERAL_FOR = timedelta(days=30)
_ARCHIVED_AFTER = timedelta(days=90)
_COMMITMENT = "commitment"
_LASTING = frozenset({_COMMITMENT, "preference", "decision", "principle", "correction", WARNING})
"""Categories that are not archived for their age."""


class Lifecycle(StrEnum):
    """The stage of a memory.

    candidate: low confidence and uncorroborated. validated: confirmed by the user. active: in use. stale: a faded event;
    knowledge and rules do not become stale by disuse. archived: not active any more.
    """

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


class RetentionPolicy(StrEnum):
    """The time a memory is kept: ephemeral, a month unless corroborated; protected, until it is forgotten on request."""

    EPHEMERAL = "ephemeral"
    DURABLE = "durable"
    PROTECTED = "protected"


@frozen
class LifecycleState:
    """The lifecycle figures of a memory at one moment. `heat`: how much it is in use; `decay`: how far it has faded; 0 … 1."""

    id: str
    layer: Layer
    sort: MemorySort
    lifecycle: Lifecycle
    verification: Verification
    policy: RetentionPolicy
    heat: float
    decay: float
    strength: float
    importance: float


def lifecycle_state(memory: Memory, now: datetime, settings: Settings) -> LifecycleState:
    layer = layer_of(memory)
    return LifecycleState(
        id=memory.id,
        layer=layer,
        sort=sort_of(memory),
        lifecycle=lifecycle(memory, now, settings),
        verification=verification(memory),
        policy=retention_policy(memory),
        heat=heat(memory, now, settings),
        decay=decay(memory, now, settings),
        strength=strength(memory, now, settings),
        importance=importance(memory, now, settings, layer_boost=BOOSTS[layer]),
    )


class Review(StrEnum):
    """A decision of a person on a memory (M21)."""

    CONFIRM = "confirm"
    CHALLENGE = "challenge"
    DISPUTE = "dispute"
    INVALIDATE = "invalidate"

    @property
    def status(self) -> Status:
        """The status that follows."""
        return {Review.CONFIRM: Status.ACTIVE, Review.INVALIDATE: Status.INVALIDATED}.get(self, Status.CHALLENGED)

    @property
    def past(self) -> str:
        """The decision as a participle, for the history."""
        return f"{self.value}d" if self.value.endswith("e") else f"{self.value}ed"


def review_of(decision: object) -> Review:
    """Return the decision of this name; raise InvalidQuery for any other value."""
    known = {member.value: member for member in Review}
    if not isinstance(decision, str) or decision not in known:
        raise InvalidQuery(f"a review is one of {', '.join(known)}.")
    return known[decision]


def verification(memory: Memory) -> Verification:
    """Return how a memory was verified. More unhelpful than helpful feedback makes it disputed."""
    if memory.status is Status.CHALLENGED or memory.unhelpful > memory.helpful:
        return Verification.DISPUTED
    if memory.helpful or (memory.source is Source.USER and memory.corroborations):
        return Verification.USER_CONFIRMED
    return Verification.SYSTEM_INFERRED if memory.source is Source.INFERRED else Verification.UNVERIFIED


def retention_policy(memory: Memory) -> RetentionPolicy:
    if memory.pinned or not fades(memory) or (memory.category in _LASTING and not _is_ended_commitment(memory)):
        return RetentionPolicy.PROTECTED
    corroborated = memory.corroborations or memory.helpful
    return RetentionPolicy.EPHEMERAL if memory.confidence < _SPECULATIVE and not corroborated else RetentionPolicy.DURABLE


def _is_ended_commitment(memory: Memory) -> bool:
    """True for a commitment with an end date, that is fulfilled or void. An open commitment stays protected."""
    return memory.category == _COMMITMENT and memory.valid_until is not None


def lifecycle(memory: Memory, now: datetime, settings: Settings) -> Lifecycle:
    if memory.status is not Status.ACTIVE and memory.status is not Status.CHALLENGED:
        return Lifecycle.ARCHIVED
    if retention_policy(memory) is RetentionPolicy.EPHEMERAL:
        return Lifecycle.CANDIDATE
    may_fade = retention_policy(memory) is not RetentionPolicy.PROTECTED and layer_of(memory) in _FADING
    if may_fade and retention(memory, now, settings) < _STALE:
        return Lifecycle.STALE
    return Lifecycle.VALIDATED if verification(memory) is Verification.USER_CONFIRMED else Lifecycle.ACTIVE


def heat(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return how much a memory is in use: by recency and frequency, more if it was helpful, less if disputed."""
    often = min(memory.accesses / 10.0, 1.0)
    helped = min(0.05 * memory.helpful, 0.2)
    doubted = _DOUBTED if verification(memory) is Verification.DISPUTED else 0.0
    value = 0.5 * retention(memory, now, settings) + 0.3 * often + 0.2 * memory.importance + helped - doubted
    return min(max(value, 0.0), 1.0)


def decay(memory: Memory, now: datetime, settings: Settings) -> float:
    """Return how far a memory has faded; 0 if it is protected."""
    return 0.0 if retention_policy(memory) is RetentionPolicy.PROTECTED else 1.0 - retention(memory, now, settings)


def archive_reason(memory: Memory, now: datetime, settings: Settings) -> str:
    """Return the reason for archiving a memory, as a phrase for its history; empty if it must stay.

    An uncorroborated guess is archived after 30 days; a commitment 90 days after its end; an event after 90 days if its
    retention is below 0.15, its importance below 0.3, its uses below 3 and its arousal low. Knowledge and rules stay.
    """
    age = timedelta(0) if memory.learned_at is None else now - memory.learned_at
    policy = retention_policy(memory)
    if memory.status is not Status.ACTIVE or policy is RetentionPolicy.PROTECTED:
        return ""
    if policy is RetentionPolicy.EPHEMERAL:
        return "was a guess that nothing corroborated" if age > _EPHEMERAL_FOR else ""
    if _is_ended_commitment(memory):
        over = timedelta(0) if memory.valid_until is None else now - memory.valid_until
        return "was a commitment that ended long ago" if over > _ARCHIVED_AFTER else ""
    minor = memory.importance < 0.3 and memory.accesses < 3 and memory.affect.arousal < _AROUSING
    faded = minor and retention(memory, now, settings) < 0.15
    return "has faded" if age > _ARCHIVED_AFTER and faded and layer_of(memory) in _FADING else ""
