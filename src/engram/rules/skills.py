"""Skills (M7): learned from what similar episodes had in common, matched to a situation, moved by how they do. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from engram.rules.abridgement import telling
from engram.rules.duplicates import LIKE, alike, likeness, stems
from engram.rules.episodes import SCORES, is_error, is_step, steps, trouble
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
"""A word is a cue if this share of the goals has it."""
_THRESHOLD = 0.6
_LEAST_STEPS = 2
_TRUSTED = 0.8
"""A skill that nearly always works is offered even where the context does not say all that it asks for."""
_NOT_ASKED_FOR = frozenset({"skill"})
"""Names in an episode's context that say nothing about the situation."""


@frozen
class Learned:
    """A skill as it was learned, before it is a memory."""

    name: str
    text: str
    cues: tuple[Cue, ...]
    threshold: float
    preconditions: tuple[Precondition, ...]
    steps: tuple[SkillStep, ...]
    practice: Practice
    failure_modes: tuple[FailureMode, ...]


def clusters(episodes: Sequence[Episode], like: float = LIKE) -> list[list[Episode]]:
    """Episodes by their goals: each joins the first group whose first goal is like its own."""
    groups: list[tuple[frozenset[str], list[Episode]]] = []
    for episode in episodes:
        mine = stems(episode.goal)
        home = next((group for theirs, group in groups if likeness(mine, theirs) >= like), None)
        if home is None:
            groups.append((mine, [episode]))
        else:
            home.append(episode)
    return [group for _, group in groups]


def learn(episodes: Sequence[Episode], least: int = 3) -> Learned | None:
    """The skill that similar episodes teach: what the goals, the steps and the contexts of the successes have in common.

    None if fewer than `least` went well, or they have fewer than two steps in common.
    """
    good = [episode for episode in episodes if episode.outcome is EpisodeOutcome.SUCCESS]
    if len(good) < least:
        return None
    cues = _cues([episode.goal for episode in good])
    common = common_steps([steps(episode.events) for episode in good])
    if not cues or len(common) < _LEAST_STEPS:
        return None
    done = tuple(SkillStep(text, _handler(text, episodes)) for text in common)
    name = min((episode.goal for episode in good), key=len).strip().rstrip(".")
    return Learned(
        name=name,
        text=described(name, done),
        cues=cues,
        threshold=_THRESHOLD,
        preconditions=_preconditions(good),
        steps=done,
        practice=_practice(episodes),
        failure_modes=_failures(episodes),
    )


def described(name: str, done: Sequence[SkillStep]) -> str:
    """A skill as one text, by which recall finds it."""
    lines = [f"{number}. {step.text.strip().rstrip('.')}" for number, step in enumerate(done, 1)]
    handlers = [f"If step {n} fails: {step.on_failure.strip().rstrip('.')}." for n, step in enumerate(done, 1) if step.on_failure]
    return " ".join([f"How to {name[:1].lower()}{name[1:]}: {'; '.join(lines)}.", *handlers])


def common_steps(sequences: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The longest common subsequence of all, taken one after the other; steps are the same if they are alike."""
    if not sequences:
        return ()
    shared = tuple(sequences[0])
    for other in sequences[1:]:
        shared = _common(shared, other)
    return shared


def _common(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    best: list[list[tuple[str, ...]]] = [[()] * (len(other) + 1) for _ in range(len(one) + 1)]
    for i, mine in enumerate(one, 1):
        for j, theirs in enumerate(other, 1):
            if alike(mine, theirs):
                best[i][j] = (*best[i - 1][j - 1], mine)
            else:
                best[i][j] = max(best[i - 1][j], best[i][j - 1], key=len)
    return best[-1][-1]


def _cues(goals: Sequence[str]) -> tuple[Cue, ...]:
    """Words that most goals have; the more of them have it, the more it weighs."""
    seen = Counter(stem for goal in goals for stem in stems(goal))
    kept = {stem: count for stem, count in seen.items() if count >= _COMMON * len(goals)}
    whole = sum(kept.values())
    return tuple(Cue(stem, count / whole) for stem, count in sorted(kept.items()))


def _preconditions(good: Sequence[Episode]) -> tuple[Precondition, ...]:
    """What the context of every success said, in the same words."""
    first = good[0].memory.attributes
    shared = {name: value for name, value in first.items() if all(one.memory.attributes.get(name) == value for one in good)}
    return tuple(Precondition(name, value) for name, value in sorted(shared.items()) if name not in _NOT_ASKED_FOR)


def _handler(step: str, episodes: Iterable[Episode]) -> str:
    """What was done right after this step went wrong, in an episode that ended well."""
    for episode in episodes:
        if episode.outcome is not EpisodeOutcome.SUCCESS:
            continue
        for number, event in enumerate(episode.events[:-1]):
            before = [one for one in episode.events[: number + 1] if not is_error(one) or one.ok is False]
            if is_error(event) and before and alike(before[-1].text, step):
                helped = next((one.text for one in episode.events[number + 1 :] if is_step(one)), "")
                if helped and not alike(helped, step):
                    return helped
    return ""


def _practice(episodes: Sequence[Episode]) -> Practice:
    ended = [episode for episode in episodes if episode.outcome in SCORES]
    took = [(one.ended_at - one.started_at).total_seconds() for one in ended if one.ended_at is not None]
    count = Counter(episode.outcome for episode in ended)
    return Practice(
        executions=len(ended),
        successes=count[EpisodeOutcome.SUCCESS],
        failures=count[EpisodeOutcome.FAILURE],
        partials=count[EpisodeOutcome.PARTIAL],
        rate=sum(SCORES[one.outcome] for one in ended) / len(ended) if ended else 0.0,
        seconds=sum(took) / len(took) if took else 0.0,
        used_at=max((one.ended_at for one in ended if one.ended_at is not None), default=None),
    )


def _failures(episodes: Sequence[Episode]) -> tuple[FailureMode, ...]:
    modes: tuple[FailureMode, ...] = ()
    for episode in episodes:
        if episode.outcome is EpisodeOutcome.FAILURE and (why := trouble(episode)):
            modes = _failed_so(modes, why, "", episode.ended_at or episode.started_at)
    return modes


def _failed_so(modes: tuple[FailureMode, ...], why: str, recovery: str, at: datetime) -> tuple[FailureMode, ...]:
    """One more failure: a way of failing that is known counts once more."""
    for number, mode in enumerate(modes):
        if alike(mode.text, why):
            again = replace(
                mode, occurrences=mode.occurrences + 1, last_at=max(mode.last_at, at), recovery=recovery or mode.recovery
            )
            return (*modes[:number], again, *modes[number + 1 :])
    return (*modes, FailureMode(why, recovery, 1, at))


def match(skill: Skill, situation: str, context: Mapping[str, str]) -> SkillMatch | None:
    """How far a situation calls for a skill: the weight of its cues that it names. None under its threshold, or if the context
    does not say what the skill asks for and it does not nearly always work."""
    said = stems(situation).union(*(stems(value) for value in context.values()))
    score = sum(cue.weight for cue in skill.cues if cue.stem in said)
    return fits(skill, score, context) if score >= skill.threshold else None


def fits(skill: Skill, score: float, context: Mapping[str, str]) -> SkillMatch | None:
    """The match, if the context allows it. A context that says nothing forbids nothing."""
    unmet = tuple(f"{one.name} = {one.value}" for one in skill.preconditions if context.get(one.name) != one.value)
    if context and unmet and skill.practice.rate <= _TRUSTED:
        return None
    return SkillMatch(skill, min(score, 1.0), unmet)


def ranked(matches: Iterable[SkillMatch]) -> list[SkillMatch]:
    return sorted(matches, key=lambda one: (-one.score * one.skill.practice.rate, one.skill.id))


def practised(
    skill: Skill, outcome: EpisodeOutcome, result: str, at: datetime, alpha: float, seconds: float | None = None
) -> Skill:
    """The skill after one more use: its rate moves by `alpha` towards how it went, and a failure is a failure mode."""
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
    modes = _failed_so(skill.failure_modes, result.strip(), "", at) if failed else skill.failure_modes
    return replace(skill, practice=practice, failure_modes=modes)


def refined(skill: Skill, episode: Episode, at: datetime) -> Skill:
    """The skill with what this success did differently where something went wrong: it is how to recover from that."""
    if episode.outcome is not EpisodeOutcome.SUCCESS:
        return skill
    known = [step.text for step in skill.steps] + [one.text for one in skill.refinements]
    for number, event in enumerate(episode.events):
        if not is_error(event) or not event.text:
            continue
        helped = next((one.text for one in episode.events[number + 1 :] if is_step(one)), "")
        if not helped or not telling(helped) or any(alike(helped, text) for text in known):
            continue
        skill = replace(
            skill,
            refinements=(*skill.refinements, Refinement(helped, episode.id, at)),
            failure_modes=_failed_so(skill.failure_modes, event.text, helped, at),
        )
        known.append(helped)
    return skill
