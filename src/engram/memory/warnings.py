"""Negative knowledge (M20): what was tried and failed, and what must never be done. Pure."""

from __future__ import annotations

import re

from engram.kinds import WARNING, Episode
from engram.memory.episodes import is_attempt, trouble
from engram.types import Memory

_FORBIDS = re.compile(
    r"\b(?:never|must(?:n't| not)|do(?:n't| not)|(?:are|is|was|were) (?:forbidden|prohibited|not allowed)|no longer allowed"
    r"|avoid|should(?:n't| not)|may not|cannot be used|beware|careful)\b",
    re.IGNORECASE,
)
_RULES = frozenset({"principle", "decision", "correction", "skill"})
"""Categories whose statements tell how to act: "I never eat fish" is a fact about somebody, and no rule."""


def warning_of(episode: Episode) -> str:
    """What a failed episode warns of: the goal, the last thing that was done, and what came of it."""
    done, why = [event.text for event in episode.events if is_attempt(event) and event.text], trouble(episode).strip()
    last = f"; the last thing that was done: {done[-1].strip().rstrip('.')}" if done else ""
    return f"Tried and failed: {episode.goal.strip().rstrip('.')}{last}." + (f" {why}" if why else "")


def warns(memory: Memory) -> bool:
    """Does it say what must not be done? A warning does, and so does a rule that forbids something."""
    return memory.category == WARNING or (memory.category in _RULES and _FORBIDS.search(memory.text) is not None)
