"""Display of background passes on a terminal."""

from __future__ import annotations

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.values.dreams import Pass, PassReport, PassStatus

_PANEL = "At rest"


def _rested(result: CommandResult) -> None:
    report: PassReport = result.value
    changed = [(what.replace(".", ": "), f"{len(ids):,}") for what, ids in report.changes.items()]
    looked = max((count for what, count in report.counts.items() if what.endswith(".visited")), default=0)
    terminal.pairs([("looked at", f"{looked:,}"), *(changed or [("changed", "nothing")]), *_figures(report)])
    for note in report.notes:
        terminal.line(note)
    if report.ending is PassStatus.DONE and report.ids:
        result.caller.remark(f"`engram undo-dream {report.pass_id}` takes it back.")


def _figures(report: PassReport) -> list[tuple[str, str]]:
    if report.before is None:
        return []
    return [("own questions answered", f"{report.before:.0%} before" + _after(report.after))]


def _after(share: float | None) -> str:
    return "" if share is None else f", {share:.0%} after"


def _undone(result: CommandResult) -> None:
    result.caller.say(f"{terminal.many(result.value.counts['restored'], 'memory', 'memories')} changed back.")
    for note in result.value.notes:
        result.caller.remark(f"note: {note}")


def _dreams(result: CommandResult) -> None:
    columns = ("id", "when", "verb", "ended", "own questions", "changed")
    terminal.table(columns, [_row(past) for past in result.value.passes], wrap=True)
    if not result.value.passes:
        result.caller.remark("Nothing was done at rest yet.")


def _row(past: Pass) -> list[str]:
    changed = ", ".join(f"{what} {count:,}" for what, count in past.counts.items()) or "nothing"
    shares = "" if past.before is None else f"{past.before:.0%} before{_after(past.after)}"
    return [past.id, terminal.when(past.began_at), past.verb, past.ending.value, shares, changed]


COMMANDS = {
    "consolidate": CommandSpec(panel=_PANEL, show=_rested, whole_vault=True, waits_for_vectors=True),
    "dream": CommandSpec(panel=_PANEL, show=_rested, whole_vault=True, waits_for_vectors=True),
    "undo_dream": CommandSpec(panel=_PANEL, show=_undone, whole_vault=True),
    "dreams": CommandSpec(panel=_PANEL, show=_dreams, whole_vault=True),
}
