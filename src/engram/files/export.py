"""What a vault holds, to be read by people and other programs: JSON, Markdown, plain text. All of it is plaintext."""

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
"""Memories with the numbers of the turns they came from, those turns, and links into and out of these memories."""

FORMS = ("archive", "json", "markdown", "text")
MARK = "<!-- engram: written to be read; import an archive or JSON instead -->"
"""The first line of our Markdown, by which it is known when it comes back: its bullets are no notes."""


def check_target(path: Path, *, overwrite: bool) -> None:
    """May a file be written there? One that is there already is somebody's."""
    if path.is_dir():
        raise InvalidContent(f"{path} is a folder.", way_out="Name a file in it.")
    if not path.parent.is_dir():
        raise NotFound(f"there is no folder {path.parent}.", way_out="Make it first, or name another.")
    if path.exists() and not overwrite:
        raise Conflict(f"there is a file {path} already.", way_out="Name another, or overwrite it (`overwrite=True`, `--force`).")


@contextmanager
def target(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """The file to write to, for its owner only; it has its name once it is whole."""
    check_target(path, overwrite=overwrite)
    try:
        with private_file(path) as file:
            yield file
    except OSError as error:
        raise DiskFull(f"{path} cannot be written ({error.strerror or type(error).__name__}).") from None


def write(file: BinaryIO, form: str, pages: Iterable[Page]) -> int:
    """Write in one of `FORMS` but the first; how many records or memories it holds."""
    count = 0
    for count, piece in enumerate(_WRITERS[form](iter(pages))):  # noqa: B007  the first piece is the head
        file.write(piece.encode())
    return count


def _json(pages: Iterator[Page]) -> Iterator[str]:
    """One record a line inside one array, so that a large file can also be read line by line."""
    comma = "\n"
    yield "["
    for record in records.lines(pages):
        yield comma + json.dumps(record, ensure_ascii=False)
        comma = ",\n"
    yield "\n]\n"


def _markdown(pages: Iterator[Page]) -> Iterator[str]:
    """What holds now, month by month, with the words each came from."""
    yield f"{MARK}\n# Memories\n"
    month = ""
    for memories, turns, _ in pages:
        said = dict(turns)
        for memory, sources in memories:
            if memory.status is not Status.ACTIVE:
                continue
            at = memory.happened_at or memory.learned_at
            heading = f"{at:%Y-%m}" if at else "undated"
            head = "" if heading == month else f"\n## {heading}\n\n"
            month = heading
            day = f"{at:%Y-%m-%d}: " if at else ""
            quotes = "".join(f"  > {said[n].speaker}: {_one_line(said[n].text)}\n" for n in sources if n in said)
            yield f"{head}- {day}{_one_line(memory.text)} *({memory.category}, {memory.id})*\n{quotes}"


def _text(pages: Iterator[Page]) -> Iterator[str]:
    yield ""
    for memories, _, _ in pages:
        yield from (f"{_one_line(memory.text)}\n" for memory, _ in memories if memory.status is Status.ACTIVE)


def _one_line(text: str) -> str:
    return " ".join(text.split())


_WRITERS: dict[str, Callable[[Iterator[Page]], Iterator[str]]] = {"json": _json, "markdown": _markdown, "text": _text}
