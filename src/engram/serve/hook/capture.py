"""What was said in a host's session, taken in: the transcript by its refs, and a word for whoever goes on.

An agent that stops twice in a second has two of these at work; the store knows a ref that was heard meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engram import settings as settings_room
from engram.capture import marks
from engram.engine import Engram
from engram.env import Env
from engram.serve.hook.glance import scoped
from engram.serve.hook.hosts import Event, asks_something
from engram.serve.hook.transcripts import turns
from engram.settings import LiveSettings
from engram.store.folder import VaultFolder
from engram.text.person import is_assistant
from engram.types import Memory, Report, Turn

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
    own_words = ((marks.cut(turn.text, catch_secrets=True).text, turn.ref) for turn in reversed(said) if _is_own(turn))
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
