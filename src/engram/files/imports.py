"""Other people's files as turns and memories: conversations of ChatGPT and Claude, notes, what other memories held.

Comes in: a file, a folder or a zip. Goes out: turns (what was said, to be read like any talk) and memories (statements that
another memory had kept); and for each piece that is neither, where it is and why, without its words. A zip is never unpacked
to the disk: members are read by name, and no more of them than `import_bytes`.

Who said it stays in the file; where it belongs is decided by who imports it.

Plain SQLite files of other programs that keep memories in one flat table: read as rows, never written.
"""

from __future__ import annotations

import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, BinaryIO

import apsw

from engram.errors import ContentTooLarge, InvalidContent, NotFound
from engram.files import archive, turns
from engram.files.turns import NotATurn
from engram.settings import Settings
from engram.store.sqlite.connection import require_encryption
from engram.types import Memory, Source, Turn
from engram.values.frozen import field, frozen, mutable, replace

MAGIC = b"SQLite format 3\x00"
TABLES = ("memories", "memories_legacy")
TEXTS = ("content", "text", "memory", "body", "data")


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of the table of memories, by their columns' names; `text` holds the words, under whatever name they had."""
    require_encryption()
    try:
        connection = apsw.Connection(
            path.absolute().as_uri() + "?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
    except apsw.Error:
        raise _unread(path) from None
    try:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        table, column = _where(connection)
        cursor = connection.execute(f'SELECT * FROM "{table}" ORDER BY rowid')
        names = [name for name, _ in cursor.get_description()] if cursor.is_readonly else []
        for values in cursor:
            row = dict(zip(names, values, strict=True))
            yield {**row, "text": row.get(column)}
    except apsw.Error:
        raise _unread(path) from None
    finally:
        connection.close()


def _where(connection: apsw.Connection) -> tuple[str, str]:
    for table in TABLES:
        columns = [str(row[1]) for row in connection.execute("SELECT * FROM pragma_table_info(?)", (table,))]
        found = next((name for name in TEXTS if name in columns), None)
        if found is not None:
            return table, found
    raise InvalidContent(
        f"there is no table `{TABLES[0]}` with words in it.", way_out=f"Its words must stand in one of: {', '.join(TEXTS)}."
    )


def _unread(path: Path) -> InvalidContent:
    return InvalidContent(f"{path} is no SQLite file that can be read.", way_out="If it is encrypted, export it first.")


@frozen
class Refusal:
    """A piece of a file that was not taken: which line or record of it, and why. Holds none of its words."""

    file: str
    line: int
    reason: str


@mutable
class Imported:
    """What became of a file."""

    file: str
    form: str
    dry_run: bool
    counts: dict[str, int] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    refused: list[Refusal] = field(default_factory=list)

    def add(self, counts: Mapping[str, int], ids: tuple[str, ...] = (), notes: tuple[str, ...] = ()) -> None:
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.ids += ids
        self.notes = tuple(dict.fromkeys((*self.notes, *notes)))

    def refuse(self, file: str, line: int, reason: str) -> None:
        self.refused.append(Refusal(file, line, reason))


Refused = Callable[[str, int, str], None]
"""Told of the file, the number of the line or piece in it, and the reason."""

Found = Turn | Memory
FORMATS = ("text", "jsonl", "markdown", "chatgpt", "claude", "mem0", "mcp-memory", "sqlite", "json", "archive")

_OURS = re.compile(rb"\s*\[\s*(?:\]\s*$|\{\s*\"type\"\s*:\s*\"(?:memory|turn|edge)\")")
_MEM0 = re.compile(rb'"(?:memory|memories|results)"\s*:')
_TO_BE_READ = re.compile(r"<!-- engram: |# Memories\n\n## (?:\d{4}-\d\d|undated)\n\n- ")
"""Our own exports: JSON, which comes back as it went; and Markdown with its mark, or as it was before there was one."""
_FOLDERS = ("markdown", "chatgpt", "claude")
_NOTES = (".md", ".markdown")
_LINES = (".jsonl", ".jsonl.gz", ".ndjson")
_CONVERSATIONS = "conversations"
_RATIO = 200
"""A member of a zip that grows beyond this many times its packed size, and a megabyte, is no export of talk (which packs
five- to tenfold)."""
_MEGABYTE = 1 << 20


def checked(path: Path, form: str | None) -> str:
    """What to read it as: the form that was named, if it can be that, else what it is."""
    try:
        if not path.exists():
            raise NotFound(f"there is no file {path}.", way_out="Check its name.")
        if form is not None and form not in FORMATS:
            raise InvalidContent("there is no such format to import.", way_out=f"Take one of: {', '.join(FORMATS)}.")
        if form is not None and form not in _FOLDERS and path.is_dir():
            raise InvalidContent(f"{path} is a folder, which is never {form}.", way_out="Name a file.")
        if not path.is_dir():
            path.open("rb").close()
        return form or format_of(path)
    except OSError as error:
        raise _unreadable(path, error) from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file to be read by its bytes."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> InvalidContent:
    why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return InvalidContent(f"{path} cannot be read ({why}).", way_out="Check whose it is, or take another copy of it.")


def format_of(path: Path) -> str:
    """What a file is, by its name and its first bytes; `text` if it is nothing else."""
    if not path.exists():
        raise NotFound(f"there is no file {path}.", way_out="Check its name.")
    if path.is_dir():
        if path.resolve().parent == path.resolve():
            raise InvalidContent("that is all of the disk, not a folder of notes.", way_out="Name the folder.")
        return _json_format(path) if any(path.glob(f"**/{_CONVERSATIONS}*.json")) else "markdown"
    with path.open("rb") as file:
        head = file.read(16)
    if archive.is_archive(head):
        return "archive"
    if head == MAGIC:
        return "sqlite"
    name = path.name.lower()
    if name.endswith(_LINES):
        return "mcp-memory" if _is_graph(path) else "jsonl"
    if name.endswith(_NOTES):
        return "markdown"
    if name.endswith((".json", ".zip")) or head.startswith(b"PK\x03\x04"):
        return _json_format(path)
    return "text"


def read(path: Path, form: str, settings: Settings, refused: Refused) -> Iterator[Found]:
    """What a file holds, in its order. `archive` is read by `archive.read`."""
    reader = _READERS.get(form)
    if reader is None:
        raise InvalidContent("there is no such format to import.", way_out=f"Take one of: {', '.join(FORMATS)}.")
    try:
        yield from reader(path, settings, refused)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _unreadable(path, error) from None


# ── lines, texts and notes ─────────────────────────────────────────────────────────────────────────────────────────────


def _jsonl(path: Path, settings: Settings, refused: Refused) -> Iterator[Found]:
    return turns.read_turns(path, settings, lambda line, why: refused(str(path), line, why))


def _text(path: Path, settings: Settings, refused: Refused) -> Iterator[Found]:
    return turns.read_document(path, settings, lambda line, why: refused(str(path), line, why))


def _markdown(path: Path, settings: Settings, refused: Refused) -> Iterator[Found]:
    """A note, or all notes of a folder; hidden folders are settings of editors, and links that lead out of it are refused."""
    home = path.resolve()
    for note in sorted(_notes(path)) if path.is_dir() else [path]:
        if path.is_dir() and home not in note.resolve().parents:
            refused(str(note), 0, "a link that leads out of the folder")
            continue
        name = str(note.relative_to(path)) if path.is_dir() else note.name
        try:
            with note.open("rb") as file:
                content = file.read(settings.turn_bytes + 1)  # longer ones are refused below
            head, body = _front_matter(turns.decoded(content))
            if _TO_BE_READ.match(body):
                refused(str(note), 1, "an export of Engram's that was written to be read; import its archive or JSON")
                continue
            ref = f"{name}#{sha256(content).hexdigest()[:16]}"
            turn = Turn(body, session=name, ref=ref, at=_when(head.get("date") or head.get("created")))
            turns.check(turn, settings)
        except UnicodeDecodeError:
            refused(str(note), 1, "not UTF-8")
        except NotATurn as problem:
            refused(str(note), 1, str(problem))
        except OSError as error:
            refused(str(note), 0, error.strerror or "cannot be read")
        else:
            said = (part for one in turns.spoken(turn) for part in turns.in_pieces(one, settings.turn_bytes))
            yield from (part for part in said if part.text.strip())


def _notes(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place) / name for name in names if name.lower().endswith(_NOTES) and not name.startswith("."))


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The lines between two `---` at the head of a note, as far as they are `name: value`; and the rest."""
    if not text.startswith("---\n"):
        return {}, text
    head, mark, body = text[4:].partition("\n---\n")
    if not mark:
        return {}, text
    pairs = (line.partition(":") for line in head.splitlines())
    return {name.strip().lower(): value.strip().strip("\"'") for name, colon, value in pairs if colon}, body


# ── JSON of other programs ─────────────────────────────────────────────────────────────────────────────────────────────


def _chatgpt(path: Path, settings: Settings, refused: Refused) -> Iterator[Found]:
    """Each conversation's branch that was last on the screen, from its root on."""
    for place, number, talk in _talks(path, settings, refused):
        mapping = talk.get("mapping")
        if not isinstance(mapping, dict):
            refused(place, number, "no conversation of ChatGPT's")
            continue
        session = str(talk.get("conversation_id") or talk.get("id") or _digest(talk.get("title"), talk.get("create_time")))
        for node in _branch(mapping, talk.get("current_node")):
            message = mapping[node].get("message")
            said = _chatgpt_words(message) if isinstance(message, dict) else ""
            if said:
                speaker = "assistant" if message["author"]["role"] == "assistant" else "user"
                at = _when(message.get("create_time")) or _when(talk.get("create_time"))
                yield from _heard(Turn(said, speaker, at, session, f"{session}/{node}"), settings, refused, place, number)


def _branch(mapping: Mapping[str, Any], leaf: object) -> list[str]:
    """From the root to the leaf. Without a leaf, the nodes as they stand; a circle is walked once."""
    if not isinstance(leaf, str) or leaf not in mapping:
        return [node for node, value in mapping.items() if isinstance(value, dict)]
    way: dict[str, None] = {}
    node: Any = leaf
    while isinstance(node, str) and node not in way and isinstance(mapping.get(node), dict):
        way[node] = None
        node = mapping[node].get("parent")
    return list(reversed(way))


def _chatgpt_words(message: Mapping[str, Any]) -> str:
    author, content = message.get("author"), message.get("content")
    if not isinstance(author, dict) or author.get("role") not in ("user", "assistant") or not isinstance(content, dict):
        return ""
    parts = content.get("parts")
    return "\n".join(part for part in parts if isinstance(part, str)).strip() if isinstance(parts, list) else ""


def _claude(path: Path, settings: Settings, refused: Refused) -> Iterator[Found]:
    for place, number, talk in _talks(path, settings, refused):
        messages = talk.get("chat_messages")
        if not isinstance(messages, list):
            refused(place, number, "no conversation of Claude's")
            continue
        session = str(talk.get("uuid") or _digest(talk.get("name"), talk.get("created_at")))
        for at_place, message in enumerate(messages):
            said = _claude_words(message) if isinstance(message, dict) else ""
            if said:
                speaker = "user" if message.get("sender") == "human" else "assistant"
                ref = f"{session}/{message.get('uuid') or at_place}"
                turn = Turn(said, speaker, _when(message.get("created_at")), session, ref)
                yield from _heard(turn, settings, refused, place, number)


def _claude_words(message: Mapping[str, Any]) -> str:
    parts = message.get("content")
    told = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"] if parts else []
    words = "\n".join(part for part in told if isinstance(part, str)).strip()
    bare = message.get("text")
    return words or (bare.strip() if isinstance(bare, str) else "")


def _mem0(path: Path, settings: Settings, refused: Refused) -> Iterator[Found]:
    """What mem0 exports, or answers to `get_all`: a list of memories, bare or under `results`."""
    with _json_file(path, settings) as file:
        held = _parsed(file, settings, str(path))
    held = next((held[name] for name in ("results", "memories") if name in held), []) if isinstance(held, dict) else held
    for number, one in enumerate(held if isinstance(held, list) else [], 1):
        text = (one.get("memory") or one.get("text") or one.get("data")) if isinstance(one, dict) else None
        if not isinstance(text, str) or not text.strip():
            refused(str(path), number, "no memory of mem0's")
            continue
        about = one.get("metadata") if isinstance(one.get("metadata"), dict) else {}
        attributes = {str(name): str(value) for name, value in about.items() if isinstance(value, str | int | float)}
        yield _statement(text, _when(one.get("created_at")), attributes)


def _sqlite(path: Path, settings: Settings, refused: Refused) -> Iterator[Found]:
    """A flat table of memories. What it says of its agents or sessions is no scope of ours."""
    for number, row in enumerate(rows(path), 1):
        text = row["text"]
        if not isinstance(text, str) or not text.strip():
            refused(str(path), number, "a row without words")
            continue
        attributes = {f"legacy_{name}": str(row[name]) for name in ("id", "category", "agent_id") if row.get(name) is not None}
        weight = row.get("importance")
        made = _statement(text, _when(row.get("created_at") or row.get("timestamp")), attributes)
        yield replace(made, importance=_share(weight)) if isinstance(weight, int | float) else made


def _share(weight: float) -> float:
    """From 0 to 1; others count to 10 or 100."""
    scale = 1.0 if weight <= 1 else 10.0 if weight <= 10 else 100.0
    return min(max(weight / scale, 0.0), 1.0) if math.isfinite(weight) else 0.5


def _mcp_memory(path: Path, settings: Settings, refused: Refused) -> Iterator[Found]:
    """The reference memory server's file: entities with observations, and relations, one a line."""
    with turns.opened(path) as file:
        for number, line in turns.lines(file, settings, lambda line, why: refused(str(path), line, why)):
            try:
                row = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError):
                refused(str(path), number, "not JSON")
                continue
            if row is not None:
                told = list(_graph_words(row)) if isinstance(row, dict) else []
                if not told:
                    refused(str(path), number, "neither an entity nor a relation")
                yield from (_statement(text, None, {}) for text in told)


def _graph_words(row: Mapping[str, Any]) -> Iterator[str]:
    if row.get("type") == "entity" and isinstance(row.get("name"), str):
        kind = f" ({row['entityType']})" if row.get("entityType") else ""
        observed = [one for one in row.get("observations") or () if isinstance(one, str) and one.strip()]
        yield from (f"{row['name']}{kind}: {one}" for one in observed or ["is known"])
    elif row.get("type") == "relation" and all(isinstance(row.get(name), str) for name in ("from", "relationType", "to")):
        yield f"{row['from']} {row['relationType'].replace('_', ' ')} {row['to']}"


def _is_graph(path: Path) -> bool:
    try:
        with turns.opened(path) as file:
            first = json.loads(file.readline(_MEGABYTE) or b"null")
    except (ValueError, OSError, EOFError, RecursionError):
        return False
    return isinstance(first, dict) and first.get("type") in ("entity", "relation")


_READERS: Mapping[str, Callable[[Path, Settings, Refused], Iterator[Found]]] = {
    "text": _text,
    "jsonl": _jsonl,
    "markdown": _markdown,
    "chatgpt": _chatgpt,
    "claude": _claude,
    "mem0": _mem0,
    "mcp-memory": _mcp_memory,
    "sqlite": _sqlite,
}


def _heard(turn: Turn, settings: Settings, refused: Refused, place: str, number: int) -> Iterator[Turn]:
    try:
        turns.check(turn, settings)
    except NotATurn as problem:
        refused(place, number, str(problem))
    else:
        yield turn


def _statement(text: str, at: datetime | None, attributes: Mapping[str, str]) -> Memory:
    return Memory(text=text.strip(), source=Source.IMPORT, happened_at=at, happened_until=at, attributes=dict(attributes))


def _when(value: object) -> datetime | None:
    """Seconds since 1970, or ISO 8601; None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        made = datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    return made.replace(tzinfo=UTC) if made is not None and made.tzinfo is None else made


def _digest(*parts: object) -> str:
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# ── files, folders and zips of JSON ────────────────────────────────────────────────────────────────────────────────────


def _json_format(path: Path) -> str:
    """Whose JSON it is, by the shape of its first piece. What is nobody's is refused: as words it would be junk."""
    try:
        for _, file in _json_files(path, Settings()):
            head = file.read(_MEGABYTE)
            found = (
                "json" if _OURS.match(head)
                else "chatgpt" if b'"mapping"' in head
                else "claude" if b'"chat_messages"' in head
                else "mem0" if _MEM0.search(head)
                else ""
            )  # fmt: skip
            if found:
                return found
            break
    except (EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _unreadable(path, error) from None
    raise InvalidContent(
        "this is JSON of no program that is known here.",
        way_out=f"Name its format with `--format` (one of: {', '.join(FORMATS)}); `text` takes it as words.",
    )


def own_records(path: Path, settings: Settings, refused: Refused) -> Iterator[dict[str, Any]]:
    """The records of our own JSON, as an archive holds them."""
    with opened(path) as file:
        held = _parsed(file, settings, str(path))
    if not isinstance(held, list):
        raise InvalidContent("this is no JSON of Engram's.", way_out="Name its format with `--format`.")
    for number, record in enumerate(held, 1):
        if isinstance(record, dict):
            yield record
        else:
            refused(str(path), number, "not a record")


def _talks(path: Path, settings: Settings, refused: Refused) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """The conversations of an export, file by file: large ones come in several (`conversations-000.json`, …)."""
    for place, file in _json_files(path, settings):
        held = _parsed(file, settings, place)
        for number, talk in enumerate(held if isinstance(held, list) else [held], 1):
            if isinstance(talk, dict):
                yield place, number, talk
            else:
                refused(place, number, "not a conversation")


@contextmanager
def _json_file(path: Path, settings: Settings) -> Iterator[IO[bytes]]:
    with turns.opened(path) as file:
        yield file


def _json_files(path: Path, settings: Settings) -> Iterator[tuple[str, IO[bytes]]]:
    if path.is_dir():
        for one in sorted(path.glob(f"**/{_CONVERSATIONS}*.json")):
            with one.open("rb") as file:
                yield str(one), file
    elif zipfile.is_zipfile(path):
        yield from _zipped(path, settings)
    else:
        with turns.opened(path) as file:
            yield str(path), file


def _zipped(path: Path, settings: Settings) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as packed:
        wanted = [one for one in packed.infolist() if _is_talk(one.filename)]
        if not wanted:
            raise InvalidContent(f"there are no {_CONVERSATIONS} in this zip.", way_out="Name its format with `--format`.")
        if sum(one.file_size for one in wanted) > settings.import_bytes:
            raise _too_large(settings)
        for one in sorted(wanted, key=lambda member: member.filename):
            if one.flag_bits & 1:
                raise InvalidContent("this zip is under a password.", way_out="Unpack it yourself, then import the folder.")
            if one.file_size > max(_MEGABYTE, one.compress_size * _RATIO):
                raise ContentTooLarge("a member of this zip is packed as no text is.", way_out="Unpack it yourself and look.")
            with packed.open(one) as file:
                yield f"{path}/{one.filename}", file


def _is_talk(member: str) -> bool:
    name = member.replace("\\", "/").rpartition("/")[2]
    return name.startswith(_CONVERSATIONS) and name.endswith(".json")


def _parsed(file: IO[bytes], settings: Settings, place: str) -> Any:
    """JSON of bounded length: whatever a zip says of its members, no more than that is read."""
    try:
        content = file.read(settings.import_bytes + 1)
    except (EOFError, OSError, zipfile.BadZipFile) as error:
        raise InvalidContent(f"{place} cannot be read ({type(error).__name__}).", way_out="Take another copy of it.") from None
    if len(content) > settings.import_bytes:
        raise _too_large(settings)
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidContent(f"{place} is not JSON.", way_out="Name its format with `--format`.") from None


def _too_large(settings: Settings) -> ContentTooLarge:
    return ContentTooLarge(
        f"that is more than {settings.import_bytes:,} bytes.", way_out="Import it in parts, or raise `import_bytes`."
    )
