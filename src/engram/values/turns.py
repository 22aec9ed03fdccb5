"""Turns: what was said, verbatim, and those that still wait for a language model."""

from __future__ import annotations

from datetime import datetime

from engram.values.frozen import frozen
from engram.values.identity import Sensitivity


@frozen
class Turn:
    """A verbatim message of a conversation. `ref` is the caller's own id for it."""

    text: str
    speaker: str = "user"
    at: datetime | None = None
    session: str | None = None
    ref: str | None = None
    tier: Sensitivity = Sensitivity.CLEARTEXT  # set by capture


@frozen
class DroppedPiece:
    """A piece of a stored turn of which nothing is kept, with the reason. `piece`: its name for `keep`."""

    piece: str
    words: str
    reason: str
    speaker: str
    at: datetime | None
    session: str


@frozen
class PendingTurn:
    """A turn that a language model has not read yet, with its key and the time since which it waits."""

    key: int
    since: datetime
    turn: Turn
