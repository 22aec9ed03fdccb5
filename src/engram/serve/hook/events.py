"""The hosts: what Claude Code and Codex say on standard input, what they expect to read, and nothing of what it is for.

Both send one JSON object with `hook_event_name`, `session_id`, `transcript_path`, `cwd` and, with a prompt, `prompt`; both take
`hookSpecificOutput.additionalContext` as something for the model to read. Little is loaded: every prompt waits for it.
"""

from __future__ import annotations

import json

from engram.text.english.courtesy import STOP_WORDS, is_courtesy
from engram.values.frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CLAUDE, CODEX = "claude-code", "codex"
EVENTS = {
    "session-start": "SessionStart",
    "user-prompt": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "stop": "Stop",
    "session-end": "SessionEnd",
}
_NAMES = {theirs: ours for ours, theirs in EVENTS.items()}
_LEAST = 8  # characters of a prompt that can ask for something: "go on" asks for nothing that is kept
_SESSION = 64  # characters of its id
_COURTEOUS = 80  # longer ones are looked at where there is more at hand


class NoEvent(ValueError):
    """Says why, in words of ours."""


@frozen
class Event:
    """One thing that happened in a host."""

    name: str
    client: str
    session: str = ""
    prompt: str = ""
    transcript: str = ""
    folder: str = ""
    source: str = ""  # why a session starts


def read(content: bytes, client: str, named: str = "") -> Event:
    """The event on standard input; which one is said by the command, else by the host."""
    try:
        given: Any = json.loads(content) if content.strip() else {}
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise NoEvent("what stands on standard input is no event.")
    name = named or _NAMES.get(str(given.get("hook_event_name")), "")
    if name not in EVENTS:
        raise NoEvent(f"there is no such event; there are {', '.join(EVENTS)}.")
    fields = ("session_id", "prompt", "transcript_path", "cwd", "source")
    session, prompt, transcript, folder, source = (given[key] if isinstance(given.get(key), str) else "" for key in fields)
    return Event(name, client, whole(session)[:_SESSION], whole(prompt), transcript, folder, source)


def whole(text: str) -> str:
    """Half a character, which a host may leave where it cut a text, is none: nothing that keeps or looks up words takes it."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def written(event: Event) -> bytes:
    """An event for a process of our own: where the transcript is, and none of its words."""
    told = {"session_id": event.session, "transcript_path": event.transcript, "cwd": event.folder}
    return json.dumps(told).encode()


def answer(event: Event, text: str) -> str:
    """What the host reads: context for the model, or nothing at all."""
    if not text:
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": EVENTS[event.name], "additionalContext": text}})


def asks_something(prompt: str) -> bool:
    """Is this more than a nod, a courtesy or a command of the host? Words that are never looked up ask for nothing."""
    said = prompt.strip()
    if len(said) < _LEAST or (said.startswith("/") and " " not in said):
        return False
    words = "".join(letter if letter.isalnum() else " " for letter in said[:_COURTEOUS].lower()).split()
    return len(said) > _COURTEOUS or not (STOP_WORDS.issuperset(words) or is_courtesy(said, words))
