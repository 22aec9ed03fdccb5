"""Transcripts of Claude Code and Codex as turns: what people and the assistant said, without tools, commands and notes of the
host.

Neither format is documented, so a line that is not understood is skipped. Each turn has a stable `ref`, so that reading a
transcript again adds nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from engram.hosts import CODEX
from engram.serve.hook.events import without_surrogates
from engram.types import Turn

_LINE_BYTES = 16 << 20
_MAX_ID = 64  # characters; a message with a longer id is identified by its line number
_GLOBAL_ID = 32  # characters; an id of this length, such as a UUID, is unique across sessions
_MAX_TEXT = 60_000  # characters of one turn
_HOST_PREFIXES = (
    "<command-", "<local-command-", "<bash-", "<task-notification>", "<environment_context", "<user_instructions", "<permissions",
    "<turn_aborted", "<user_shell_command>", "<subagent_notification>", "<skill>", "<INSTRUCTIONS>", "# AGENTS.md instructions",
    "Caveat: The messages below", "[Request interrupted",
)  # fmt: skip
_REMINDER = re.compile(r"<(system-reminder|ide_[a-z_]+)>.*?(?:</\1>|\Z)", re.DOTALL)
_HOST_MARKS = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")

_Message = tuple[str, str, str]  # speaker, text, the message's own id or ""


def turns(path: Path, client: str, session: str) -> Iterator[Turn]:
    """Yield the turns of a transcript in order; none if it is not a file."""
    if not path.is_file():
        return
    message_of: Callable[[Mapping[str, Any]], _Message | None] = _codex_message if client == CODEX else _claude_message
    with path.open("rb") as file:
        for number, line in enumerate(_lines(file)):
            row = _row(line)
            message = message_of(row) if row is not None else None
            if row is None or message is None:
                continue
            speaker, text, own_id = message
            words = without_surrogates(_REMINDER.sub("", text).strip()[:_MAX_TEXT])
            if words and not words.startswith(_HOST_PREFIXES):
                ref = _ref(client, session, own_id if own_id.isascii() and len(own_id) <= _MAX_ID else "", number)
                yield Turn(words, speaker, at=_moment(row.get("timestamp")), session=session or None, ref=ref)


def _ref(client: str, session: str, own_id: str, number: int) -> str:
    """Return the ref of a turn. It leaves out the session if the message's id is globally unique: Claude Code may resume a
    session under a new id, in a file that begins with a copy of the old transcript."""
    return f"{client}:{own_id}" if len(own_id) >= _GLOBAL_ID else f"{client}:{session}:{own_id or number}"


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file, b"" in place of an overlong one, which is never held in memory as a whole."""
    while line := file.readline(_LINE_BYTES):
        kept = line
        while len(line) == _LINE_BYTES and not line.endswith(b"\n"):
            line, kept = file.readline(_LINE_BYTES), b""
        yield kept


def _row(line: bytes) -> Mapping[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # the host may be writing the last line
        return None
    return row if isinstance(row, dict) else None


def _claude_message(row: Mapping[str, Any]) -> _Message | None:
    message = row.get("message")
    if row.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    if any(row.get(mark) for mark in _HOST_MARKS) or message.get("model") == "<synthetic>":
        return None
    own_id = row.get("uuid")
    return row["type"], _text(message.get("content"), ("text",)), own_id if isinstance(own_id, str) else ""


def _codex_message(row: Mapping[str, Any]) -> _Message | None:
    payload = row.get("payload")
    if row.get("type") != "response_item" or not isinstance(payload, dict) or payload.get("type") != "message":
        return None
    role = payload.get("role")
    return (role, _text(payload.get("content"), ("input_text", "output_text")), "") if role in ("user", "assistant") else None


def _text(content: object, kinds: tuple[str, ...]) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        part["text"]
        for part in parts
        if isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str)
    )


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
