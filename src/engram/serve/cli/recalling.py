"""Commands on what is said: hear it, take in files of it, ask what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from engram.capture.propositions import propositions
from engram.engine import Engram
from engram.serve import turns as files
from engram.serve.cli import caller, show
from engram.serve.cli.caller import All, BadCall, Caller, Json
from engram.serve.cli.progress import Tell, progress
from engram.serve.warm import warm
from engram.settings import Settings
from engram.types import Hit, LeftOut, Mode, Outcome, Recall, Report, Turn

_PATIENCE_S = 30.0
_LEFT_OUT = 10
_MEANING = {
    Outcome.ANSWERED: "",
    Outcome.NOTHING_KNOWN: ": nothing is known about this",
    Outcome.BELOW_THRESHOLD: ": nothing that is known comes near enough",
    Outcome.DEGRADED: ": not all that usually answers did",
}
_JSONL = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def add_to(app: typer.Typer) -> None:
    commands: dict[str, Callable[..., None]] = {
        "recall": recall,
        "observe": observe,
        "import": import_,
        "feedback": feedback,
    }
    for name, command in commands.items():
        app.command(name, rich_help_panel="Memories")(command)


# ── asking ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def recall(
    ctx: typer.Context,
    question: Annotated[list[str], typer.Argument(show_default=False, help="What to ask; a single - reads standard input.")],
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, help="How many at most; else as many as are worth it.")
    ] = None,
    budget: Annotated[int | None, typer.Option(min=1, help="Tokens that the answer may have.")] = None,
    mode: Annotated[Mode | None, typer.Option(show_default=False, help="What to look among.")] = None,
    as_of: Annotated[
        datetime | None, typer.Option(show_default=False, help="Answer as the memory stood at this time (UTC).")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each one is here, and why others are not.")] = False,
    why_not: Annotated[str | None, typer.Option("--why-not", metavar="ID", help="Say why this memory is not an answer.")] = None,
    everything: All = False,
    as_json: Json = False,
) -> None:
    """Ask what is known; the best comes first."""
    asked = caller.of(ctx)
    words = caller.words(question)
    with asked.open(everything=everything) as vault:
        warm(vault, _PATIENCE_S)  # one question and the process ends: worth the moment that the vectors take
        if why_not is not None:
            told = vault.explain(words, why_not, limit=limit, budget=budget, as_of=as_of, mode=mode)
            show.data(told) if asked.json or as_json else asked.say(f"{told.stage.value}: {told}")
            return
        found = vault.recall(words, limit=limit, budget=budget, as_of=as_of, mode=mode, explain=explain)
    if asked.json or as_json:
        show.data(found)
        return
    if explain:
        _explain(found.hits)
        _left_out(found.left_out)
    elif found.hits:
        show.table(["score", "trust", "when", "id", "text"], [_row(hit) for hit in found], wrap=True)
    asked.remark(_outcome(found))
    for note in found.notes:
        asked.remark(f"note: {note}")


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


def feedback(
    ctx: typer.Context,
    memory_id: Annotated[str, typer.Argument(metavar="ID", show_default=False, help="The memory that was recalled.")],
    helpful: Annotated[
        bool | None, typer.Option("--helpful/--unhelpful", show_default=False, help="Did it help? Yes, if nothing is said.")
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(help="The question it was recalled for: what did not help is left out of answers to such questions."),
    ] = None,
    correction: Annotated[str | None, typer.Option(metavar="TEXT", help="What is true instead; it takes its place.")] = None,
    as_json: Json = False,
) -> None:
    """Say whether a memory helped, or what is true instead."""
    if correction is not None and helpful:
        raise BadCall("What has to be corrected was not helpful; give --correction alone.")
    asked = caller.of(ctx)
    with asked.open() as vault:
        judged = vault.feedback(memory_id, helpful is not False, query=query, correction=correction)
    if asked.json or as_json:
        show.data(judged)
    elif correction is not None:
        show.line(judged.id)
        asked.remark("It takes the place of what was corrected.")
    else:
        asked.say(f"{judged.helpful:,} found it helpful, {judged.unhelpful:,} did not.")


def _outcome(found: Recall) -> str:
    counts = [show.many(len(found), "hit")] if found.hits else []
    counts += [f"{found.hidden:,} held back"] if found.hidden else []
    counts += [f"{found.quality.tokens:,} tokens"] if found.quality.tokens else []
    return f"{found.outcome.value}{_MEANING[found.outcome]}" + (f" ({', '.join(counts)})" if counts else "") + "."


# ── hearing ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def observe(
    ctx: typer.Context,
    text: Annotated[
        list[str] | None, typer.Argument(show_default=False, help="What was said; a single - reads standard input.")
    ] = None,
    speaker: Annotated[str, typer.Option(help="Who said it.")] = "user",
    user: Annotated[str | None, typer.Option(help="What the user said, in an exchange.")] = None,
    assistant: Annotated[str | None, typer.Option(help="What the assistant said to it.")] = None,
    as_json: Json = False,
) -> None:
    """Hear what was said and keep what matters of it; says what became of each piece. A vault that is missing is made."""
    asked = caller.of(ctx)
    exchange = [Turn(said, who) for who, said in (("user", user), ("assistant", assistant)) if said is not None]
    if bool(text) == bool(exchange):
        raise BadCall("Give what was said, or --user and --assistant; one of the two.")
    said = [Turn(caller.words(text), speaker)] if text else exchange
    with asked.open(make=True) as vault:
        report = vault.observe(*said)
    if asked.json or as_json:
        show.data(report)
        return
    if report.verdicts:
        rows = [[one.fate.value, one.memory, one.reason, said[one.turn].text[one.start : one.end]] for one in report.verdicts]
        show.table(["what", "id", "why", "said"], rows, wrap=True)
    _summarize(asked, report)


def _summarize(asked: Caller, report: Report) -> None:
    counts = report.counts
    known = f", {counts['known']:,} known before" if counts.get("known") else ""
    asked.remark(
        f"{show.many(counts['turns'], 'turn')}{known}: {counts['kept']:,} kept, {counts['merged']:,} merged,"
        f" {counts['dropped']:,} dropped."
    )
    for note in report.notes:
        asked.remark(f"note: {note}")


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
    asked = caller.of(ctx)
    done = Imported(len(paths), dry_run)
    with progress(asked) as tell:
        said = _said(paths, form, asked.live().now, done, _Count(tell).one)
        if dry_run:
            done.counts = _try(said)
        else:
            with asked.open(make=True) as vault:
                _take_in(vault, said, done)
    if asked.json or as_json:
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
