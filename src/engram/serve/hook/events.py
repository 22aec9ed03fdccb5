"""Hook events of Claude Code and Codex: parsing their JSON, and the JSON that they expect back.

Both send one object with `hook_event_name`, `session_id`, `transcript_path`, `cwd` and, with a prompt, `prompt`; both give
`hookSpecificOutput.additionalContext` to the model. This module imports little, because every prompt waits for it.
"""

from __future__ import annotations

import json

from engram.hosts import HOOK_EVENTS
from engram.text.english.courtesy import STOP_WORDS, is_courtesy
from engram.values.frozen import frozen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES = {theirs: ours for ours, theirs in HOOK_EVENTS.items()}
_MIN_QUESTION = 8  # characters; a shorter prompt, such as "go on", asks for nothing that is stored
_SESSION_ID = 64  # characters
_MAX_COURTESY = 80  # characters; a longer prompt is never just a courtesy


class InvalidEvent(ValueError):
    """Raised for a bad call or bad input. The message holds no text of the host, so it may be printed."""


@frozen
class HookEvent:
    """An event of a host. source: why a session starts, such as "compact"."""

    name: str
    client: str
    session: str = ""
    prompt: str = ""
    transcript: str = ""
    folder: str = ""
    source: str = ""


def read(content: bytes, client: str, named: str = "") -> HookEvent:
    """Parse an event. Its name comes from the command line (`named`), else from the JSON."""
    try:
        given: Any = json.loads(content) if content.strip() else {}
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise InvalidEvent("standard input is not a JSON object.")
    name = named or _NAMES.get(str(given.get("hook_event_name")), "")
    if name not in HOOK_EVENTS:
        raise InvalidEvent(f"there is no such event; there are {', '.join(HOOK_EVENTS)}.")
    fields = ("session_id", "prompt", "transcript_path", "cwd", "source")
    session, prompt, transcript, folder, source = (given[key] if isinstance(given.get(key), str) else "" for key in fields)
    return HookEvent(
        name, client, without_surrogates(session)[:_SESSION_ID], without_surrogates(prompt), transcript, folder, source
    )


def without_surrogates(text: str) -> str:
    """Replace lone surrogates, which a host leaves where it cut a text inside a character: they can be neither stored nor
    searched."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def to_json(event: HookEvent) -> bytes:
    """Return an event as JSON for the background process: it names the transcript and holds none of its text."""
    return json.dumps({"session_id": event.session, "transcript_path": event.transcript, "cwd": event.folder}).encode()


def answer(event: HookEvent, text: str) -> str:
    """Return the JSON that makes a host give the text to the model; "" for no text."""
    if not text:
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": HOOK_EVENTS[event.name], "additionalContext": text}})


def asks_something(prompt: str) -> bool:
    """Return whether a prompt is more than a courtesy, stop words or a slash command of the host."""
    text = prompt.strip()
    if len(text) < _MIN_QUESTION or (text.startswith("/") and " " not in text):
        return False
    words = "".join(letter if letter.isalnum() else " " for letter in text[:_MAX_COURTESY].lower()).split()
    return len(text) > _MAX_COURTESY or not (STOP_WORDS.issuperset(words) or is_courtesy(text, words))
