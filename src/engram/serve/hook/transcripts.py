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
from typing import Any

from engram.serve.hook.hosts import CODEX
from engram.types import Turn

_LINE_BYTES = 4 << 20
_TEXT = 60_000  # characters of one turn that are taken
_NOT_SAID = (
    "<command-", "<local-command-", "<bash-", "<environment_context", "<user_instructions", "<permissions", "<turn_aborted",
    "<INSTRUCTIONS>", "# AGENTS.md instructions", "Caveat: The messages below", "[Request interrupted",
)  # fmt: skip
_REMINDER = re.compile(r"<system-reminder>.*?(?:</system-reminder>|\Z)", re.DOTALL)

Said = tuple[str, str, str]  # who, what, an id of its own


def turns(path: Path, client: str, session: str) -> Iterator[Turn]:
    """The turns of a transcript in their order. None if it is no file."""
    if not path.is_file():
        return
    said: Callable[[Mapping[str, Any]], Said | None] = _codex if client == CODEX else _claude
    with path.open("rb") as file:
        for number, line in enumerate(file):
            row = _row(line)
            found = said(row) if row is not None else None
            if row is None or found is None:
                continue
            who, text, own = found
            words = _REMINDER.sub("", text).strip()[:_TEXT]
            if words and not words.startswith(_NOT_SAID):
                ref = f"{client}:{session}:{own or number}"
                yield Turn(words, who, at=_moment(row.get("timestamp")), session=session or None, ref=ref)


def _row(line: bytes) -> Mapping[str, Any] | None:
    if len(line) > _LINE_BYTES:
        return None
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):  # the last line may be half written
        return None
    return row if isinstance(row, dict) else None


def _claude(row: Mapping[str, Any]) -> Said | None:
    message = row.get("message")
    if row.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return None
    if any(row.get(mark) for mark in ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")):
        return None
    return row["type"], _words(message.get("content"), ("text",)), str(row.get("uuid") or "")


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
