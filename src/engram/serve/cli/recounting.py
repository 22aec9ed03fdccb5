"""How episodes, skills and warnings look on a terminal."""

from __future__ import annotations

from engram.kinds import Episode, EpisodeEvent, EpisodeOutcome, Skill, SkillMatch
from engram.serve.cli import show
from engram.serve.cli.commands import Done, Face

_PANEL = "Episodes and skills"


def _begun(done: Done) -> None:
    show.line(done.value.episode.id)
    for warning in done.value.warnings:
        done.asked.remark(f"careful: {show.one_line(warning.text)}")
    for one in done.value.skills:
        done.asked.remark(f"known: {show.one_line(one.skill.memory.text)}")


def _noted(done: Done) -> None:
    done.asked.say("Noted.")


def _ended(done: Done) -> None:
    episode: Episode = done.value
    unexpected = ", which was not to be expected" if episode.memory.surprise > 0.5 else ""
    done.asked.say(f"{episode.id} ended: {episode.outcome.value}{unexpected}.")


def _episode(done: Done) -> None:
    episode: Episode = done.value
    until = show.when(episode.ended_at) or "still going on"
    show.line(episode.goal, style="bold")
    show.line()
    show.pairs(
        [
            ("id", episode.id),
            ("outcome", episode.outcome.value),
            ("result", episode.result),
            ("time", f"{show.when(episode.started_at)} to {until}"),
            ("with", ", ".join(one.name + (f" ({one.role})" if one.role else "") for one in episode.participants)),
            ("context", "\n".join(f"{name} = {value}" for name, value in sorted(episode.memory.attributes.items()))),
            ("weight", f"significance {episode.memory.importance:.2f}, surprise {episode.memory.surprise:.2f}"),
        ]
    )
    if episode.events:
        show.line()
        show.line("Events", style="bold")
        show.pairs([(show.when(one.at), _told(one)) for one in episode.events], indent="  ")


def _told(event: EpisodeEvent) -> str:
    marks = [event.actor] if event.actor else []
    marks += [] if event.ok is None else ["went well" if event.ok else "went wrong"]
    return f"{event.type}: {event.text}" + (f" ({', '.join(marks)})" if marks else "")


def _episodes(done: Done) -> None:
    rows = [
        [one.id, show.when(one.started_at), one.outcome.value, show.many(len(one.events), "event"), one.goal]
        for one in done.value.episodes
    ]
    if rows:
        show.table(["id", "began", "outcome", "events", "goal"], rows)
    else:
        done.asked.remark("No episode was recorded here. `engram begin-episode GOAL` begins one.")
    if any(one.outcome is EpisodeOutcome.ONGOING for one in done.value.episodes):
        done.asked.remark("What is ongoing ends with `engram end-episode ID success`.")


def _skills(done: Done) -> None:
    for number, one in enumerate(done.value.skills):
        if number:
            show.line()
        _skill(one)
    if not done.value.skills:
        done.asked.remark("No skill fits." if done.given.situation else "No skill is known here: it takes three like successes.")


def _skill(one: SkillMatch | Skill) -> None:
    skill = one.skill if isinstance(one, SkillMatch) else one
    done = skill.practice
    show.line(skill.name, style="bold")
    show.pairs(
        [
            ("id", skill.id),
            ("works", f"{done.rate:.0%} ({done.successes} of {show.many(done.executions, 'time')})"),
            ("when", ", ".join(f"{one.name} = {one.value}" for one in skill.preconditions)),
            ("missing", ", ".join(one.unmet) if isinstance(one, SkillMatch) else ""),
            ("steps", "\n".join(f"{n}. {step.text}" for n, step in enumerate(skill.steps, 1))),
            (
                "if it fails",
                "\n".join(f"step {n}: {step.on_failure}" for n, step in enumerate(skill.steps, 1) if step.on_failure),
            ),
            ("learned", "\n".join(one.text for one in skill.refinements)),
            ("has failed", "\n".join(f"{mode.text} ({mode.occurrences}×)" for mode in skill.failure_modes)),
        ]
    )


def _learned(done: Done) -> None:
    done.asked.say(f"{show.many(len(done.value.skills), 'skill')} learned.")
    for skill in done.value.skills:
        _skill(skill)


def _practised(done: Done) -> None:
    done.asked.say(f"{done.value.name}: works {done.value.practice.rate:.0%} of the time.")


def _warnings(done: Done) -> None:
    for memory in done.value.warnings:
        show.line(show.one_line(memory.text))
    if not done.value.warnings:
        done.asked.remark("Nothing is known that speaks against it." if done.given.about else "There are no warnings.")


FACES = {
    "begin_episode": Face(panel=_PANEL, show=_begun, makes=True, everywhere=False, more="A vault that is missing is made."),
    "record": Face(panel=_PANEL, show=_noted, everywhere=False),
    "end_episode": Face(panel=_PANEL, show=_ended, everywhere=False),
    "episode": Face(panel=_PANEL, show=_episode),
    "episodes": Face(panel=_PANEL, show=_episodes, warms=True),
    "skills": Face(panel=_PANEL, show=_skills, warms=True),
    "learn_skills": Face(panel=_PANEL, show=_learned, everywhere=False),
    "practise": Face(panel=_PANEL, show=_practised, everywhere=False),
    "warnings": Face(panel=_PANEL, show=_warnings, warms=True),
}
