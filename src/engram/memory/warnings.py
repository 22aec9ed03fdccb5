"""Negative knowledge (M20): what was tried and failed, and what must never be done. Pure."""

from __future__ import annotations

import re

from engram.kinds import WARNING, Episode
from engram.memory.episodes import is_attempt, trouble
from engram.types import Memory

_FORBIDS = re.compile(
    r"\b(?:must(?:n't| not| never)|(?:are|is|was|were) (?:forbidden|prohibited|not allowed)|no longer allowed"
    r"|under no circumstances|should(?:n't| not| never) (?:be|use|run|touch|do|go|try)|may not be|cannot be used"
    r"|(?:don't|do not|never) [^.;]{1,60} again)\b",
    re.IGNORECASE,
)
"""Said of anything, whoever says it."""
_BIDS_NOT = re.compile(
    r"(?:^|(?<=[.!;:] ))(?:please |ok,? |and )?"
    r"(?:never|don't|do not|avoid|beware|be careful|careful|watch out|stay away|keep away)\b",
    re.IGNORECASE,
)
"""Said to somebody, at the beginning of a sentence: "I never eat fish" is a fact about somebody, and no warning."""
_FAILED = re.compile(
    r"\b(?:tried|attempted|attempts?)\b[^.;]{0,80}\b(?:fail\w*|did(?:n't| not) (?:work|help)|lost|broke|crash\w*|gave (?:it )?up"
    r"|too (?:slow|expensive|flaky|fragile|brittle)|no luck|without success|in vain)\b"
    r"|\b(?:failed because|was a dead end|gave (?:it|that|this) up|did(?:n't| not) work(?: out)? for us"
    r"|turned out (?:to be )?(?:too|broken|wrong|useless|a mistake|un\w+))\b",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(r"\b(?:never|do(?:n't| not)|avoid|beware|careful|should(?:n't| not)|may not)\b", re.IGNORECASE)
_RULES = frozenset({"principle", "decision", "correction", "skill"})
_LABEL = re.compile(r"^[^:\n]{1,40}: ")


def warning_of(episode: Episode) -> str:
    """What a failed episode warns of: the goal, the last thing that was done, and what came of it."""
    done, why = [event.text for event in episode.events if is_attempt(event) and event.text], trouble(episode).strip()
    last = f"; the last thing that was done: {done[-1].strip().rstrip('.')}" if done else ""
    return f"Tried and failed: {episode.goal.strip().rstrip('.')}{last}." + (f" {why}" if why else "")


def warns(memory: Memory) -> bool:
    """Does it say what must not be done, or what was tried and failed?"""
    if memory.category == WARNING:
        return True
    said = _LABEL.sub("", memory.text).replace("’", "'")
    told = memory.category in _RULES and _ANYWHERE.search(said) is not None
    return told or any(pattern.search(said) for pattern in (_FORBIDS, _BIDS_NOT, _FAILED))
