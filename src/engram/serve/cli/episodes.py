"""Display of episodes, skills and warnings on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.values.episodes import Episode, EpisodeEvent, EpisodeOutcome, Skill

_PANEL = "Episodes and skills"


def _begun(result: CommandResult) -> None:
    terminal.line(result.value.episode.id)
    for warning in result.value.warnings:
        result.caller.remark(f"careful: {terminal.one_line(warning.text)}")
    for match in result.value.skills:
        result.caller.remark(f"known: {terminal.one_line(match.skill.memory.text)}")


def _noted(result: CommandResult) -> None:
    result.caller.say("Noted.")


def _ended(result: CommandResult) -> None:
    episode: Episode = result.value
    unexpected = ", unexpectedly" if episode.memory.surprise > 0.5 else ""
    result.caller.say(f"{episode.id} ended: {episode.outcome.value}{unexpected}.")


def _episode(result: CommandResult) -> None:
    episode: Episode = result.value
    until = terminal.when(episode.ended_at) or "still going on"
    terminal.line(episode.goal, style="bold")
    terminal.line()
    terminal.pairs(
        [
            ("id", episode.id),
            ("outcome", episode.outcome.value),
            ("result", episode.result),
            ("time", f"{terminal.when(episode.started_at)} to {until}"),
            ("with", ", ".join(who.name + (f" ({who.role})" if who.role else "") for who in episode.participants)),
            ("context", "\n".join(f"{name} = {value}" for name, value in sorted(episode.memory.attributes.items()))),
            ("weight", f"significance {episode.memory.importance:.2f}, surprise {episode.memory.surprise:.2f}"),
        ]
    )
    if episode.events:
        terminal.line()
        terminal.line("Events", style="bold")
        terminal.pairs([(terminal.when(event.at), _event(event)) for event in episode.events], indent="  ")


def _event(event: EpisodeEvent) -> str:
    marks = [event.actor] if event.actor else []
    marks += [] if event.ok is None else ["went well" if event.ok else "went wrong"]
    return f"{event.type}: {event.text}" + (f" ({', '.join(marks)})" if marks else "")


def _episodes(result: CommandResult) -> None:
    rows = [
        [
            episode.id,
            terminal.when(episode.started_at),
            episode.outcome.value,
            terminal.many(len(episode.events), "event"),
            episode.goal,
        ]
        for episode in result.value.episodes
    ]
    if rows:
        terminal.table(["id", "began", "outcome", "events", "goal"], rows)
    else:
        result.caller.remark("No episode was recorded here. `engram begin-episode GOAL` begins one.")
    if any(episode.outcome is EpisodeOutcome.ONGOING for episode in result.value.episodes):
        result.caller.remark("What is ongoing ends with `engram end-episode ID success`.")


def _skills(result: CommandResult) -> None:
    for number, match in enumerate(result.value.skills):
        if number:
            terminal.line()
        _skill(match.skill, match.unmet)
    if not result.value.skills:
        result.caller.remark(
            "No skill fits." if result.given.situation else "No skill is known here: it takes three like successes."
        )


def _skill(skill: Skill, unmet: Sequence[str] = ()) -> None:
    practice = skill.practice
    terminal.line(skill.name, style="bold")
    terminal.pairs(
        [
            ("id", skill.id),
            ("works", f"{practice.rate:.0%} ({practice.successes} of {terminal.many(practice.executions, 'time')})"),
            ("when", ", ".join(f"{condition.name} = {condition.value}" for condition in skill.preconditions)),
            ("missing", ", ".join(unmet)),
            ("steps", "\n".join(f"{n}. {step.text}" for n, step in enumerate(skill.steps, 1))),
            (
                "if it fails",
                "\n".join(f"step {n}: {step.on_failure}" for n, step in enumerate(skill.steps, 1) if step.on_failure),
            ),
            ("learned", "\n".join(refinement.text for refinement in skill.refinements)),
            ("has failed", "\n".join(f"{mode.text} ({mode.occurrences}×)" for mode in skill.failure_modes)),
        ]
    )


def _learned(result: CommandResult) -> None:
    result.caller.say(f"{terminal.many(len(result.value.skills), 'skill')} learned.")
    for skill in result.value.skills:
        _skill(skill)


def _practised(result: CommandResult) -> None:
    result.caller.say(f"{result.value.name}: works {result.value.practice.rate:.0%} of the time.")


def _warnings(result: CommandResult) -> None:
    for memory in result.value.warnings:
        terminal.line(terminal.one_line(memory.text))
    if not result.value.warnings:
        result.caller.remark("Nothing is known that speaks against it." if result.given.about else "There are no warnings.")


COMMANDS = {
    "begin_episode": CommandSpec(
        panel=_PANEL, show=_begun, creates_vault=True, offers_all=False, extra_help="A vault that is missing is made."
    ),
    "record": CommandSpec(panel=_PANEL, show=_noted, offers_all=False),
    "end_episode": CommandSpec(panel=_PANEL, show=_ended, offers_all=False),
    "episode": CommandSpec(panel=_PANEL, show=_episode),
    "episodes": CommandSpec(panel=_PANEL, show=_episodes, waits_for_vectors=True),
    "skills": CommandSpec(panel=_PANEL, show=_skills, waits_for_vectors=True),
    "learn_skills": CommandSpec(panel=_PANEL, show=_learned, offers_all=False),
    "practise": CommandSpec(panel=_PANEL, show=_practised, offers_all=False),
    "warnings": CommandSpec(panel=_PANEL, show=_warnings, waits_for_vectors=True),
}
