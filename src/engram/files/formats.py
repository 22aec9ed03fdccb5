"""Read other programs' files as turns and memories: ChatGPT, Claude, mem0, notes, the reference memory server, flat SQLite.

A file, a folder or a zip comes in. Turns go out, which are captured like any conversation, and memories, which another program
had already extracted; and for each piece that is neither, its place and the reason, without its words. A zip is never unpacked to
disk: members are read by name, and at most `import_bytes` of them. A foreign SQLite file is read as rows and never written.

The speakers are those of the file; the scope is that of the importing reader.
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

from engram.errors import ContentTooLarge, InvalidContent, NotFound
from engram.files import archive, turns
from engram.files.turns import NotATurn
from engram.settings import Settings
from engram.store.open import foreign_rows
from engram.types import Memory, Source, Turn
from engram.values.frozen import replace

Refused = Callable[[str, int, str], None]
"""Called with the file, the number of the line or record in it, and the reason."""

Piece = Turn | Memory
FORMATS = ("text", "jsonl", "markdown", "chatgpt", "claude", "mem0", "mcp-memory", "sqlite", "json", "archive")

_OWN_JSON = re.compile(rb"\s*\[\s*(?:\]\s*$|\{\s*\"type\"\s*:\s*\"(?:memory|turn|edge)\")")
_MEM0 = re.compile(rb'"(?:memory|memories|results)"\s*:')
_OWN_MARKDOWN = re.compile(r"<!-- engram: |# Memories\n\n## (?:\d{4}-\d\d|undated)\n\n- ")
"""The beginning of our own exports: JSON, which imports losslessly, and Markdown, with its mark or from before it had one."""
_FOLDERS = ("markdown", "chatgpt", "claude")
_NOTES = (".md", ".markdown")
_LINES = (".jsonl", ".jsonl.gz", ".ndjson")
_CONVERSATIONS = "conversations"
_RATIO = 200
"""A zip member of more than a megabyte and this many times its packed size is refused: conversations pack five- to tenfold."""
_MEGABYTE = 1 << 20
_SQLITE_MAGIC = b"SQLite format 3\x00"


def checked(path: Path, form: str | None) -> str:
    """Return the format to read a file in: the named one, if it is possible, else the recognized one."""
    try:
        if not path.exists():
            raise NotFound(f"there is no file {path}.", way_out="Check the name.")
        if form is not None and form not in FORMATS:
            raise InvalidContent("unknown import format.", way_out=f"Use one of: {', '.join(FORMATS)}.")
        if form is not None and form not in _FOLDERS and path.is_dir():
            raise InvalidContent(f"{path} is a folder, which cannot be {form}.", way_out="Name a file.")
        if not path.is_dir():
            path.open("rb").close()
        return form or format_of(path)
    except OSError as error:
        raise _unreadable(path, error) from None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file to read its bytes."""
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> InvalidContent:
    why = (error.strerror if isinstance(error, OSError) else None) or type(error).__name__
    return InvalidContent(f"{path} cannot be read ({why}).", way_out="Check its permissions, or use another copy.")


def format_of(path: Path) -> str:
    """Return the format of a file by its name and first bytes; `text` if nothing else fits."""
    if not path.exists():
        raise NotFound(f"there is no file {path}.", way_out="Check the name.")
    if path.is_dir():
        if path.resolve().parent == path.resolve():
            raise InvalidContent("this is the root of the disk, not a folder of notes.", way_out="Name the folder.")
        return _json_format(path) if any(path.glob(f"**/{_CONVERSATIONS}*.json")) else "markdown"
    with path.open("rb") as file:
        head = file.read(16)
    if archive.is_archive(head):
        return "archive"
    if head == _SQLITE_MAGIC:
        return "sqlite"
    name = path.name.lower()
    if name.endswith(_LINES):
        return "mcp-memory" if _is_graph(path) else "jsonl"
    if name.endswith(_NOTES):
        return "markdown"
    if name.endswith((".json", ".zip")) or head.startswith(b"PK\x03\x04"):
        return _json_format(path)
    return "text"


def read(path: Path, form: str, settings: Settings, refused: Refused) -> Iterator[Piece]:
    """Yield the turns and memories of a file in order. Archives are read by `archive.read`."""
    reader = _READERS.get(form)
    if reader is None:
        raise InvalidContent("unknown import format.", way_out=f"Use one of: {', '.join(FORMATS)}.")
    try:
        yield from reader(path, settings, refused)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _unreadable(path, error) from None


# ── lines, texts and notes ─────────────────────────────────────────────────────────────────────────────────────────────


def _jsonl(path: Path, settings: Settings, refused: Refused) -> Iterator[Piece]:
    return turns.read_turns(path, settings, lambda line, why: refused(str(path), line, why))


def _text(path: Path, settings: Settings, refused: Refused) -> Iterator[Piece]:
    return turns.read_document(path, settings, lambda line, why: refused(str(path), line, why))


def _markdown(path: Path, settings: Settings, refused: Refused) -> Iterator[Piece]:
    """Yield a note, or all notes of a folder. Hidden folders hold settings of editors; links that lead out are refused."""
    home = path.resolve()
    for note in sorted(_notes(path)) if path.is_dir() else [path]:
        if path.is_dir() and home not in note.resolve().parents:
            refused(str(note), 0, "a link that leads out of the folder")
            continue
        name = str(note.relative_to(path)) if path.is_dir() else note.name
        try:
            with note.open("rb") as file:
                content = file.read(settings.turn_bytes + 1)  # a longer one is refused below
            head, body = _front_matter(turns.decoded(content))
            if _OWN_MARKDOWN.match(body):
                refused(str(note), 1, "an export of Engram for reading; import an archive or JSON instead")
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
            parts = (part for spoken in turns.by_speaker(turn) for part in turns.in_pieces(spoken, settings.turn_bytes))
            yield from (part for part in parts if part.text.strip())


def _notes(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(place) / name for name in names if name.lower().endswith(_NOTES) and not name.startswith("."))


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the `name: value` lines between two `---` at the head of a note, and the rest of the note."""
    if not text.startswith("---\n"):
        return {}, text
    head, mark, body = text[4:].partition("\n---\n")
    if not mark:
        return {}, text
    pairs = (line.partition(":") for line in head.splitlines())
    return {name.strip().lower(): value.strip().strip("\"'") for name, colon, value in pairs if colon}, body


# ── JSON of other programs ─────────────────────────────────────────────────────────────────────────────────────────────


def _chatgpt(path: Path, settings: Settings, refused: Refused) -> Iterator[Piece]:
    """Yield the turns of each conversation, on the branch that was last shown, from the root on."""
    for place, number, conversation in _conversations(path, settings, refused):
        mapping = conversation.get("mapping")
        if not isinstance(mapping, dict):
            refused(place, number, "not a ChatGPT conversation")
            continue
        known_id = conversation.get("conversation_id") or conversation.get("id")
        session = str(known_id or _digest(conversation.get("title"), conversation.get("create_time")))
        for node in _branch(mapping, conversation.get("current_node")):
            message = mapping[node].get("message")
            text = _chatgpt_text(message) if isinstance(message, dict) else ""
            if text:
                speaker = "assistant" if message["author"]["role"] == "assistant" else "user"
                at = _when(message.get("create_time")) or _when(conversation.get("create_time"))
                yield from _checked_turn(Turn(text, speaker, at, session, f"{session}/{node}"), settings, refused, place, number)


def _branch(mapping: Mapping[str, Any], leaf: object) -> list[str]:
    """Return the nodes from the root to the leaf; without a leaf all nodes in their order. A cycle is followed once."""
    if not isinstance(leaf, str) or leaf not in mapping:
        return [node for node, value in mapping.items() if isinstance(value, dict)]
    path: dict[str, None] = {}
    node: Any = leaf
    while isinstance(node, str) and node not in path and isinstance(mapping.get(node), dict):
        path[node] = None
        node = mapping[node].get("parent")
    return list(reversed(path))


def _chatgpt_text(message: Mapping[str, Any]) -> str:
    author, content = message.get("author"), message.get("content")
    if not isinstance(author, dict) or author.get("role") not in ("user", "assistant") or not isinstance(content, dict):
        return ""
    parts = content.get("parts")
    return "\n".join(part for part in parts if isinstance(part, str)).strip() if isinstance(parts, list) else ""


def _claude(path: Path, settings: Settings, refused: Refused) -> Iterator[Piece]:
    for place, number, conversation in _conversations(path, settings, refused):
        messages = conversation.get("chat_messages")
        if not isinstance(messages, list):
            refused(place, number, "not a Claude conversation")
            continue
        session = str(conversation.get("uuid") or _digest(conversation.get("name"), conversation.get("created_at")))
        for position, message in enumerate(messages):
            text = _claude_text(message) if isinstance(message, dict) else ""
            if text:
                speaker = "user" if message.get("sender") == "human" else "assistant"
                ref = f"{session}/{message.get('uuid') or position}"
                turn = Turn(text, speaker, _when(message.get("created_at")), session, ref)
                yield from _checked_turn(turn, settings, refused, place, number)


def _claude_text(message: Mapping[str, Any]) -> str:
    parts = message.get("content")
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") == "text"] if parts else []
    joined = "\n".join(text for text in texts if isinstance(text, str)).strip()
    plain = message.get("text")
    return joined or (plain.strip() if isinstance(plain, str) else "")


def _mem0(path: Path, settings: Settings, refused: Refused) -> Iterator[Piece]:
    """Yield the memories of a mem0 export or of an answer to `get_all`: a list, bare or under `results`."""
    with _json_file(path, settings) as file:
        data = _parsed(file, settings, str(path))
    data = next((data[name] for name in ("results", "memories") if name in data), []) if isinstance(data, dict) else data
    for number, entry in enumerate(data if isinstance(data, list) else [], 1):
        text = (entry.get("memory") or entry.get("text") or entry.get("data")) if isinstance(entry, dict) else None
        if not isinstance(text, str) or not text.strip():
            refused(str(path), number, "not a mem0 memory")
            continue
        metadata = entry.get("metadata") if isinstance(entry.get("metadata"), dict) else {}
        attributes = {str(name): str(value) for name, value in metadata.items() if isinstance(value, str | int | float)}
        yield _memory(text, _when(entry.get("created_at")), attributes)


def _sqlite(path: Path, settings: Settings, refused: Refused) -> Iterator[Piece]:
    """Yield the memories of a flat table. Its agents and sessions become attributes, not scopes."""
    for number, row in enumerate(foreign_rows(path), 1):
        text = row["text"]
        if not isinstance(text, str) or not text.strip():
            refused(str(path), number, "a row without text")
            continue
        attributes = {f"legacy_{name}": str(row[name]) for name in ("id", "category", "agent_id") if row.get(name) is not None}
        importance = row.get("importance")
        memory = _memory(text, _when(row.get("created_at") or row.get("timestamp")), attributes)
        yield replace(memory, importance=_unit(importance)) if isinstance(importance, int | float) else memory


def _unit(importance: float) -> float:
    """Return an importance on a scale of 0 to 1; other programs use scales up to 10 or 100."""
    scale = 1.0 if importance <= 1 else 10.0 if importance <= 10 else 100.0
    return min(max(importance / scale, 0.0), 1.0) if math.isfinite(importance) else 0.5


def _mcp_memory(path: Path, settings: Settings, refused: Refused) -> Iterator[Piece]:
    """Yield the memories of the reference memory server's file: entities with observations, and relations, one per line."""
    with turns.opened(path) as file:
        for number, line in turns.lines(file, settings, lambda line, why: refused(str(path), line, why)):
            try:
                row = json.loads(line) if line.strip() else None
            except (ValueError, RecursionError):
                refused(str(path), number, "not JSON")
                continue
            if row is not None:
                texts = list(_graph_texts(row)) if isinstance(row, dict) else []
                if not texts:
                    refused(str(path), number, "neither an entity nor a relation")
                yield from (_memory(text, None, {}) for text in texts)


def _graph_texts(row: Mapping[str, Any]) -> Iterator[str]:
    if row.get("type") == "entity" and isinstance(row.get("name"), str):
        kind = f" ({row['entityType']})" if row.get("entityType") else ""
        observations = [text for text in row.get("observations") or () if isinstance(text, str) and text.strip()]
        yield from (f"{row['name']}{kind}: {text}" for text in observations or ["is known"])
    elif row.get("type") == "relation" and all(isinstance(row.get(name), str) for name in ("from", "relationType", "to")):
        yield f"{row['from']} {row['relationType'].replace('_', ' ')} {row['to']}"


def _is_graph(path: Path) -> bool:
    """Return True if the first line is an entity or a relation of the reference memory server."""
    try:
        with turns.opened(path) as file:
            first = json.loads(file.readline(_MEGABYTE) or b"null")
    except (ValueError, OSError, EOFError, RecursionError):
        return False
    return isinstance(first, dict) and first.get("type") in ("entity", "relation")


_READERS: Mapping[str, Callable[[Path, Settings, Refused], Iterator[Piece]]] = {
    "text": _text,
    "jsonl": _jsonl,
    "markdown": _markdown,
    "chatgpt": _chatgpt,
    "claude": _claude,
    "mem0": _mem0,
    "mcp-memory": _mcp_memory,
    "sqlite": _sqlite,
}


def _checked_turn(turn: Turn, settings: Settings, refused: Refused, place: str, number: int) -> Iterator[Turn]:
    try:
        turns.check(turn, settings)
    except NotATurn as problem:
        refused(place, number, str(problem))
    else:
        yield turn


def _memory(text: str, at: datetime | None, attributes: Mapping[str, str]) -> Memory:
    return Memory(text=text.strip(), source=Source.IMPORT, happened_at=at, happened_until=at, attributes=dict(attributes))


def _when(value: object) -> datetime | None:
    """Return a moment given as seconds since 1970 or in ISO 8601; None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    return moment.replace(tzinfo=UTC) if moment is not None and moment.tzinfo is None else moment


def _digest(*parts: object) -> str:
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


# ── files, folders and zips of JSON ────────────────────────────────────────────────────────────────────────────────────


def _json_format(path: Path) -> str:
    """Return the format of JSON by the shape of its beginning; refuse unknown JSON, which would be junk as text."""
    try:
        for _, file in _json_files(path, Settings()):
            head = file.read(_MEGABYTE)
            form = (
                "json" if _OWN_JSON.match(head)
                else "chatgpt" if b'"mapping"' in head
                else "claude" if b'"chat_messages"' in head
                else "mem0" if _MEM0.search(head)
                else ""
            )  # fmt: skip
            if form:
                return form
            break
    except (EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise _unreadable(path, error) from None
    raise InvalidContent(
        "this JSON is of no known format.",
        way_out=f"Name its format with `--format` (one of: {', '.join(FORMATS)}); `text` reads it as plain text.",
    )


def own_records(path: Path, settings: Settings, refused: Refused) -> Iterator[dict[str, Any]]:
    """Yield the records of our own JSON export, which are those of an archive."""
    with opened(path) as file:
        data = _parsed(file, settings, str(path))
    if not isinstance(data, list):
        raise InvalidContent("this file is not a JSON export of Engram.", way_out="Name its format with `--format`.")
    for number, record in enumerate(data, 1):
        if isinstance(record, dict):
            yield record
        else:
            refused(str(path), number, "not a record")


def _conversations(path: Path, settings: Settings, refused: Refused) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield the conversations of an export; large exports have several files (`conversations-000.json`, …)."""
    for place, file in _json_files(path, settings):
        data = _parsed(file, settings, place)
        for number, conversation in enumerate(data if isinstance(data, list) else [data], 1):
            if isinstance(conversation, dict):
                yield place, number, conversation
            else:
                refused(place, number, "not a conversation")


@contextmanager
def _json_file(path: Path, settings: Settings) -> Iterator[IO[bytes]]:
    with turns.opened(path) as file:
        yield file


def _json_files(path: Path, settings: Settings) -> Iterator[tuple[str, IO[bytes]]]:
    if path.is_dir():
        for member in sorted(path.glob(f"**/{_CONVERSATIONS}*.json")):
            with member.open("rb") as file:
                yield str(member), file
    elif zipfile.is_zipfile(path):
        yield from _zipped(path, settings)
    else:
        with turns.opened(path) as file:
            yield str(path), file


def _zipped(path: Path, settings: Settings) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as packed:
        members = [member for member in packed.infolist() if _is_conversations(member.filename)]
        if not members:
            raise InvalidContent(f"there are no {_CONVERSATIONS} in this zip.", way_out="Name its format with `--format`.")
        if sum(member.file_size for member in members) > settings.import_bytes:
            raise _too_large(settings)
        for member in sorted(members, key=lambda member: member.filename):
            if member.flag_bits & 1:
                raise InvalidContent("this zip has a password.", way_out="Unpack it yourself, then import the folder.")
            if member.file_size > max(_MEGABYTE, member.compress_size * _RATIO):
                raise ContentTooLarge("a member of this zip is packed too tightly for text.", way_out="Unpack it and check it.")
            with packed.open(member) as file:
                yield f"{path}/{member.filename}", file


def _is_conversations(member: str) -> bool:
    name = member.replace("\\", "/").rpartition("/")[2]
    return name.startswith(_CONVERSATIONS) and name.endswith(".json")


def _parsed(file: IO[bytes], settings: Settings, place: str) -> Any:
    """Return the JSON of a file of at most `import_bytes`, whatever size a zip states for it."""
    try:
        content = file.read(settings.import_bytes + 1)
    except (EOFError, OSError, zipfile.BadZipFile) as error:
        raise InvalidContent(f"{place} cannot be read ({type(error).__name__}).", way_out="Use another copy of it.") from None
    if len(content) > settings.import_bytes:
        raise _too_large(settings)
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InvalidContent(f"{place} is not JSON.", way_out="Name its format with `--format`.") from None


def _too_large(settings: Settings) -> ContentTooLarge:
    return ContentTooLarge(
        f"the file has more than {settings.import_bytes:,} bytes.", way_out="Import it in parts, or raise `import_bytes`."
    )
