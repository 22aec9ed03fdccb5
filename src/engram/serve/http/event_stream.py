"""Server-sent events: ids of memories that changed, as far as the caller may see them. Clients fetch the text themselves."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable

from engram.aio import Threads
from engram.engine import Engram
from engram.errors import EngramError, RateLimited
from engram.serve.network.server import ServeLimits
from engram.types import ChangeEvent, ChangeEvents
from engram.values.frozen import field, mutable

_HEARTBEAT_S = 15.0
_TOKEN_CHECK_S = 2.0  # how often an idle stream checks that its token is still valid
_PAGE = 500
STREAMS = 64
STREAMS_PER_TOKEN = 16


@mutable
class ChangeWatcher:
    """Polls the change log once for all streams, and only while there is one."""

    mem: Engram
    threads: Threads
    latest: int = -1
    listeners: Counter[str] = field(default_factory=Counter)
    ending: bool = False
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _task: asyncio.Task[None] | None = None

    async def wait(self, seen: int, seconds: float) -> bool:
        """Wait for a change after `seen` or for the end of the server; return False after so many seconds."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: self.ending or self.latest > seen)
        except TimeoutError:
            return False
        return True

    def require_room(self, token_id: str) -> None:
        """Raise `RateLimited` if the token, or the server, has as many streams as allowed."""
        if self.listeners[token_id] >= STREAMS_PER_TOKEN or self.listeners.total() >= STREAMS:
            raise RateLimited(
                f"at most {STREAMS} streams are open at once, {STREAMS_PER_TOKEN} per token.", way_out="Close one first."
            )

    def join(self, token_id: str) -> None:
        self.listeners[token_id] += 1
        if self._task is None:
            self._task = asyncio.create_task(self._poll())

    def leave(self, token_id: str) -> None:
        self.listeners -= Counter((token_id,))
        if not self.listeners and self._task is not None:
            self._task.cancel()
            self._task = None

    async def end(self) -> None:
        """End all streams."""
        self.ending = True
        async with self._changed:
            self._changed.notify_all()

    async def _poll(self) -> None:
        while not self.ending:
            try:
                latest = await self.threads.run(lambda: self.mem.events().upto)
            except EngramError:  # the vault cannot be read now: try again at the next poll
                latest = self.latest
            if latest != self.latest:
                self.latest = latest
                async with self._changed:
                    self._changed.notify_all()
            await asyncio.sleep(self.mem.settings.tuned(ServeLimits).serve_events_s)


async def stream(
    watcher: ChangeWatcher, mem: Engram, token_id: str, after: int | None, is_valid: Callable[[], bool]
) -> AsyncIterator[str]:
    """Yield events until the client leaves, the server ends or the token is no longer valid."""
    watcher.join(token_id)
    try:
        seen = after if after is not None else (await watcher.threads.run(mem.events)).upto
        yield f"retry: 2000\nid: {seen}\n\n"
        idle_s = 0.0
        while not watcher.ending:
            changes = await watcher.threads.run(lambda since=seen: mem.events(after=since, limit=_PAGE))  # type: ignore[misc]
            if changes.missed:
                yield _missed_event(changes)
            for event in changes.events:
                yield _change_event(event)
            seen = changes.upto
            if not changes.events and not await watcher.wait(seen, _TOKEN_CHECK_S):
                idle_s += _TOKEN_CHECK_S
                if idle_s >= _HEARTBEAT_S:
                    idle_s = 0.0
                    yield ": beat\n\n"
            if not await watcher.threads.run(is_valid):
                return
    finally:
        watcher.leave(token_id)


def _missed_event(changes: ChangeEvents) -> str:
    """Return the event `missed`, which comes before the changes that are still known. Its id is that of a known change, so that a
    client that reconnects does not get it again."""
    seq = changes.events[0].seq - 1 if changes.events else changes.upto
    return f"id: {seq}\nevent: missed\ndata: {json.dumps({'seq': seq, 'what': 'missed'})}\n\n"


def _change_event(event: ChangeEvent) -> str:
    data = json.dumps({"seq": event.seq, "id": event.id, "what": event.what})
    return f"id: {event.seq}\nevent: {event.what}\ndata: {data}\n\n"
