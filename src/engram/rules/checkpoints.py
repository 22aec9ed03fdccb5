"""Checkpoints and their bytes in the vault. Needs no numpy, so that a hook can read one without loading it."""

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
    """Goal, decisions and open questions of the work, in the words of whoever saved them."""

    goal: str
    decided: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    at: datetime


def checkpoint_to_bytes(checkpoint: Checkpoint, screened_version: int) -> bytes:
    """Return a checkpoint as bytes.

    screened: version of the injection rules that found its text clean; 0 if none did.
    """
    return to_json_bytes(
        {"goal": checkpoint.goal, "decided": checkpoint.decided, "open": checkpoint.open, "screened": screened_version}
    )


def screened_version(body: bytes) -> int:
    """Return the version of the injection rules that found a stored checkpoint clean; 0 if none did, or it is unreadable."""
    try:
        version = from_json_bytes(body).get("screened", 0)
    except ValueError:
        return 0
    return version if isinstance(version, int) else 0


def checkpoint_from_bytes(body: bytes, at: datetime) -> Checkpoint | None:
    """Return a stored checkpoint; None if it was written in a format this release does not know."""
    try:
        fields = from_json_bytes(body)
        return Checkpoint(goal=fields["goal"], decided=tuple(fields["decided"]), open=tuple(fields["open"]), at=at)
    except (ValueError, KeyError, TypeError):
        return None


def to_json_bytes(value: dict[str, Any]) -> bytes:
    return json.dumps({"format": _FORMAT, **value}, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def from_json_bytes(body: bytes) -> dict[str, Any]:
    fields = json.loads(body)
    if not isinstance(fields, dict) or fields.get("format") != _FORMAT:
        raise ValueError("written by another release")
    return fields
