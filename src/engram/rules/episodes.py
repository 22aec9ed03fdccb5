"""Episodes (M4): their steps, narrative, valence, surprise, significance and novelty. Pure.

Also negative knowledge (M20): the warning of a failed episode, and which memories are warnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engram.rules.duplicates import stem_overlap, stems
from engram.text.terms import word_set
from engram.types import Memory
from engram.values.episodes import WARNING, Episode, EpisodeEvent, EpisodeOutcome

_OBSERVED = word_set(
    """
    user_message agent_response system_message message said asked answer result tool_result observation saw note state_change
    belief_update decision plan plan_changed goal_achieved goal_failed learned error failed failure
    """
)
"""Event types that are observations. Every other type names an action: tried, ran, tool_call, edited, asked_for …"""

_ERRORS = frozenset({"error", "failed", "failure", "goal_failed"})

SCORES = {EpisodeOutcome.SUCCESS: 1.0, EpisodeOutcome.PARTIAL: 0.5, EpisodeOutcome.ABANDONED: 0.25, EpisodeOutcome.FAILURE: 0.0}
"""The outcome as a number, for means and expectations."""

_VALENCES = {
    EpisodeOutcome.SUCCESS: 0.6,
    EpisodeOutcome.PARTIAL: 0.2,
    EpisodeOutcome.ABANDONED: -0.2,
    EpisodeOutcome.FAILURE: -0.6,
    EpisodeOutcome.ONGOING: 0.0,
}
_OUTCOME_WEIGHTS = {
    EpisodeOutcome.SUCCESS: 0.5,
    EpisodeOutcome.PARTIAL: 0.4,
    EpisodeOutcome.ABANDONED: 0.4,
    EpisodeOutcome.FAILURE: 0.9,
}
_EVENT_CHARACTERS = 1200
"""Characters of events in a narrative: enough for recall to find the episode, few enough for a prompt."""


def is_step(event: EpisodeEvent) -> bool:
    """True for an action that did not fail."""
    return is_attempt(event) and event.ok is not False


def is_attempt(event: EpisodeEvent) -> bool:
    return event.type.casefold() not in _OBSERVED


def is_error(event: EpisodeEvent) -> bool:
    return event.ok is False or event.type.casefold() in _ERRORS


def steps(events: Iterable[EpisodeEvent]) -> tuple[str, ...]:
    """Return the texts of the successful actions, in order."""
    return tuple(event.text or event.type for event in events if is_step(event))


def failure_reason(episode: Episode) -> str:
    """Return the result of the episode, else the text of its last error."""
    errors = [event.text for event in episode.events if is_error(event) and event.text]
    return episode.result or (errors[-1] if errors else "")


def narrative(goal: str, outcome: EpisodeOutcome, events: Sequence[EpisodeEvent], result: str) -> str:
    """Return an episode as one text, by which recall finds it: goal, outcome, events, result."""
    pieces, room = [], _EVENT_CHARACTERS
    for event in events:
        piece = f"{event.type.replace('_', ' ')}: {' '.join(event.text.split())}" if event.text else event.type
        if len(piece) > room:
            pieces.append("…")
            break
        pieces.append(piece)
        room -= len(piece)
    parts = [f"{goal.strip().rstrip('.')} ({outcome.value})."]
    parts += [f"{'; '.join(pieces)}."] if pieces else []
    parts += [f"In the end: {result.strip()}"] if result.strip() else []
    return " ".join(parts)


def valence_of(outcome: EpisodeOutcome) -> float:
    """Return the default valence of an outcome, -1 … 1."""
    return _VALENCES[outcome]


def surprise_of(outcome: EpisodeOutcome, before: Sequence[EpisodeOutcome]) -> float:
    """Return the distance of an outcome from the mean of similar earlier ones, 0 … 1; 0 if there were none."""
    scored = [SCORES[earlier] for earlier in before if earlier in SCORES]
    if outcome not in SCORES or not scored:
        return 0.0
    expected = (sum(scored) + 0.5) / (len(scored) + 1)  # smoothed by one outcome of 0.5
    return abs(SCORES[outcome] - expected)


def significance_of(outcome: EpisodeOutcome, surprise: float, novelty: float) -> float:
    """Return the significance of an episode, 0 … 1, from outcome, surprise, novelty and a constant for having a goal."""
    return min(0.4 * _OUTCOME_WEIGHTS.get(outcome, 0.0) + 0.3 * surprise + 0.2 + 0.1 * novelty, 1.0)


def novelty_of(goal: str, others: Sequence[str]) -> float:
    """Return 1 for a goal unlike all others, 0 for one that was pursued before."""
    goal_stems = stems(goal)
    return 1.0 - max((stem_overlap(goal_stems, stems(other)) for other in others), default=0.0)


_PROHIBITIONS = re.compile(
    r"\b(?:must(?:n't| not| never)|(?:are|is|was|were) (?:forbidden|prohibited|not allowed)|no longer allowed"
    r"|under no circumstances|should(?:n't| not| never) (?:be|use|run|touch|do|go|try)|may not be|cannot be used"
    r"|(?:don't|do not|never) [^.;]{1,60} again)\b",
    re.IGNORECASE,
)
"""A prohibition anywhere in a text, whoever states it."""
_IMPERATIVES = re.compile(
    r"(?:^|(?<=[.!;:] ))(?:please |ok,? |and )?"
    r"(?:never|don't|do not|avoid|beware|be careful|careful|watch out|stay away|keep away)\b",
    re.IGNORECASE,
)
"""A prohibition as an imperative at the beginning of a sentence: "I never eat fish" is a fact about a person, not a warning."""
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
    """Return the warning of a failed episode: its goal, the last action and the result."""
    actions, reason = (
        [event.text for event in episode.events if is_attempt(event) and event.text],
        failure_reason(episode).strip(),
    )
    last = f"; the last thing that was done: {actions[-1].strip().rstrip('.')}" if actions else ""
    return f"Tried and failed: {episode.goal.strip().rstrip('.')}{last}." + (f" {reason}" if reason else "")


def is_warning(memory: Memory) -> bool:
    """True if a memory states a prohibition or a failed attempt."""
    if memory.category == WARNING:
        return True
    text = _LABEL.sub("", memory.text).replace("’", "'")
    forbids = memory.category in _RULES and _ANYWHERE.search(text) is not None
    return forbids or any(pattern.search(text) for pattern in (_PROHIBITIONS, _IMPERATIVES, _FAILED))
