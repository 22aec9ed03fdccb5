"""Change numbers of a room's `Weights` or `Limits` for one run of a benchmark: `--tune session_weight=0`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engram.capture.limits import CaptureLimits
from engram.capture.pieces import PieceWeights
from engram.capture.statements import StatementWeights
from engram.dream.limits import DreamLimits
from engram.errors import ConfigInvalid
from engram.index.vectors.tiers import VectorLimits
from engram.recall.weights import RecallWeights
from engram.rules.boxes import BoxLimits
from engram.rules.duplicates import DuplicateWeights
from engram.rules.knowledge import KnowledgeWeights
from engram.rules.skills import SkillWeights
from engram.store.limits import StoreLimits
from engram.values.edges import EdgeWeights
from engram.values.frozen import fields, replace

TUNABLE = (
    RecallWeights,
    VectorLimits,
    StoreLimits,
    EdgeWeights,
    KnowledgeWeights,
    DuplicateWeights,
    BoxLimits,
    SkillWeights,
    CaptureLimits,
    StatementWeights,
    PieceWeights,
    DreamLimits,
)
"""The classes whose numbers a sweep may change; no name stands in two of them."""


def tuning_of(pairs: Iterable[str]) -> list[object]:
    """Return the values of the rooms with these numbers changed, each given as `NAME=VALUE`."""
    values: dict[type, Any] = {kind: kind() for kind in TUNABLE}
    for pair in pairs:
        name, _, text = pair.partition("=")
        kind = next((kind for kind in TUNABLE if name in {field.name for field in fields(kind)}), None)
        if kind is None:
            raise ConfigInvalid(f"there is no number {name!r} to tune.", way_out="Name a field of a room's Weights or Limits.")
        values[kind] = replace(values[kind], **{name: _number(name, text, getattr(values[kind], name))})
    return list(values.values())


def changed(tuning: Iterable[Any]) -> dict[str, object]:
    """Return the numbers that differ from the defaults of their class."""
    return {
        field.name: getattr(value, field.name)
        for value in tuning
        for field in fields(value)
        if getattr(value, field.name) != getattr(type(value)(), field.name)
    }


def _number(name: str, text: str, default: object) -> object:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        return int(text) if isinstance(default, int) else float(text)
    except (ValueError, KeyError):
        raise ConfigInvalid(f"{name} must be like {default!r}, not {text!r}.") from None
