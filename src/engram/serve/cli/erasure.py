"""The question before a purge, and the display of what it removed."""

from __future__ import annotations

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.serve.operations.erasure import PurgeInput

_PANEL = "Vault"


def _purge_question(given: PurgeInput) -> str:
    return "" if given.dry_run else f"Remove everything of {given.dimension} {given.name!r}, for good?"


def _purged(result: CommandResult) -> None:
    counts = result.value.counts
    if not counts:
        terminal.line("Nothing of that name is here.")
        return
    terminal.pairs([(table, f"{count:,}") for table, count in counts.items()])
    for note in result.value.notes:
        result.caller.remark(f"note: {note}")


COMMANDS = {
    "purge": CommandSpec(panel=_PANEL, show=_purged, whole_vault=True, offers_all=False, confirmation=_purge_question),
}
