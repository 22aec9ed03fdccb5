"""Display of episodes on a terminal."""

from __future__ import annotations

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.values.episodes import Episode, EpisodeEvent, EpisodeOutcome

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


COMMANDS = {
    "begin_episode": CommandSpec(
        panel=_PANEL, show=_begun, creates_vault=True, offers_all=False, extra_help="A vault that is missing is made."
    ),
    "record": CommandSpec(panel=_PANEL, show=_noted, offers_all=False),
    "end_episode": CommandSpec(panel=_PANEL, show=_ended, offers_all=False),
    "episode": CommandSpec(panel=_PANEL, show=_episode),
    "episodes": CommandSpec(panel=_PANEL, show=_episodes, waits_for_vectors=True),
}
