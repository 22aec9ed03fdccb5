"""Display of facts on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.values.entities import Belief


def _learned(result: CommandResult) -> None:
    terminal.line(result.value.id)


def _beliefs(result: CommandResult) -> None:
    print_facts(result.value.beliefs)
    if not result.value.beliefs:
        result.caller.remark("No fact about that is known here.")


def print_facts(facts: Sequence[Belief]) -> None:
    """Print facts as a table; nothing if there is none."""
    if facts:
        rows = [
            [fact.subject, fact.predicate, fact.object, fact.status, terminal.when(fact.since), terminal.when(fact.until)]
            for fact in facts
        ]
        terminal.table(["of", "what", "is", "held", "since", "until"], rows)


COMMANDS = {
    "learn": CommandSpec(show=_learned, extra_help="Prints the id of the memory that holds it."),
    "beliefs": CommandSpec(show=_beliefs),
}
