"""Capture of a host's session: new turns of the transcript are ingested, and a handoff for the next session is saved.

Two captures may run at once, if an agent stops twice in a second; the store skips turns whose ref it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engram import settings as settings_room
from engram.capture import redaction
from engram.engine import Engram
from engram.env import Env
from engram.serve.hook.events import HookEvent, asks_something
from engram.serve.hook.prompt import project_scope
from engram.serve.hook.transcripts import turns
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder
from engram.text.english.grammar import is_assistant
from engram.types import Memory, Report, Turn

_GOAL = 400  # characters
_HANDED_OVER = 5  # decisions, and as many commitments


def capture(event: HookEvent, vault: str | None, identity: Mapping[str, str]) -> Report | None:
    """Store the new turns of the event's transcript. Without a vault nothing is stored, and none is made."""
    env = Env()
    path = settings_room.home() if vault is None else Path(vault).expanduser().absolute()
    if not event.transcript or not VaultFolder(path).exists():
        return None
    transcript = list(turns(Path(event.transcript).expanduser(), event.client, event.session))
    if not transcript:
        return None
    settings = {**project_scope(LiveSettings(monotonic=env.monotonic).now, event), **identity}
    with Engram.open(path, settings=settings, env=env, session=event.session or None) as mem:
        report = mem.ingest(transcript)
        if report.counts.get("turns"):
            _hand_over(mem, transcript, event.session)
        return report


def _hand_over(mem: Engram, transcript: list[Turn], session: str) -> None:
    """Save the user's last request and the session's decisions and commitments for the next session. Private text and secrets are
    removed before the request is cut to length: half a key would no longer be recognised as one."""
    requests = ((redaction.cut(turn.text, catch_secrets=True).text, turn.ref) for turn in reversed(transcript) if _is_users(turn))
    goal, ref = next(((text, ref) for text, ref in requests if asks_something(text)), ("", None))
    memories = [memory for memory in mem.list(limit=200) if memory.session == session and _is_users(memory)]
    decided, open_ = (
        [memory for memory in memories if memory.category == category][:_HANDED_OVER] for category in ("decision", "commitment")
    )
    mem.working.hand_over(
        goal[:_GOAL],
        decided=[memory.text for memory in decided],
        open=[memory.text for memory in open_],
        sources=[*([ref] if ref else []), *(memory.id for memory in (*decided, *open_))],
    )


def _is_users(statement: Turn | Memory) -> bool:
    return not is_assistant(statement.speaker)
