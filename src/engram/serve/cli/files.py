"""`engram import` and `engram export`: files of other programs, archives, and readable exports."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from engram.serve.cli import terminal
from engram.serve.cli.caller import All, Caller, Json, Yes, caller_of, read_secret, vault_exists
from engram.serve.cli.interrupts import cancel_on_interrupt
from engram.serve.cli.progress import progress
from engram.values.frozen import field, mutable

if TYPE_CHECKING:
    from engram.engine import Engram
    from engram.files.imports import Refusal


def add_to(app: typer.Typer) -> None:
    app.command("import", rich_help_panel="Memories")(import_)
    app.command("export", rich_help_panel="Memories")(export)


Form = Literal["text", "jsonl", "markdown", "chatgpt", "claude", "mem0", "mcp-memory", "sqlite", "json", "archive"]


def _file(text: str) -> Path:
    """Parse a file name. An empty one is refused: to the operating system it is the current folder."""
    if not text.strip():
        raise typer.BadParameter("the file name is empty.")
    if "\0" in text or not (path := Path(text)).exists():
        raise typer.BadParameter(f"path {text!r} does not exist.")
    return path


Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", parser=_file, show_default=False, help="Files, folders of notes, or zips."),
]
_COUNTS = ("turns", "kept", "merged", "dropped", "known")
_TAKEN_OVER = ("fact", "correction", "decision")


@mutable
class ImportSummary:
    """Counts, refused lines and notes over all imported files."""

    files: int
    dry_run: bool
    counts: dict[str, int] = field(default_factory=dict)
    refused: list[Refusal] = field(default_factory=list)
    notes: tuple[str, ...] = ()


def import_(
    ctx: typer.Context,
    paths: Files,
    form: Annotated[Form | None, typer.Option("--format", show_default=False, help="Else by name and shape.")] = None,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="An archive of your own: confidences, dates and scopes as they were.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and check everything, keep nothing.")] = False,
    wipe: Annotated[bool, typer.Option("--wipe", help="Overwrite and remove each file that was taken in whole.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Take in files: notes, conversations, exports of other programs, archives.

    Texts, notes (Markdown), JSONL of turns, exports of ChatGPT and Claude (zip, folder or JSON), of mem0, the memory server's
    file, SQLite files with a plain table `memories`, and archives and JSON of Engram's.

    What was imported before is passed over, so it can be run again. What cannot be taken is reported and skipped. A file is
    believed less than what is said here (`import_confidence`).
    """
    caller = caller_of(ctx, as_json)
    if wipe and not dry_run:
        caller.confirm(f"Remove {terminal.many(len(paths), 'file')} for good once taken in?", yes)
    summary = ImportSummary(len(paths), dry_run, dict.fromkeys(_COUNTS, 0))
    with _vault(caller, dry_run) as vault, cancel_on_interrupt(), progress(caller) as show_progress:
        for path in paths:
            pieces = _Count()

            def count(more: int, name: str = path.name, pieces: _Count = pieces) -> None:
                pieces.number += more
                show_progress(f"{pieces.number:,} pieces, {name}", None)

            show_progress(f"reading {path.name}", None)
            report = vault.import_(
                path, form=form, passphrase=_passphrase(path, form), trusted=trusted, dry_run=dry_run, progress=count
            )
            for name, number in report.counts.items():
                summary.counts[name] = summary.counts.get(name, 0) + number
            summary.refused += report.refused
            if wipe and not dry_run:
                wiped = path.is_file() and not report.refused
                summary.notes += (_wipe(path, caller) if wiped else f"{path} was left as it is.",)
            summary.notes = tuple(dict.fromkeys((*summary.notes, *report.notes)))
    if caller.json:
        terminal.data(summary)
    else:
        _print_summary(caller, summary)
    if summary.refused:
        raise typer.Exit(1)


def _wipe(path: Path, caller: Caller) -> str:
    """Overwrite and remove a file; return a note about it."""
    from engram.crypto.hardening import wipe_file

    wipe_file(path, caller.env.random)
    return f"{path} was overwritten and removed; flash storage may still hold old blocks of it."


@mutable
class _Count:
    number: int = 0


@contextlib.contextmanager
def _vault(caller: Caller, dry_run: bool) -> Iterator[Engram]:
    """Open the vault, making a missing one. A dry run without a vault uses an empty temporary one."""
    if not dry_run or vault_exists(caller.path):
        with caller.open(make=True) as vault:
            yield vault
        return
    from engram.engine import Engram

    settings = {"harden_process": False, "backup_hours": 0.0, "model": "none"}
    with (
        tempfile.TemporaryDirectory(prefix="engram-dry-") as folder,
        Engram.open(Path(folder) / "vault", key=caller.env.random(32), settings=settings, env=caller.env) as empty,
    ):
        yield empty


def _passphrase(path: Path, form: str | None) -> str | None:
    """Ask for the passphrase if the file is an archive; None otherwise."""
    from engram.files import archive

    if form not in (None, "archive") or not path.is_file():
        return None
    with path.open("rb") as file:
        return read_secret("Passphrase of the archive: ") if archive.is_archive(file.read(len(archive.MAGIC))) else None


def _print_summary(caller: Caller, summary: ImportSummary) -> None:
    for refusal in summary.refused:
        terminal.remark(f"{refusal.file}, line {refusal.line}: {refusal.reason}; skipped.")
    counts = summary.counts
    parts = [terminal.many(counts["turns"], "turn")] if counts["turns"] or not counts.get("memories") else []
    parts += [terminal.many(counts["memories"], "memory", "memories")] if counts.get("memories") else []
    read = " and ".join(parts)
    known = f" {counts['known']:,} were known." if counts["known"] else ""
    if summary.dry_run:
        pieces = f"{counts['kept']:,} statements, {counts['dropped']:,} pieces dropped."
        caller.say(f"{read} would be heard: {pieces}{known} Nothing was kept.")
    else:
        caller.say(f"{read} heard: {counts['kept']:,} kept, {counts['merged']:,} merged, {counts['dropped']:,} dropped.{known}")
        taken = [terminal.many(number, what) for what in _TAKEN_OVER if (number := counts.get(f"{what}s", 0))]
        if taken:
            caller.say(f"Taken over: {', '.join(taken)}.")
    if summary.refused:
        caller.remark(f"{terminal.many(len(summary.refused), 'line')} skipped.")
    for note in summary.notes:
        caller.remark(f"note: {note}")


def export(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(metavar="FILE", dir_okay=False, writable=True, show_default=False, help="Where to.")],
    form: Annotated[Literal["archive", "json", "markdown", "text"], typer.Option("--format", help="What to write.")] = "archive",
    plaintext: Annotated[bool, typer.Option("--plaintext", help="Yes, everyone who reads the file may read it.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    everything: All = False,
    as_json: Json = False,
) -> None:
    """Write all that is seen from here into a file, encrypted or to be read.

    An archive stands under a passphrase, which is asked for twice, or read from standard input; it is what `engram import`
    takes on another machine. The other formats are there to be read, by everyone who has the file.
    """
    from engram.files.export import check_target

    caller = caller_of(ctx, as_json)
    check_target(path, overwrite=force)  # before a passphrase is asked for
    with caller.open(everything=everything) as vault:
        secret = _new_secret(caller) if form == "archive" else None
        report = vault.export(path, passphrase=secret, form=form, confirm=plaintext, overwrite=force)
    if caller.json:
        terminal.data(report)
    else:
        caller.say(f"{terminal.many(report.counts['records'], 'record')} written to {path} ({report.counts['bytes']:,} bytes).")


def _new_secret(caller: Caller) -> str:
    prompt = caller.ask_new_passphrase
    return (prompt() or "") if prompt is not None else read_secret("")
