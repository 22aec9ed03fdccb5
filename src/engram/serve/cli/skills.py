"""Display of skills and warnings on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.values.episodes import Skill

_PANEL = "Episodes and skills"


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
    "skills": CommandSpec(panel=_PANEL, show=_skills, waits_for_vectors=True),
    "learn_skills": CommandSpec(panel=_PANEL, show=_learned, offers_all=False),
    "practise": CommandSpec(panel=_PANEL, show=_practised, offers_all=False),
    "warnings": CommandSpec(panel=_PANEL, show=_warnings, waits_for_vectors=True),
}
