"""What was said in a host's session, taken in: the transcript by its refs, and a word for whoever goes on.

An agent that stops twice in a second has two of these at work; the store knows a ref that was heard meanwhile.

The hosts' transcripts as turns: what people and the assistant said, and nothing of tools, commands and the host itself.

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

from engram import settings as settings_room
from engram.capture import redaction
from engram.engine import Engram
from engram.env import Env
from engram.serve.hook.events import CODEX, Event, asks_something, whole
from engram.serve.hook.prompt import scoped
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder
from engram.text.english.grammar import is_assistant
from engram.types import Memory, Report, Turn

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


_GOAL = 400  # characters
_MOST = 5  # decisions, and commitments, that are handed over


def capture(event: Event, vault: str | None, identity: Mapping[str, str]) -> Report | None:
    """Keep what is new in the transcript. Where there is no vault nothing is kept, and none is made."""
    env = Env()
    where = settings_room.home() if vault is None else Path(vault).expanduser().absolute()
    if not event.transcript or not VaultFolder(where).exists():
        return None
    said = list(turns(Path(event.transcript).expanduser(), event.client, event.session))
    if not said:
        return None
    who = {**scoped(LiveSettings(monotonic=env.monotonic).now, event), **identity}
    with Engram.open(where, settings=who, env=env, session=event.session or None) as mem:
        report = mem.ingest(said)
        if report.counts.get("turns"):
            _hand_over(mem, said, event.session)
        return report


def _hand_over(mem: Engram, said: list[Turn], session: str) -> None:
    """What was asked last, and what was decided and promised on the way. Cut to length without what is private or secret: of
    half a key nobody can tell that it was one."""
    own_words = ((redaction.cut(turn.text, catch_secrets=True).text, turn.ref) for turn in reversed(said) if _is_own(turn))
    asked, ref = next(((text, ref) for text, ref in own_words if asks_something(text)), ("", None))
    own = [one for one in mem.list(limit=200) if one.session == session and _is_own(one)]
    decided, open_ = ([one for one in own if one.category == sort][:_MOST] for sort in ("decision", "commitment"))
    mem.working.hand_over(
        asked[:_GOAL],
        decided=[one.text for one in decided],
        open=[one.text for one in open_],
        sources=[*([ref] if ref else []), *(one.id for one in (*decided, *open_))],
    )


def _is_own(said: Turn | Memory) -> bool:
    return not is_assistant(said.speaker)
