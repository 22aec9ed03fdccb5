"""Display of capture on a terminal: reports of observe and ingest, and the pieces that were dropped."""

from __future__ import annotations

from engram.serve.cli import terminal
from engram.serve.cli.commands import CommandResult, CommandSpec
from engram.serve.operations.turns import ObserveInput
from engram.types import DroppedPiece, Report, Verdict


def _observed(result: CommandResult) -> None:
    report: Report = result.value
    if report.verdicts:
        rows = [
            [verdict.fate.value, verdict.memory, verdict.reason, _piece(result.given, verdict)] for verdict in report.verdicts
        ]
        terminal.table(["what", "id", "why", "said"], rows, wrap=True)
    _ingested(result)


def _piece(given: ObserveInput, verdict: Verdict) -> str:
    """Return the piece of the input that a verdict is about."""
    exchange = [text for text in (given.user, given.assistant) if text is not None]
    texts = [turn.text for turn in given.turns] or exchange or [given.text or ""]
    return texts[verdict.turn][verdict.start : verdict.end]


def _ingested(result: CommandResult) -> None:
    counts = result.value.counts
    known = f", {counts['known']:,} known before" if counts.get("known") else ""
    result.caller.remark(
        f"{terminal.many(counts['turns'], 'turn')}{known}: {counts['kept']:,} kept, {counts['merged']:,} merged,"
        f" {counts['dropped']:,} dropped."
    )
    changed, taken_back = counts.get("replaced", 0) + counts.get("challenged", 0), counts.get("taken back", 0)
    if changed:
        result.caller.remark(f"{terminal.many(changed, 'earlier statement')} replaced, or marked as possibly outdated.")
    if taken_back:
        result.caller.remark(f"{terminal.many(taken_back, 'statement')} taken back.")
    if waiting := counts.get("pairs to compare at rest"):
        result.caller.remark(f"{terminal.many(waiting, 'pair')} of statements left to compare at rest.")
    for note in result.value.notes:
        result.caller.remark(f"note: {note}")


def _dropped(result: CommandResult) -> None:
    pieces: tuple[DroppedPiece, ...] = result.value.pieces
    if not pieces:
        result.caller.remark("Nothing was dropped in these turns.")
        return
    terminal.table(
        ["piece", "why", "said"], [[one.piece, one.reason, f"{one.speaker}: {one.words}"] for one in pieces], wrap=True
    )
    result.caller.remark(f"{terminal.many(len(pieces), 'piece')} dropped. Keep one with `engram keep PIECE`.")


def _kept(result: CommandResult) -> None:
    terminal.line(result.value.id)


COMMANDS = {
    "dropped": CommandSpec(show=_dropped, offers_all=False),
    "keep": CommandSpec(show=_kept, offers_all=False),
    "observe": CommandSpec(show=_observed, extra_help="A vault that is missing is made.", creates_vault=True, offers_all=False),
    "ingest": CommandSpec(show=_ingested, extra_help="A vault that is missing is made.", creates_vault=True, offers_all=False),
}
