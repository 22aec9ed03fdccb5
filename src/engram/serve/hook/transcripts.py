"""The hosts' transcripts as turns: what people and the assistant said, and nothing of tools, commands and the host itself.

Neither format is promised to anyone, so a line that is not understood is passed over. Each turn has a `ref` of its own, so that
reading a transcript again adds nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from engram.serve.hook.hosts import CODEX, whole
from engram.types import Turn

_LINE_BYTES = 16 << 20
_ID = 64  # characters; who has a longer one is known by its line
_UNIQUE = 32  # from so many on, as a UUID has, there is no other of it anywhere
_TEXT = 60_000  # characters of one turn that are taken
_NOT_SAID = (
    "<command-", "<local-command-", "<bash-", "<task-notification>", "<environment_context", "<user_instructions", "<permissions",
    "<turn_aborted", "<user_shell_command>", "<subagent_notification>", "<skill>", "<INSTRUCTIONS>", "# AGENTS.md instructions",
    "Caveat: The messages below", "[Request interrupted",
)  # fmt: skip
_REMINDER = re.compile(r"<(system-reminder|ide_[a-z_]+)>.*?(?:</\1>|\Z)", re.DOTALL)

_OF_THE_HOST = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")

Said = tuple[str, str, str]  # who, what, an id of its own


def turns(path: Path, client: str, session: str) -> Iterator[Turn]:
    """The turns of a transcript in their order. None if it is no file."""
    if not path.is_file():
        return
    said: Callable[[Mapping[str, Any]], Said | None] = _codex if client == CODEX else _claude
    with path.open("rb") as file:
        for number, line in enumerate(_lines(file)):
            row = _row(line)
            found = said(row) if row is not None else None
            if row is None or found is None:
                continue
            who, text, own = found
            words = whole(_REMINDER.sub("", text).strip()[:_TEXT])
            if words and not words.startswith(_NOT_SAID):
                ref = _ref(client, session, own if own.isascii() and len(own) <= _ID else "", number)
                yield Turn(words, who, at=_moment(row.get("timestamp")), session=session or None, ref=ref)


def _ref(client: str, session: str, own: str, number: int) -> str:
    """Claude Code may go on with a session under another id, in a file that begins with a copy of all that was said."""
    return f"{client}:{own}" if len(own) >= _UNIQUE else f"{client}:{session}:{own or number}"


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Each line; nothing for one that is longer than any turn, and that is never held whole."""
    while line := file.readline(_LINE_BYTES):
        kept = line
        while len(line) == _LINE_BYTES and not line.endswith(b"\n"):
            line, kept = file.readline(_LINE_BYTES), b""
        yield kept


def _row(line: bytes) -> Mapping[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # the last line may be half written
        return None
    return row if isinstance(row, dict) else None


def _claude(row: Mapping[str, Any]) -> Said | None:
    message = row.get("message")
    if row.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    if any(row.get(mark) for mark in _OF_THE_HOST) or message.get("model") == "<synthetic>":
        return None
    own = row.get("uuid")
    return row["type"], _words(message.get("content"), ("text",)), own if isinstance(own, str) else ""


def _codex(row: Mapping[str, Any]) -> Said | None:
    payload = row.get("payload")
    if row.get("type") != "response_item" or not isinstance(payload, dict) or payload.get("type") != "message":
        return None
    role = payload.get("role")
    return (role, _words(payload.get("content"), ("input_text", "output_text")), "") if role in ("user", "assistant") else None


def _words(content: object, kinds: tuple[str, ...]) -> str:
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
