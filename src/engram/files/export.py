"""Export a vault to one file: an archive under a passphrase, or plaintext as JSON, Markdown or plain text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from engram.env import Env
from engram.errors import AccessDenied, Conflict, DiskFull, InvalidContent, InvalidQuery, NotFound
from engram.files import archive, records
from engram.files.records import FiledMemory
from engram.settings import Settings
from engram.store.folder import private_file
from engram.store.ports import Store
from engram.types import Edge, Reader, Report, Scope, Turn
from engram.values.entities import EntityDecision
from engram.values.memories import VALID

Page = tuple[list[FiledMemory], list[tuple[int, Turn]], list[Edge]]
"""Memories, the turns that they came from by number, and the edges of these memories."""

Decided = tuple[Scope, EntityDecision]
"""A decision on an entity by hand, and the scope that it is made in."""

FORMS = ("archive", "json", "markdown", "text")
MARK = "<!-- engram: written to be read; import an archive or JSON instead -->"
"""The first line of our Markdown; an import recognizes it and refuses the file, whose bullets are no notes."""


_PAGE = 200
_DECISIONS = 100_000
_LEAST_PASSPHRASE = 8


def export_vault(
    store: Store,
    reader: Reader,
    path: str | Path,
    settings: Settings,
    env: Env,
    *,
    passphrase: str | None,
    form: str,
    confirm: bool,
    overwrite: bool,
) -> Report:
    """Write all memories that a reader sees to one file, in one of `FORMS`. Plaintext needs `confirm`."""
    place = Path(path).expanduser()
    if form not in FORMS:
        raise InvalidQuery(f"there is no export as {form!r}.", way_out=f"Take one of: {', '.join(FORMS)}.")
    if form != "archive" and not confirm:
        raise AccessDenied(
            f"{form} is plaintext: whoever reads the file reads the memories.",
            way_out="Confirm it (`confirm=True`, `--plaintext`), or export an archive.",
        )
    check_target(place, overwrite=overwrite)
    secret = _checked_passphrase(passphrase) if form == "archive" else ""
    pages = _pages(store, reader)
    with _target(place, overwrite=overwrite) as file:
        if form == "archive":
            about = {"made_at": env.now().isoformat()}
            lines = records.lines(pages, _decisions(store, reader))
            count = archive.write(file, lines, secret, log_n=settings.scrypt_log_n, random=env.random, about=about)
        else:
            pieces = _json(pages, _decisions(store, reader)) if form == "json" else _WRITERS[form](pages)
            count = _write_plain(file, pieces)
        size = file.tell()
    return Report(operation="export", counts={"records": count, "bytes": size})


def _checked_passphrase(given: str | None) -> str:
    """Return a passphrase for an archive. Raise InvalidQuery if it is short: anyone with the file can try any number."""
    if not given:
        raise InvalidQuery(
            "an archive needs a passphrase.",
            way_out="Give one of several words that nobody would guess; a command takes it from standard input.",
        )
    if len(given) < _LEAST_PASSPHRASE:
        raise InvalidQuery(
            f"a passphrase of fewer than {_LEAST_PASSPHRASE} characters is guessed quickly.",
            way_out="Give one of several words that nobody would guess.",
        )
    return given


def _pages(store: Store, reader: Reader) -> Iterator[Page]:
    after = 0
    while True:
        memories, said, edges = store.memories.export(reader, after=after, limit=_PAGE)
        if not memories:
            return
        sources_of: dict[int, list[int]] = {}
        for memory, number, _ in said:
            sources_of.setdefault(memory, []).append(number)
        turns = {number: turn for _, number, turn in said}
        keys = [memory.key for memory in memories]
        facts, corrections = store.facts.stated(reader, keys), store.feedback.correction_marks(reader, keys)
        filed = [
            FiledMemory(one, tuple(sources_of.get(one.key, ())), tuple(facts.get(one.key, ())), corrections.get(one.key))
            for one in memories
        ]
        yield filed, list(turns.items()), edges
        after = memories[-1].key


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise an error if a file cannot be written there, or exists and must not be overwritten."""
    if path.is_dir():
        raise InvalidContent(f"{path} is a folder.", way_out="Name a file in it.")
    if not path.parent.is_dir():
        raise NotFound(f"there is no folder {path.parent}.", way_out="Create it first, or name another.")
    if path.exists() and not overwrite:
        raise Conflict(f"the file {path} exists already.", way_out="Name another, or overwrite it (`overwrite=True`, `--force`).")


@contextmanager
def _target(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open the file to write to, readable by its owner only; it gets its name once it is complete."""
    check_target(path, overwrite=overwrite)
    try:
        with private_file(path) as file:
            yield file
    except OSError as error:
        raise DiskFull(f"{path} cannot be written ({error.strerror or type(error).__name__}).") from None


def _decisions(store: Store, reader: Reader) -> list[Decided]:
    """Return the decisions on entities that stand, in the order in which they were made."""
    found = store.entities.decisions(reader, limit=_DECISIONS)
    return [(scope, decision) for scope, decision in reversed(found) if decision.undone_at is None]


def _write_plain(file: BinaryIO, pieces: Iterable[str]) -> int:
    """Write the pieces of a plaintext file, the first of which is its head; return the number of the others."""
    count = 0
    for count, piece in enumerate(pieces):  # noqa: B007
        file.write(piece.encode())
    return count


def _json(pages: Iterator[Page], decisions: Sequence[Decided]) -> Iterator[str]:
    """Yield one record per line inside one array, so that a large file can also be read line by line."""
    comma = "\n"
    yield "["
    for record in records.lines(pages, decisions):
        yield comma + json.dumps(record, ensure_ascii=False)
        comma = ",\n"
    yield "\n]\n"


def _markdown(pages: Iterator[Page]) -> Iterator[str]:
    """Yield the live memories by month, each with the turns it came from."""
    yield f"{MARK}\n# Memories\n"
    month = ""
    for memories, turns, _ in pages:
        by_number = dict(turns)
        for filed in memories:
            memory = filed.memory
            if memory.status not in VALID:
                continue
            at = memory.happened_at or memory.learned_at
            heading = f"{at:%Y-%m}" if at else "undated"
            head = "" if heading == month else f"\n## {heading}\n\n"
            month = heading
            day = f"{at:%Y-%m-%d}: " if at else ""
            spoken = [by_number[number] for number in filed.turns if number in by_number]
            quotes = "".join(f"  > {turn.speaker}: {_one_line(turn.text)}\n" for turn in spoken)
            yield f"{head}- {day}{_one_line(memory.text)} *({memory.category}, {memory.id})*\n{quotes}"


def _text(pages: Iterator[Page]) -> Iterator[str]:
    yield ""
    for memories, _, _ in pages:
        yield from (f"{_one_line(one.memory.text)}\n" for one in memories if one.memory.status in VALID)


def _one_line(text: str) -> str:
    return " ".join(text.split())


_WRITERS: dict[str, Callable[[Iterator[Page]], Iterator[str]]] = {"markdown": _markdown, "text": _text}
