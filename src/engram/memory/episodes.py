"""Episodes (M4): what counts as a step, what an episode is told as, how much it matters. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram.kinds import Episode, EpisodeEvent, EpisodeOutcome
from engram.memory.likeness import likeness, stems
from engram.text.wordlist import word_set

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
