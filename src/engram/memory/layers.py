"""Layers and sorts of memory (M8, M13): where a memory belongs by what it is and how it is used, and when it moves. Pure.

Layers: working (what is in mind now), episodic (what happened), semantic (what is so), procedural (how to act), codebase (what
the code is like). Sorts: fact, procedure, narrative; recall's modes are made of them.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum

from engram.frozen import replace
from engram.kinds import EPISODE, WARNING
from engram.types import Kind, Memory, Mode

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
