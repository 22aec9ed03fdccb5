"""Turns as files hold them: one JSON object a line, with `text` and, where known, `speaker`, `at`, `session` and `ref`. A message
of `role` and `content` will do.

Comes in: a file, plain or gzipped. Goes out: turns; and for each line that is none, its number and the reason, which holds no
words of it.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from engram.errors import EngramError
from engram.settings import Settings
from engram.store.validation import check_turn
from engram.text import transcripts
from engram.text.sentences import pieces
from engram.text.transcripts import speeches
from engram.types import Turn
from engram.values.frozen import replace

Refused = Callable[[int, str], None]
_NAMES = ("speaker", "session", "ref")


class NotATurn(Exception):
    """Says why, in words that hold nothing of what was said."""


def read_turns(path: Path, settings: Settings, refused: Refused) -> Iterator[Turn]:
    """The turns of a JSONL file in order; `refused` is told of each line that is none. Empty lines are nothing."""
    with opened(path) as file:
        for number, line in lines(file, settings, refused):
            if not line.strip():
                continue
            try:
                yield turn_of(_object(line), settings)
            except NotATurn as problem:
                refused(number, str(problem))


def read_document(path: Path, settings: Settings, refused: Refused) -> Iterator[Turn]:
    """A text file as its pieces, or as the turns of its speakers if it is a conversation, the long ones in pieces too.

    So a book is taken in, and its progress told, as it is read; and a line in it that reads as an attack costs no more than its
    piece. The `ref` is made of its name and content, so that reading it again adds nothing.
    """
    with opened(path) as file:
        content = file.read(settings.import_bytes + 1)
    if len(content) > settings.import_bytes:
        refused(1, f"more than {settings.import_bytes:,} bytes (`import_bytes`)")
        return
    name = path.name.encode(errors="replace").decode()
    try:
        whole = Turn(decoded(content), session=name, ref=f"{name}#{hashlib.sha256(content).hexdigest()[:16]}")
        found = [part for turn in spoken(whole) for part in in_pieces(turn, settings.turn_bytes)]
        for turn in found:
            check(turn, settings)
    except UnicodeDecodeError as error:
        refused(content[: error.start].count(b"\n") + 1, "not UTF-8")
    except NotATurn as problem:
        refused(1, str(problem))
    else:
        yield from (turn for turn in found if turn.text.strip())


def in_pieces(turn: Turn, most: int) -> list[Turn]:
    """A long turn as several."""
    found = list(pieces(turn.text, most))
    if len(found) == 1:
        return [turn]
    return [replace(turn, text=piece, ref=f"{turn.ref}/{number}") for number, piece in enumerate(found)]


def decoded(content: bytes) -> str:
    """UTF-8, or UTF-16 where a file says so itself, as some editors write it."""
    return content.decode("utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")


def spoken(whole: Turn) -> list[Turn]:
    """A text as one turn, or as those of its speakers if it is a conversation."""
    talk = speeches(whole.text)
    if talk is None:
        return [whole]
    return [
        replace(whole, text=one.said, speaker=one.who or whole.speaker, at=one.at or whole.at, ref=f"{whole.ref}:{number}")
        for number, one in enumerate(talk)
    ]


def turn_of(row: Mapping[str, Any], settings: Settings) -> Turn:
    """One row as a turn that the store will take."""
    if "text" not in row and (message := transcripts.turn_of(row)) is not None:
        row = {"speaker": message.speaker, **row, "text": message.text}
    if "text" not in row:
        raise NotATurn("there is no `text`")
    if not isinstance(row["text"], str):
        raise NotATurn("`text` is not text")
    named = {name: row[name] for name in _NAMES if row.get(name) is not None}
    if wrong := [name for name, value in named.items() if not isinstance(value, str)]:
        raise NotATurn(f"`{wrong[0]}` is not text")
    turn = Turn(row["text"], at=None if row.get("at") is None else moment(row["at"]), **named)
    check(turn, settings)
    return turn


def moment(value: object) -> datetime:
    """An ISO 8601 time, as in `2023-05-08T13:56:40Z`."""
    try:
        return datetime.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    raise NotATurn("`at` is not a time as in 2023-05-08T13:56:40Z")


def opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def lines(file: IO[bytes], settings: Settings, refused: Refused) -> Iterator[tuple[int, bytes]]:
    """Numbered lines, for as long as the file can be read: a gzip that is cut short ends with a refusal.

    One that no turn could fill is passed over piece by piece: a small gzip may unfold to more than there is memory.
    """
    most, number = _ESCAPED * settings.turn_bytes + _NAMES_BYTES, 0
    try:
        while line := file.readline(most):
            number += 1
            if len(line) == most and not line.endswith(b"\n"):
                refused(number, "longer than any turn that is kept")
                while (rest := file.readline(most)) and not rest.endswith(b"\n"):
                    pass
                continue
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
    except (EOFError, gzip.BadGzipFile):
        refused(number + 1, "the compressed file is damaged here")


_ESCAPED = 6  # bytes that JSON may write a byte in
_NAMES_BYTES = 1 << 16


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except UnicodeDecodeError:
        raise NotATurn("not UTF-8") from None
    except (ValueError, RecursionError):
        raise NotATurn("not JSON") from None  # the parser's own error carries the words
    if not isinstance(row, dict):
        raise NotATurn("not a JSON object")
    return row


def check(turn: Turn, settings: Settings) -> None:
    try:
        check_turn(turn, settings)
    except EngramError as problem:
        raise NotATurn(f"{problem.code}: {problem.message.rstrip('.')}") from None
