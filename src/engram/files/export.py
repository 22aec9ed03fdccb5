"""Export a vault as plaintext for people and other programs: JSON, Markdown, plain text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from engram.errors import Conflict, DiskFull, InvalidContent, NotFound
from engram.files import records
from engram.store.folder import private_file
from engram.types import Edge, Memory, Status, Turn

Page = tuple[list[tuple[Memory, list[int]]], list[tuple[int, Turn]], list[Edge]]
"""Memories with the numbers of their source turns, those turns, and the edges of these memories."""

FORMS = ("archive", "json", "markdown", "text")
MARK = "<!-- engram: written to be read; import an archive or JSON instead -->"
"""The first line of our Markdown; an import recognizes it and refuses the file, whose bullets are no notes."""


def check_target(path: Path, *, overwrite: bool) -> None:
    """Raise an error if a file cannot be written there, or exists and must not be overwritten."""
    if path.is_dir():
        raise InvalidContent(f"{path} is a folder.", way_out="Name a file in it.")
    if not path.parent.is_dir():
        raise NotFound(f"there is no folder {path.parent}.", way_out="Create it first, or name another.")
    if path.exists() and not overwrite:
        raise Conflict(f"the file {path} exists already.", way_out="Name another, or overwrite it (`overwrite=True`, `--force`).")


@contextmanager
def target(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Open the file to write to, readable by its owner only; it gets its name once it is complete."""
    check_target(path, overwrite=overwrite)
    try:
        with private_file(path) as file:
            yield file
    except OSError as error:
        raise DiskFull(f"{path} cannot be written ({error.strerror or type(error).__name__}).") from None


def write(file: BinaryIO, form: str, pages: Iterable[Page]) -> int:
    """Write in one of `FORMS` except `archive`; return the number of records or memories."""
    count = 0
    for count, piece in enumerate(_WRITERS[form](iter(pages))):  # noqa: B007  the first piece is the header
        file.write(piece.encode())
    return count


def _json(pages: Iterator[Page]) -> Iterator[str]:
    """Yield one record per line inside one array, so that a large file can also be read line by line."""
    comma = "\n"
    yield "["
    for record in records.lines(pages):
        yield comma + json.dumps(record, ensure_ascii=False)
        comma = ",\n"
    yield "\n]\n"


def _markdown(pages: Iterator[Page]) -> Iterator[str]:
    """Yield the active memories by month, each with the turns it came from."""
    yield f"{MARK}\n# Memories\n"
    month = ""
    for memories, turns, _ in pages:
        by_number = dict(turns)
        for memory, sources in memories:
            if memory.status is not Status.ACTIVE:
                continue
            at = memory.happened_at or memory.learned_at
            heading = f"{at:%Y-%m}" if at else "undated"
            head = "" if heading == month else f"\n## {heading}\n\n"
            month = heading
            day = f"{at:%Y-%m-%d}: " if at else ""
            spoken = [by_number[number] for number in sources if number in by_number]
            quotes = "".join(f"  > {turn.speaker}: {_one_line(turn.text)}\n" for turn in spoken)
            yield f"{head}- {day}{_one_line(memory.text)} *({memory.category}, {memory.id})*\n{quotes}"


def _text(pages: Iterator[Page]) -> Iterator[str]:
    yield ""
    for memories, _, _ in pages:
        yield from (f"{_one_line(memory.text)}\n" for memory, _ in memories if memory.status is Status.ACTIVE)


def _one_line(text: str) -> str:
    return " ".join(text.split())


_WRITERS: dict[str, Callable[[Iterator[Page]], Iterator[str]]] = {"json": _json, "markdown": _markdown, "text": _text}
