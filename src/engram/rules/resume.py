"""The briefing after a break (§34.9): the work that was in progress, and what was learned since."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram.rules.abridgement import shorten
from engram.rules.working import Resumed, Slot
from engram.types import Memory
from engram.values.frozen import frozen

_NEWS = 5
_IN_MIND = 3
_LINE_TOKENS = 40


@frozen(kw_only=True)
class Morning:
    """The briefing after a break.

    since: time of the last work in this scope; None if there was none. news: the most important memories learned since then;
    without a last time, the most important of the latest. text: all of it in a few lines; empty if there is nothing.
    """

    since: datetime | None
    goal: str = ""
    decided: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    in_mind: tuple[str, ...] = ()
    news: tuple[Memory, ...] = ()
    text: str = ""


def morning(since: datetime | None, resumed: Resumed, slots: Sequence[Slot], latest: Sequence[Memory]) -> Morning:
    """Return the briefing. `slots`: working memory when work stopped, however old; `latest`: the last memories, newest first."""
    recent = [memory for memory in latest if since is None or (memory.learned_at is not None and memory.learned_at > since)]
    important = sorted(recent, key=lambda memory: -memory.importance)[:_NEWS]
    news = tuple(memory for memory in recent if memory in important)
    stated = {resumed.goal, *resumed.decided, *resumed.open}
    in_mind = tuple(slot.text for slot in slots if slot.text not in stated)[:_IN_MIND]
    lines = [
        *_lines("Doing", (resumed.goal,)),
        *_lines("Decided", resumed.decided),
        *_lines("Open", resumed.open),
        *_lines("In mind", in_mind),
        *_lines("New since" if since is not None else "Known", [memory.text for memory in news]),
    ]
    head = [f"Last here {since:%Y-%m-%d %H:%M} UTC."] if since is not None and lines else []
    return Morning(
        since=since,
        goal=resumed.goal,
        decided=resumed.decided,
        open=resumed.open,
        in_mind=in_mind,
        news=news,
        text="\n".join([*head, *lines]),
    )


def _lines(title: str, texts: Sequence[str]) -> list[str]:
    return [f"{title}: {' '.join(shorten(text, _LINE_TOKENS).split())}" for text in texts if text.strip()]
