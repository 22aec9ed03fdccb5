"""Display of a memory's lifecycle on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engram.rules.lifecycle import LifecycleState, layer_of
from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec

if TYPE_CHECKING:
    pass


def _moved(result: CommandResult) -> None:
    result.caller.say(f"{result.value.id} is {layer_of(result.value).value} now.")


def _reviewed(result: CommandResult) -> None:
    result.caller.say(f"{result.value.id} is {result.value.status.value} now.")


def _standing(result: CommandResult) -> None:
    standing: LifecycleState = result.value
    terminal.pairs(
        [
            ("layer", standing.layer.value),
            ("sort", standing.sort.value),
            ("lifecycle", standing.lifecycle.value),
            ("verified", standing.verification.value.replace("_", " ")),
            ("kept", standing.policy.value),
            ("figures", f"heat {standing.heat:.2f}, decay {standing.decay:.2f}, strength {standing.strength:.2f}"),
            ("importance", f"{standing.importance:.2f}"),
        ]
    )


COMMANDS = {
    "promote": CommandSpec(show=_moved),
    "demote": CommandSpec(show=_moved),
    "review": CommandSpec(show=_reviewed),
    "standing": CommandSpec(show=_standing),
}
