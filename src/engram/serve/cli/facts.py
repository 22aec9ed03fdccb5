"""Display of facts on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.values.entities import Belief, BeliefRevision


def _learned(result: CommandResult) -> None:
    terminal.line(result.value.id)


def _unlearned(result: CommandResult) -> None:
    result.caller.say(f"{result.value.id} no longer states it.")


def _beliefs(result: CommandResult) -> None:
    print_facts(result.value.beliefs)
    if not result.value.beliefs:
        result.caller.remark("No fact about that is known here.")


def print_facts(facts: Sequence[Belief]) -> None:
    """Print facts as a table; nothing if there is none."""
    if facts:
        rows = [
            [
                fact.subject,
                fact.predicate,
                fact.object,
                fact.status,
                f"{fact.strength} {fact.weight:.2f}" if fact.weight else fact.strength,
                terminal.when(fact.since),
                terminal.when(fact.until),
                "; ".join(map(_revision, fact.revisions)),
            ]
            for fact in facts
        ]
        terminal.table(["of", "what", "is", "held", "evidence", "since", "until", "history"], rows)


def _revision(revision: BeliefRevision) -> str:
    relation = revision.relation.replace("_", " ")
    return f"{relation} {revision.object} ({terminal.when(revision.at)}: {revision.reason})"


def _path(result: CommandResult) -> None:
    steps = [
        [step.subject, step.predicate, step.object, terminal.when(step.since), terminal.when(step.until), step.memory]
        for step in result.value.steps
    ]
    if steps:
        terminal.table(["of", "what", "is", "since", "until", "memory"], steps)
    else:
        result.caller.remark("No chain of known facts connects these two.")


COMMANDS = {
    "learn": CommandSpec(show=_learned, extra_help="Prints the id of the memory that holds it."),
    "unlearn": CommandSpec(show=_unlearned),
    "beliefs": CommandSpec(show=_beliefs),
    "path": CommandSpec(show=_path),
}
