"""Commands that carry memories in and out: files of other programs, archives, and exports to be read."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from engram.frozen import field, mutable
from engram.serve.cli import caller, show
from engram.serve.cli.caller import All, Caller, Json, Yes
from engram.serve.cli.interrupts import called_off_by_interrupt
from engram.serve.cli.progress import progress

if TYPE_CHECKING:
    from engram.engine import Engram
    from engram.files.sources import Refusal


def add_to(app: typer.Typer) -> None:
    app.command("import", rich_help_panel="Memories")(import_)
    app.command("export", rich_help_panel="Memories")(export)


Form = Literal["text", "jsonl", "markdown", "chatgpt", "claude", "mem0", "mcp-memory", "sqlite", "json", "archive"]


def _file(text: str) -> Path:
    """To the system no name at all is this folder, and all of it would be taken in."""
    if not text.strip():
        raise typer.BadParameter("a file has a name.")
    if "\0" in text or not (path := Path(text)).exists():
        raise typer.BadParameter(f"path {text!r} does not exist.")
    return path


Files = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", parser=_file, show_default=False, help="Files, folders of notes, or zips."),
]
_COUNTS = ("turns", "kept", "merged", "dropped", "known")


@mutable
class Imported:
    """What became of the files."""

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
    asked = caller.of(ctx, as_json)
    if wipe and not dry_run:
        asked.confirm(f"Remove {show.many(len(paths), 'file')} for good once taken in?", yes)
    done = Imported(len(paths), dry_run, dict.fromkeys(_COUNTS, 0))
    with _vault(asked, dry_run) as vault, called_off_by_interrupt(), progress(asked) as tell:
        for path in paths:
            seen = _Count()

            def count(more: int, name: str = path.name, seen: _Count = seen) -> None:
                seen.number += more
                tell(f"{seen.number:,} pieces, {name}", None)

            tell(f"reading {path.name}", None)
            found = vault.import_(
                path, form=form, passphrase=_opens(path, form), trusted=trusted, dry_run=dry_run, progress=count
            )
            for name, number in found.counts.items():
                done.counts[name] = done.counts.get(name, 0) + number
            done.refused += found.refused
            if wipe and not dry_run:
                done.notes += (_wiped(path, asked) if path.is_file() and not found.refused else f"{path} was left as it is.",)
            done.notes = tuple(dict.fromkeys((*done.notes, *found.notes)))
    if asked.json:
        show.data(done)
    else:
        _imported(asked, done)
    if done.refused:
        raise typer.Exit(1)


def _wiped(path: Path, asked: Caller) -> str:
    from engram.guard.wiping import wipe_file

    wipe_file(path, asked.env.random)
    return f"{path} was overwritten and removed; on flash storage old blocks may outlive that."


@mutable
class _Count:
    number: int = 0


@contextlib.contextmanager
def _vault(asked: Caller, dry_run: bool) -> Iterator[Engram]:
    """The vault, made if it is missing; for a dry run without one, an empty one that is gone afterwards."""
    if not dry_run or caller.exists(asked.path):
        with asked.open(make=True) as vault:
            yield vault
        return
    from engram.engine import Engram

    quiet = {"harden_process": False, "backup_hours": 0.0, "model": "none"}
    with (
        tempfile.TemporaryDirectory(prefix="engram-dry-") as folder,
        Engram.open(Path(folder) / "vault", key=asked.env.random(32), settings=quiet, env=asked.env) as empty,
    ):
        yield empty


def _opens(path: Path, form: str | None) -> str | None:
    from engram.files import archive

    if form not in (None, "archive") or not path.is_file():
        return None
    with path.open("rb") as file:
        return caller.secret_line("Passphrase of the archive: ") if archive.is_archive(file.read(len(archive.MAGIC))) else None


def _imported(asked: Caller, done: Imported) -> None:
    for one in done.refused:
        show.remark(f"{one.file}, line {one.line}: {one.reason}; skipped.")
    counts = done.counts
    heard = [show.many(counts["turns"], "turn")] if counts["turns"] or not counts.get("memories") else []
    heard += [show.many(counts["memories"], "memory", "memories")] if counts.get("memories") else []
    what = " and ".join(heard)
    known = f" {counts['known']:,} were known." if counts["known"] else ""
    if done.dry_run:
        pieces = f"{counts['kept']:,} statements, {counts['dropped']:,} pieces dropped."
        asked.say(f"{what} would be heard: {pieces}{known} Nothing was kept.")
    else:
        asked.say(f"{what} heard: {counts['kept']:,} kept, {counts['merged']:,} merged, {counts['dropped']:,} dropped.{known}")
    if done.refused:
        asked.remark(f"{show.many(len(done.refused), 'line')} skipped.")
    for note in done.notes:
        asked.remark(f"note: {note}")


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

    asked = caller.of(ctx, as_json)
    check_target(path, overwrite=force)  # before anybody thinks of a passphrase
    with asked.open(everything=everything) as vault:
        secret = _new_secret(asked) if form == "archive" else None
        done = vault.export(path, passphrase=secret, form=form, confirm=plaintext, overwrite=force)
    if asked.json:
        show.data(done)
    else:
        asked.say(f"{show.many(done.counts['records'], 'record')} written to {path} ({done.counts['bytes']:,} bytes).")


def _new_secret(asked: Caller) -> str:
    asks = asked.ask_new
    return (asks() or "") if asks is not None else caller.secret_line("")
