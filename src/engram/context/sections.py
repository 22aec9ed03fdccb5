"""The sections of a context window: their names, and by profile the share, priority and fewest tokens of each."""

from __future__ import annotations

from collections.abc import Mapping

from engram.values.frozen import frozen


@frozen
class SectionShare:
    """The claim of a section: its share of the budget, its priority (higher goes first), and the fewest tokens of use."""

    name: str
    share: float
    priority: int
    least: int = 0


@frozen
class WindowProfile:
    """The sections of a window for one sort of run; `captures` is False if its turns are not remembered."""

    name: str
    claims: tuple[SectionShare, ...]
    captures: bool = True


MORNING, WORKING, RECALLED, UNKNOWN, HISTORY = "morning", "working", "recalled", "unknown", "history"

EXTRA_SECTIONS = (SectionShare(MORNING, 0.15, 2, 0), SectionShare(UNKNOWN, 0.05, 0, 0))
"""Sections that every profile has if they are not empty: the briefing after a break, and what is not known."""


def _profile(name: str, working: float, recalled: float, history: float, *, captures: bool = True) -> WindowProfile:
    claims = (SectionShare(WORKING, working, 3, 32), SectionShare(RECALLED, recalled, 2, 64), SectionShare(HISTORY, history, 1))
    return WindowProfile(name, claims, captures)


PROFILES: Mapping[str, WindowProfile] = {
    profile.name: profile
    for profile in (
        _profile("chat", working=0.15, recalled=0.40, history=0.45),
        _profile("task", working=0.20, recalled=0.50, history=0.30),
        _profile("cron", working=0.10, recalled=0.80, history=0.10),
        _profile("orchestrator", working=0.20, recalled=0.45, history=0.35),
        _profile("swarm", working=0.15, recalled=0.55, history=0.30),
        _profile("flow", working=0.15, recalled=0.65, history=0.20, captures=False),
    )
}


@frozen
class Section:
    """A part of the prompt: the tokens it was granted, the tokens it took, and its text."""

    name: str
    granted: int
    tokens: int
    text: str
