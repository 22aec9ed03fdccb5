"""Turns as they are heard: cleaned, read as statements, and a reason for every piece that is none. Pure."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass, replace

from engram.capture import marks, signals
from engram.capture.propositions import propositions
from engram.capture.sift import Candidate
from engram.guard import secrets
from engram.settings import Settings
from engram.types import Turn, Verdict

Previous = MutableMapping[str, Turn | None]
"""The last turn of each session."""


@dataclass(slots=True)
class Heard:
    """What came in, as it may be archived; its statements; what was dropped; what there is to say about it."""

    turns: list[Turn]
    candidates: list[Candidate]
    verdicts: list[Verdict]
    notes: tuple[str, ...]
    urgent: tuple[str, ...]  # sessions in which something was said that should not wait


def hear(said: Sequence[Turn], previous: Previous, settings: Settings, *, scan: bool = False) -> Heard:
    """Read turns that have their time and session. What must not be kept is out of all that goes on from here.

    `scan`: find out what should not wait, for when something waits at all.
    """
    heard = Heard([], [], [], (), ())
    notes: dict[str, None] = {}
    urgent: dict[str, None] = {}
    for number, turn in enumerate(said):
        left = marks.cut(turn.text, catch_secrets=settings.catch_secrets)
        clean = turn if left.text == turn.text else replace(turn, text=left.text)
        session = turn.session or ""
        found, dropped = propositions(turn, previous=previous.get(session), number=number, left=left)
        previous[session] = clean if session else None
        heard.turns.append(clean)
        heard.verdicts += dropped
        heard.candidates += [Candidate(one, number) for one in found]
        notes |= dict.fromkeys(left_out(left))
        if scan and signals.scan(clean.text, clean.speaker).level is signals.Level.HIGH:
            urgent[session] = None
    heard.notes, heard.urgent = tuple(notes), tuple(urgent)
    return heard


def left_out(left: marks.Cut) -> list[str]:
    """A sentence for each sort of secret that was taken out."""
    return [f"{secrets.NAMES[sort]} was left out." for sort in dict.fromkeys(p.secret for p in left.removed) if sort]
