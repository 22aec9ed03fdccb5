"""Server-sent events: which memories changed, by id, as the caller may see them. Words are fetched by who wants them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable

from engram.aio import Threads
from engram.engine import Engram
from engram.errors import EngramError, RateLimited
from engram.types import ChangeEvent, ChangeEvents
from engram.values.frozen import field, mutable

_BEAT_S = 15.0
_HOLDS_S = 2.0  # how often a stream with nothing to tell asks whether its token still holds
_PAGE = 500
STREAMS = 64
STREAMS_EACH = 16


@mutable
class Watch:
    """Looks for changes once for all who listen, and only while somebody does."""

    mem: Engram
    threads: Threads
    latest: int = -1
    listeners: Counter[str] = field(default_factory=Counter)
    ending: bool = False
    _moved: asyncio.Condition = field(default_factory=asyncio.Condition)
    _task: asyncio.Task[None] | None = None

    async def wait(self, seen: int, seconds: float) -> bool:
        """Is there something after `seen`, or the end, within so many seconds?"""
        try:
            async with asyncio.timeout(seconds), self._moved:
                await self._moved.wait_for(lambda: self.ending or self.latest > seen)
        except TimeoutError:
            return False
        return True

    def require_room(self, who: str) -> None:
        """Refuse one more listener where there are enough, of one token or at all: nobody crowds out the others."""
        if self.listeners[who] >= STREAMS_EACH or self.listeners.total() >= STREAMS:
            raise RateLimited(f"there are {STREAMS} streams at once, {STREAMS_EACH} for one token.", way_out="End one first.")

    def join(self, who: str) -> None:
        self.listeners[who] += 1
        if self._task is None:
            self._task = asyncio.create_task(self._look())

    def leave(self, who: str) -> None:
        self.listeners -= Counter((who,))
        if not self.listeners and self._task is not None:
            self._task.cancel()
            self._task = None

    async def end(self) -> None:
        self.ending = True
        async with self._moved:
            self._moved.notify_all()

    async def _look(self) -> None:
        while not self.ending:
            try:
                latest = await self.threads.run(lambda: self.mem.events().upto)
            except EngramError:  # a vault that cannot be read now has nothing to tell now
                latest = self.latest
            if latest != self.latest:
                self.latest = latest
                async with self._moved:
                    self._moved.notify_all()
            await asyncio.sleep(self.mem.settings.now.serve_events_s)


async def stream(watch: Watch, mem: Engram, who: str, after: int | None, holds: Callable[[], bool]) -> AsyncIterator[str]:
    """Events until the caller goes, the server ends or the token does not hold any more."""
    watch.join(who)
    try:
        seen = after if after is not None else (await watch.threads.run(mem.events)).upto
        yield f"retry: 2000\nid: {seen}\n\n"
        quiet = 0.0
        while not watch.ending:
            found = await watch.threads.run(lambda since=seen: mem.events(after=since, limit=_PAGE))  # type: ignore[misc]
            if found.missed:
                yield _missed(found)
            for event in found.events:
                yield _told(event)
            seen = found.upto
            if not found.events and not await watch.wait(seen, _HOLDS_S):
                quiet += _HOLDS_S
                if quiet >= _BEAT_S:
                    quiet = 0.0
                    yield ": beat\n\n"
            if not await watch.threads.run(holds):
                return
    finally:
        watch.leave(who)


def _missed(found: ChangeEvents) -> str:
    """Before what is still known. Its number is one that is known, so that it is said once."""
    seq = found.events[0].seq - 1 if found.events else found.upto
    return f"id: {seq}\nevent: missed\ndata: {json.dumps({'seq': seq, 'what': 'missed'})}\n\n"


def _told(event: ChangeEvent) -> str:
    data = json.dumps({"seq": event.seq, "id": event.id, "what": event.what})
    return f"id: {event.seq}\nevent: {event.what}\ndata: {data}\n\n"
