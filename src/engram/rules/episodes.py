"""Episodes (M4): what counts as a step, what an episode is told as, how much it matters. Pure.

Negative knowledge (M20): what was tried and failed, and what must never be done. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engram.rules.duplicates import likeness, stems
from engram.text.terms import word_set
from engram.types import Memory
from engram.values.episodes import WARNING, Episode, EpisodeEvent, EpisodeOutcome

_OBSERVED = word_set(
    """
    user_message agent_response system_message message said asked answer result tool_result observation saw note state_change
    belief_update decision plan plan_changed goal_achieved goal_failed learned error failed failure
    """
)
"""Types of events in which nothing is done. Every other word names an action: tried, ran, tool_call, edited, asked_for …"""

_ERRORS = frozenset({"error", "failed", "failure", "goal_failed"})

SCORES = {EpisodeOutcome.SUCCESS: 1.0, EpisodeOutcome.PARTIAL: 0.5, EpisodeOutcome.ABANDONED: 0.25, EpisodeOutcome.FAILURE: 0.0}
"""How well it went, for means and expectations."""

_VALENCES = {
    EpisodeOutcome.SUCCESS: 0.6,
    EpisodeOutcome.PARTIAL: 0.2,
    EpisodeOutcome.ABANDONED: -0.2,
    EpisodeOutcome.FAILURE: -0.6,
    EpisodeOutcome.ONGOING: 0.0,
}
_STRIKING = {EpisodeOutcome.SUCCESS: 0.5, EpisodeOutcome.PARTIAL: 0.4, EpisodeOutcome.ABANDONED: 0.4, EpisodeOutcome.FAILURE: 0.9}
_TOLD = 1200
"""Characters of what happened that go into an episode's text: enough to be found by, few enough for a prompt."""


def is_step(event: EpisodeEvent) -> bool:
    """Something that was done, and did not go wrong."""
    return is_attempt(event) and event.ok is not False


def is_attempt(event: EpisodeEvent) -> bool:
    return event.type.casefold() not in _OBSERVED


def is_error(event: EpisodeEvent) -> bool:
    return event.ok is False or event.type.casefold() in _ERRORS


def steps(events: Iterable[EpisodeEvent]) -> tuple[str, ...]:
    """What was done, in order."""
    return tuple(event.text or event.type for event in events if is_step(event))


def trouble(episode: Episode) -> str:
    """What went wrong, in the words of the last error, else of the result."""
    errors = [event.text for event in episode.events if is_error(event) and event.text]
    return episode.result or (errors[-1] if errors else "")


def narrative(goal: str, outcome: EpisodeOutcome, events: Sequence[EpisodeEvent], result: str) -> str:
    """An episode as one text, by which recall finds it: goal, outcome, what happened, how it ended."""
    told, room = [], _TOLD
    for event in events:
        piece = f"{event.type.replace('_', ' ')}: {' '.join(event.text.split())}" if event.text else event.type
        if len(piece) > room:
            told.append("…")
            break
        told.append(piece)
        room -= len(piece)
    parts = [f"{goal.strip().rstrip('.')} ({outcome.value})."]
    parts += [f"{'; '.join(told)}."] if told else []
    parts += [f"In the end: {result.strip()}"] if result.strip() else []
    return " ".join(parts)


def valence_of(outcome: EpisodeOutcome) -> float:
    """How it feels, -1 … 1, where nobody said."""
    return _VALENCES[outcome]


def surprise_of(outcome: EpisodeOutcome, before: Sequence[EpisodeOutcome]) -> float:
    """How far the outcome is from what similar episodes made one expect, 0 … 1. Nothing before: nothing was expected."""
    scored = [SCORES[one] for one in before if one in SCORES]
    if outcome not in SCORES or not scored:
        return 0.0
    expected = (sum(scored) + 0.5) / (len(scored) + 1)  # as if one more had gone either way
    return abs(SCORES[outcome] - expected)


def significance_of(outcome: EpisodeOutcome, surprise: float, novelty: float) -> float:
    """How much an episode matters, 0 … 1: by its outcome, how unexpected that was, that it had a goal, that it was new."""
    return min(0.4 * _STRIKING.get(outcome, 0.0) + 0.3 * surprise + 0.2 + 0.1 * novelty, 1.0)


def novelty_of(goal: str, others: Sequence[str]) -> float:
    """1 for a goal that is like no other, 0 for one that was pursued before."""
    mine = stems(goal)
    return 1.0 - max((likeness(mine, stems(other)) for other in others), default=0.0)


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
