"""Read turns from files: one JSON object per line with `text` and optionally `speaker`, `at`, `session` and `ref`, or a chat
message of `role` and `content`; or a plain text.

A file, plain or gzipped, comes in; turns go out, and for each invalid line its number and the reason, which holds no words of it.
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
    """Raised for a row that is no turn; the message is the reason and holds no words of the row."""


def read_turns(path: Path, settings: Settings, refused: Refused) -> Iterator[Turn]:
    """Yield the turns of a JSONL file in order; call `refused` for each invalid line, and skip empty ones."""
    with opened(path) as file:
        for number, line in lines(file, settings, refused):
            if not line.strip():
                continue
            try:
                yield turn_of(_object(line), settings)
            except NotATurn as problem:
                refused(number, str(problem))


def read_document(path: Path, settings: Settings, refused: Refused) -> Iterator[Turn]:
    """Yield a text file in pieces, or the turns of its speakers if it is a conversation, long ones in pieces, too.

    So progress on a book is reported as it is read, and a line that is flagged as injection costs only its piece. The `ref` is
    made of name and content, so that reading the file again adds nothing.
    """
    with opened(path) as file:
        content = file.read(settings.import_bytes + 1)
    if len(content) > settings.import_bytes:
        refused(1, f"more than {settings.import_bytes:,} bytes (`import_bytes`)")
        return
    name = path.name.encode(errors="replace").decode()
    try:
        whole = Turn(decoded(content), session=name, ref=f"{name}#{hashlib.sha256(content).hexdigest()[:16]}")
        parts = [part for turn in by_speaker(whole) for part in in_pieces(turn, settings.turn_bytes)]
        for turn in parts:
            check(turn, settings)
    except UnicodeDecodeError as error:
        refused(content[: error.start].count(b"\n") + 1, "not UTF-8")
    except NotATurn as problem:
        refused(1, str(problem))
    else:
        yield from (turn for turn in parts if turn.text.strip())


def in_pieces(turn: Turn, most: int) -> list[Turn]:
    """Return a turn as several of at most `most` bytes each."""
    texts = list(pieces(turn.text, most))
    if len(texts) == 1:
        return [turn]
    return [replace(turn, text=text, ref=f"{turn.ref}/{number}") for number, text in enumerate(texts)]


def decoded(content: bytes) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 if it has that byte order mark."""
    return content.decode("utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig")


def by_speaker(whole: Turn) -> list[Turn]:
    """Return a text as one turn, or as the turns of its speakers if it is a conversation."""
    conversation = speeches(whole.text)
    if conversation is None:
        return [whole]
    return [
        replace(
            whole,
            text=speech.text,
            speaker=speech.speaker or whole.speaker,
            at=speech.at or whole.at,
            ref=f"{whole.ref}:{number}",
        )
        for number, speech in enumerate(conversation)
    ]


def turn_of(row: Mapping[str, Any], settings: Settings) -> Turn:
    """Return the turn of a row; raise NotATurn if the store would not accept it."""
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
    """Return the moment of an ISO 8601 time, as in `2023-05-08T13:56:40Z`."""
    try:
        return datetime.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    raise NotATurn("`at` is not a time as in 2023-05-08T13:56:40Z")


def opened(path: Path) -> IO[bytes]:
    """Open a file for reading, and unpack it if its name ends in `.gz`."""
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def lines(file: IO[bytes], settings: Settings, refused: Refused) -> Iterator[tuple[int, bytes]]:
    """Yield numbered lines as far as the file can be read; a gzip that is cut short ends with a refusal.

    A line longer than any valid turn is skipped piece by piece: a small gzip may unpack to more than fits into memory.
    """
    most, number = _ESCAPED * settings.turn_bytes + _NAMES_BYTES, 0
    try:
        while line := file.readline(most):
            number += 1
            if len(line) == most and not line.endswith(b"\n"):
                refused(number, "longer than the longest turn that can be stored")
                while (rest := file.readline(most)) and not rest.endswith(b"\n"):
                    pass
                continue
            yield number, line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
    except (EOFError, gzip.BadGzipFile):
        refused(number + 1, "the compressed file is damaged here")


_ESCAPED = 6  # bytes of JSON for one byte of text, at most
_NAMES_BYTES = 1 << 16


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except UnicodeDecodeError:
        raise NotATurn("not UTF-8") from None
    except (ValueError, RecursionError):
        raise NotATurn("not JSON") from None  # the parser's own error quotes the text
    if not isinstance(row, dict):
        raise NotATurn("not a JSON object")
    return row


def check(turn: Turn, settings: Settings) -> None:
    """Raise NotATurn if the store would not accept a turn."""
    try:
        check_turn(turn, settings)
    except EngramError as problem:
        raise NotATurn(f"{problem.code}: {problem.message.rstrip('.')}") from None
