"""How what is said and asked looks on a terminal: hearing it, asking what is known; and the command that takes in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from engram.recall.evidence import Evidence, Reasoned
from engram.recall.search import COURTESY
from engram.serve import turns as files
from engram.serve.cli import caller, show
from engram.serve.cli.caller import Caller, Json
from engram.serve.cli.commands import Done, Face
from engram.serve.cli.progress import Tell, progress
from engram.serve.operations.keeping import Observe
from engram.settings import Settings
from engram.types import Hit, LeftOut, Outcome, Recall, Report, Turn, Verdict

if TYPE_CHECKING:
    from engram.engine import Engram

_LEFT_OUT = 10
_MEANING = {
    Outcome.ANSWERED: "",
    Outcome.NOTHING_KNOWN: ": nothing is known about this",
    Outcome.BELOW_THRESHOLD: ": nothing that is known comes near enough",
    Outcome.DEGRADED: ": not all that usually answers did",
}
_JSONL = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def add_to(app: typer.Typer) -> None:
    app.command("import", rich_help_panel="Memories")(import_)


# ── asking ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _recalled(done: Done) -> None:
    found: Recall = done.value
    if done.given.explain:
        _explain(found.hits)
        _left_out(found.left_out)
    elif found.hits:
        show.table(["score", "trust", "when", "id", "text"], [_row(hit) for hit in found], wrap=True)
    if found.quality.strategy != COURTESY:  # else the note says all there is to say
        done.asked.remark(_outcome(found))
    for note in found.notes:
        done.asked.remark(f"note: {note}")


def _explained(done: Done) -> None:
    done.asked.say(f"{done.value.stage.value}: {done.value}")


def _reasoned(done: Done) -> None:
    found: Reasoned = done.value
    _branch(found.evidence, "")
    for gap in found.gaps:
        done.asked.remark(f"gap: nothing is known to {show.one_line(gap)!r}")
    for note in found.notes:
        done.asked.remark(f"note: {note}")


def _branch(one: Evidence, indent: str) -> None:
    show.line(f"{indent}{show.one_line(one.question)}  ({show.one_line(one.why)})", style="bold")
    for hit in one.hits:
        show.line(f"{indent}  {hit.score:.2f}  {hit.memory.id}  {show.one_line(hit.memory.text)}")
    if one.missing:
        show.line(f"{indent}  not found: {show.one_line(', '.join(one.missing))}")
    for part in one.parts:
        _branch(part, indent + "    ")


def _row(hit: Hit) -> list[str]:
    memory = hit.memory
    return [f"{hit.score:.2f}", f"{hit.trust.composite:.2f}", _when(hit), memory.id, memory.text]


def _when(hit: Hit) -> str:
    return show.when(hit.memory.happened_at or hit.memory.learned_at)


def _explain(hits: Sequence[Hit]) -> None:
    for number, hit in enumerate(hits):
        trust = hit.trust
        parts = f"relevance {trust.relevance:.2f}, accuracy {trust.accuracy:.2f}, freshness {trust.freshness:.2f}"
        if number:
            show.line()
        show.line(show.one_line(hit.memory.text), style="bold")
        rows = [
            ("score", f"{hit.score:.2f}"),
            ("trust", f"{trust.composite:.2f} ({parts}, utility {trust.utility:.2f})"),
            ("when", _when(hit)),
            ("id", hit.memory.id),
            ("why", str(hit.why)),
        ]
        show.pairs(rows, indent="  ")


def _left_out(dropped: Sequence[LeftOut]) -> None:
    """The nearest of what is no hit."""
    if dropped:
        show.line()
        show.line("not in the answer", style="bold")
        rows = [[f"{one.score:.2f}", one.stage.value, one.id, one.reason] for one in dropped[:_LEFT_OUT]]
        show.table(["score", "stage", "id", "why"], rows, wrap=True)


def _outcome(found: Recall) -> str:
    counts = [show.many(len(found), "hit")] if found.hits else []
    counts += [f"{found.hidden:,} held back"] if found.hidden else []
    counts += [f"{found.quality.tokens:,} tokens"] if found.quality.tokens else []
    return f"{found.outcome.value}{_MEANING[found.outcome]}" + (f" ({', '.join(counts)})" if counts else "") + "."


# ── hearing ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _observed(done: Done) -> None:
    report: Report = done.value
    if report.verdicts:
        show.table(["what", "id", "why", "said"], [[*_fate(one), _piece(done.given, one)] for one in report.verdicts], wrap=True)
    _ingested(done)


def _fate(one: Verdict) -> tuple[str, str, str]:
    return one.fate.value, one.memory, one.reason


def _piece(given: Observe, one: Verdict) -> str:
    exchange = [text for text in (given.user, given.assistant) if text is not None]
    said = [turn.text for turn in given.turns] or exchange or [given.text or ""]
    return said[one.turn][one.start : one.end]


def _ingested(done: Done) -> None:
    counts = done.value.counts
    known = f", {counts['known']:,} known before" if counts.get("known") else ""
    done.asked.remark(
        f"{show.many(counts['turns'], 'turn')}{known}: {counts['kept']:,} kept, {counts['merged']:,} merged,"
        f" {counts['dropped']:,} dropped."
    )
    for note in done.value.notes:
        done.asked.remark(f"note: {note}")


FACES = {
    "recall": Face(show=_recalled, warms=True),
    "reason": Face(show=_reasoned, warms=True),
    "explain": Face(show=_explained, warms=True),
    "observe": Face(show=_observed, more="A vault that is missing is made.", makes=True, everywhere=False),
    "ingest": Face(show=_ingested, more="A vault that is missing is made.", makes=True, everywhere=False),
}


# ── taking in files ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Refusal:
    """A line that was passed over."""

    file: str
    line: int
    reason: str


@dataclass(slots=True)
class Imported:
    """What became of the files."""

    files: int
    dry_run: bool
    counts: dict[str, int] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    notes: tuple[str, ...] = ()


Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE…",
        exists=True,
        dir_okay=False,
        readable=True,
        show_default=False,
        help="Text, or JSONL of turns (also .gz).",
    ),
]


def import_(
    ctx: typer.Context,
    paths: Files,
    form: Annotated[
        Literal["text", "jsonl"] | None, typer.Option("--format", show_default=False, help="Else by the name: .jsonl is JSONL.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and check everything, keep nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Take in files: a text is one document; JSONL has a turn a line (text, speaker, at, session, ref).

    Turns whose ref is known are passed over, so it can be run again. A line that is no turn is reported and skipped.
    """
    asked = caller.of(ctx, as_json)
    done = Imported(len(paths), dry_run)
    with progress(asked) as tell:
        said = _said(paths, form, asked.live().now, done, _Count(tell).one)
        if dry_run:
            done.counts = _try(said)
        else:
            with asked.open(make=True) as vault:
                _take_in(vault, said, done)
    if asked.json:
        show.data(done)
    else:
        _imported(asked, done)
    if done.refused:
        raise typer.Exit(1)


@dataclass(slots=True)
class _Count:
    tell: Tell
    turns: int = 0

    def one(self, file: str) -> None:
        self.turns += 1
        if self.turns % 16 == 1:
            self.tell(f"{self.turns:,} turns, {file}", None)


def _said(
    paths: Sequence[Path], form: str | None, settings: Settings, done: Imported, heard: Callable[[str], None]
) -> Iterator[Turn]:
    for path in paths:
        jsonl = form == "jsonl" if form else path.name.lower().endswith(_JSONL)

        def refused(line: int, reason: str, name: str = str(path)) -> None:
            done.refused.append(Refusal(name, line, reason))

        for turn in (files.read_turns if jsonl else files.read_document)(path, settings, refused):
            heard(path.name)
            yield turn


def _take_in(vault: Engram, said: Iterator[Turn], done: Imported) -> None:
    report = vault.ingest(said)
    done.counts, done.notes = dict(report.counts), report.notes


def _try(said: Iterator[Turn]) -> dict[str, int]:
    """What would be heard, without a vault: nothing is known yet, so nothing is merged."""
    from engram.capture.propositions import propositions  # start-up time of every other command

    counts = {"turns": 0, "kept": 0, "merged": 0, "dropped": 0, "known": 0}
    previous: dict[str, Turn] = {}
    for turn in said:
        found, dropped = propositions(turn, previous=previous.get(turn.session or ""))
        previous[turn.session or ""] = turn
        for name, number in (("turns", 1), ("kept", len(found)), ("dropped", len(dropped))):
            counts[name] += number
    return counts


def _imported(asked: Caller, done: Imported) -> None:
    for one in done.refused:
        show.remark(f"{one.file}, line {one.line}: {one.reason}; skipped.")
    counts = done.counts
    heard = show.many(counts["turns"], "turn")
    if done.dry_run:
        asked.say(
            f"{heard} would be heard: {counts['kept']:,} statements, {counts['dropped']:,} pieces dropped. Nothing was kept."
        )
    else:
        known = f" {counts['known']:,} were known." if counts["known"] else ""
        asked.say(f"{heard} heard: {counts['kept']:,} kept, {counts['merged']:,} merged, {counts['dropped']:,} dropped.{known}")
    if done.refused:
        asked.remark(f"{show.many(len(done.refused), 'line')} skipped.")
    for note in done.notes:
        asked.remark(f"note: {note}")
