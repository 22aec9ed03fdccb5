"""A checkpoint, and its bytes in the vault: what whoever goes on is told. Needs no numpy, so that a hook reads it at once."""

from __future__ import annotations

import json
from datetime import datetime

from engram.values.frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FORMAT = 1


@frozen(kw_only=True)
class Checkpoint:
    """What was being done, what was decided, what is left open: in the words of whoever hands over."""

    goal: str
    decided: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    at: datetime


def of_checkpoint(checkpoint: Checkpoint, screened: int) -> bytes:
    """`screened`: by which edition of the rules its words were found to be no attack on the model; 0 if by none."""
    return packed({"goal": checkpoint.goal, "decided": checkpoint.decided, "open": checkpoint.open, "screened": screened})


def screened(body: bytes) -> int:
    """By which edition of the rules that was found; 0 if by none, or if it cannot be read."""
    try:
        found = unpacked(body).get("screened", 0)
    except ValueError:
        return 0
    return found if isinstance(found, int) else 0


def to_checkpoint(body: bytes, at: datetime) -> Checkpoint | None:
    """None if another release wrote it."""
    try:
        found = unpacked(body)
        return Checkpoint(goal=found["goal"], decided=tuple(found["decided"]), open=tuple(found["open"]), at=at)
    except (ValueError, KeyError, TypeError):
        return None


def packed(value: dict[str, Any]) -> bytes:
    return json.dumps({"format": _FORMAT, **value}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def unpacked(body: bytes) -> dict[str, Any]:
    found = json.loads(body)
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise ValueError("written by another release")
    return found
