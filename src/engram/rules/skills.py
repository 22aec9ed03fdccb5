"""Skills (M7): learned from the common steps of similar episodes, matched to a situation, updated by their outcomes. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from engram.rules.abridgement import content_words
from engram.rules.duplicates import LIKE, alike, stem_overlap, stems
from engram.rules.episodes import SCORES, failure_reason, is_error, is_step, steps
from engram.values.episodes import (
    Cue,
    Episode,
    EpisodeOutcome,
    FailureMode,
    Practice,
    Precondition,
    Refinement,
    Skill,
    SkillMatch,
    SkillStep,
)
from engram.values.frozen import frozen, replace

_COMMON = 0.7
"""A word is a cue if it occurs in this share of the goals."""
_THRESHOLD = 0.6
_LEAST_STEPS = 2
_TRUSTED = 0.8
"""Success rate above which a skill is offered even if the context does not meet all its preconditions."""
_NOT_ASKED_FOR = frozenset({"skill"})
"""Attributes of an episode that do not describe the situation."""


@frozen
class LearnedSkill:
    """A learned skill that is not stored yet."""

    name: str
    text: str
    cues: tuple[Cue, ...]
    threshold: float
    preconditions: tuple[Precondition, ...]
    steps: tuple[SkillStep, ...]
    practice: Practice
    failure_modes: tuple[FailureMode, ...]


def clusters(episodes: Sequence[Episode], like: float = LIKE) -> list[list[Episode]]:
    """Group episodes by goal: each joins the first group whose first goal is similar to its own."""
    groups: list[tuple[frozenset[str], list[Episode]]] = []
    for episode in episodes:
        goal_stems = stems(episode.goal)
        group = next((members for group_stems, members in groups if stem_overlap(goal_stems, group_stems) >= like), None)
        if group is None:
            groups.append((goal_stems, [episode]))
        else:
            group.append(episode)
    return [group for _, group in groups]


@frozen(kw_only=True)
class SkillWeights:
    """The numbers that tune how skills are learned and improved (M7)."""

    skill_episodes: int = 3  # similar successes from which a skill is learned
    skill_alpha: float = 0.1  # weight of the latest use in a skill's rate of success


def learn(episodes: Sequence[Episode], least: int = 3) -> LearnedSkill | None:
    """Return the skill that similar episodes teach: the common parts of goals, steps and contexts of the successful ones.

    None if fewer than `least` succeeded, or if they have fewer than two steps in common.
    """
    successes = [episode for episode in episodes if episode.outcome is EpisodeOutcome.SUCCESS]
    if len(successes) < least:
        return None
    cues = _cues([episode.goal for episode in successes])
    shared = common_steps([steps(episode.events) for episode in successes])
    if not cues or len(shared) < _LEAST_STEPS:
        return None
    skill_steps = tuple(SkillStep(text, _handler(text, episodes)) for text in shared)
    name = min((episode.goal for episode in successes), key=len).strip().rstrip(".")
    return LearnedSkill(
        name=name,
        text=skill_text(name, skill_steps),
        cues=cues,
        threshold=_THRESHOLD,
        preconditions=_preconditions(successes),
        steps=skill_steps,
        practice=_practice(episodes),
        failure_modes=_failures(episodes),
    )


def skill_text(name: str, skill_steps: Sequence[SkillStep]) -> str:
    """Return a skill as one text, by which recall finds it."""
    lines = [f"{number}. {step.text.strip().rstrip('.')}" for number, step in enumerate(skill_steps, 1)]
    handlers = [
        f"If step {n} fails: {step.on_failure.strip().rstrip('.')}." for n, step in enumerate(skill_steps, 1) if step.on_failure
    ]
    return " ".join([f"How to {name[:1].lower()}{name[1:]}: {'; '.join(lines)}.", *handlers])


def common_steps(sequences: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the longest common subsequence, folded over the sequences in order; steps are compared by `alike`."""
    if not sequences:
        return ()
    shared = tuple(sequences[0])
    for sequence in sequences[1:]:
        shared = _common(shared, sequence)
    return shared


def _common(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    best: list[list[tuple[str, ...]]] = [[()] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, first_step in enumerate(first, 1):
        for j, second_step in enumerate(second, 1):
            if alike(first_step, second_step):
                best[i][j] = (*best[i - 1][j - 1], first_step)
            else:
                best[i][j] = max(best[i - 1][j], best[i][j - 1], key=len)
    return best[-1][-1]


def _cues(goals: Sequence[str]) -> tuple[Cue, ...]:
    """Return the words that most goals share, weighted by the number of goals."""
    counts = Counter(stem for goal in goals for stem in stems(goal))
    frequent = {stem: count for stem, count in counts.items() if count >= _COMMON * len(goals)}
    total = sum(frequent.values())
    return tuple(Cue(stem, count / total) for stem, count in sorted(frequent.items()))


def _preconditions(successes: Sequence[Episode]) -> tuple[Precondition, ...]:
    """Return the attributes that all successful episodes share with equal values."""
    first = successes[0].memory.attributes
    shared = {
        name: value for name, value in first.items() if all(episode.memory.attributes.get(name) == value for episode in successes)
    }
    return tuple(Precondition(name, value) for name, value in sorted(shared.items()) if name not in _NOT_ASKED_FOR)


def _handler(step: str, episodes: Iterable[Episode]) -> str:
    """Return the action that followed a failure of this step in a successful episode; empty if there was none."""
    for episode in episodes:
        if episode.outcome is not EpisodeOutcome.SUCCESS:
            continue
        for number, event in enumerate(episode.events[:-1]):
            before = [other for other in episode.events[: number + 1] if not is_error(other) or other.ok is False]
            if is_error(event) and before and alike(before[-1].text, step):
                recovery = next((other.text for other in episode.events[number + 1 :] if is_step(other)), "")
                if recovery and not alike(recovery, step):
                    return recovery
    return ""


def _practice(episodes: Sequence[Episode]) -> Practice:
    ended = [episode for episode in episodes if episode.outcome in SCORES]
    durations = [(episode.ended_at - episode.started_at).total_seconds() for episode in ended if episode.ended_at is not None]
    count = Counter(episode.outcome for episode in ended)
    return Practice(
        executions=len(ended),
        successes=count[EpisodeOutcome.SUCCESS],
        failures=count[EpisodeOutcome.FAILURE],
        partials=count[EpisodeOutcome.PARTIAL],
        rate=sum(SCORES[episode.outcome] for episode in ended) / len(ended) if ended else 0.0,
        seconds=sum(durations) / len(durations) if durations else 0.0,
        used_at=max((episode.ended_at for episode in ended if episode.ended_at is not None), default=None),
    )


def _failures(episodes: Sequence[Episode]) -> tuple[FailureMode, ...]:
    modes: tuple[FailureMode, ...] = ()
    for episode in episodes:
        if episode.outcome is EpisodeOutcome.FAILURE and (reason := failure_reason(episode)):
            modes = _add_failure(modes, reason, "", episode.ended_at or episode.started_at)
    return modes


def _add_failure(modes: tuple[FailureMode, ...], reason: str, recovery: str, at: datetime) -> tuple[FailureMode, ...]:
    """Add a failure; a known failure mode is counted once more."""
    for number, mode in enumerate(modes):
        if alike(mode.text, reason):
            updated = replace(
                mode, occurrences=mode.occurrences + 1, last_at=max(mode.last_at, at), recovery=recovery or mode.recovery
            )
            return (*modes[:number], updated, *modes[number + 1 :])
    return (*modes, FailureMode(reason, recovery, 1, at))


def match(skill: Skill, situation: str, context: Mapping[str, str]) -> SkillMatch | None:
    """Return the match of a skill with a situation, scored by the weight of the cues that the situation names.

    None below the skill's threshold, or if the context fails a precondition and the success rate is not high.
    """
    situation_stems = stems(situation).union(*(stems(value) for value in context.values()))
    score = sum(cue.weight for cue in skill.cues if cue.stem in situation_stems)
    return matched(skill, score, context) if score >= skill.threshold else None


def matched(skill: Skill, score: float, context: Mapping[str, str]) -> SkillMatch | None:
    """Return the match if the context meets the preconditions; an empty context meets all of them."""
    unmet = tuple(
        f"{precondition.name} = {precondition.value}"
        for precondition in skill.preconditions
        if context.get(precondition.name) != precondition.value
    )
    if context and unmet and skill.practice.rate <= _TRUSTED:
        return None
    return SkillMatch(skill, min(score, 1.0), unmet)


def ranked(matches: Iterable[SkillMatch]) -> list[SkillMatch]:
    return sorted(matches, key=lambda match: (-match.score * match.skill.practice.rate, match.skill.id))


def after_use(
    skill: Skill, outcome: EpisodeOutcome, result: str, at: datetime, alpha: float, seconds: float | None = None
) -> Skill:
    """Return the skill after one more use: its rate moves by `alpha` towards the outcome, and a failure adds a failure mode."""
    if outcome not in SCORES:
        return skill
    old = skill.practice
    first = old.executions == 0
    practice = Practice(
        executions=old.executions + 1,
        successes=old.successes + (outcome is EpisodeOutcome.SUCCESS),
        failures=old.failures + (outcome is EpisodeOutcome.FAILURE),
        partials=old.partials + (outcome is EpisodeOutcome.PARTIAL),
        rate=SCORES[outcome] if first else old.rate + alpha * (SCORES[outcome] - old.rate),
        seconds=old.seconds if seconds is None else seconds if first else old.seconds + alpha * (seconds - old.seconds),
        used_at=at,
    )
    failed = outcome is EpisodeOutcome.FAILURE and result.strip()
    modes = _add_failure(skill.failure_modes, result.strip(), "", at) if failed else skill.failure_modes
    return replace(skill, practice=practice, failure_modes=modes)


def with_recoveries(skill: Skill, episode: Episode, at: datetime) -> Skill:
    """Return the skill with the recoveries that this successful episode found for its errors."""
    if episode.outcome is not EpisodeOutcome.SUCCESS:
        return skill
    known = [step.text for step in skill.steps] + [other.text for other in skill.refinements]
    for number, event in enumerate(episode.events):
        if not is_error(event) or not event.text:
            continue
        recovery = next((other.text for other in episode.events[number + 1 :] if is_step(other)), "")
        if not recovery or not content_words(recovery) or any(alike(recovery, text) for text in known):
            continue
        skill = replace(
            skill,
            refinements=(*skill.refinements, Refinement(recovery, episode.id, at)),
            failure_modes=_add_failure(skill.failure_modes, event.text, recovery, at),
        )
        known.append(recovery)
    return skill
