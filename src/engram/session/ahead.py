"""Looking ahead: beside the use, after a turn went through a mind, what the next one will likely ask is looked up.

One thread for a vault, made when first needed; one answer for each reader. Nothing that is served is counted before it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from functools import partial

from engram.context.anticipation import Expected, State, meant, ready, served
from engram.env import Env
from engram.errors import EngramError
from engram.frozen import mutable, replace
from engram.log import Log
from engram.memory import momentum
from engram.memory.mind import WorkingLimits
from engram.recall.plan import Query, asks_nothing
from engram.recall.search import NOTHING_ASKED, Searcher
from engram.session.desks import Desks
from engram.session.working import Working
from engram.settings import LiveSettings
from engram.types import Reader, Recall

log = Log("engram")

_READERS = 64  # whose answers are ready at once


@mutable
class Served:
    """How often an answer was ready, of how many contexts asked for."""

    asked: int = 0
    ready: int = 0


class Ahead:
    """What is ready for whom."""

    def __init__(self, desks: Desks, searcher: Callable[[], Searcher], live: LiveSettings, env: Env) -> None:
        self._desks = desks
        self._searcher = searcher
        self._live = live
        self._env = env
        self._expected: dict[Reader, Expected] = {}
        self._limits: dict[Reader, int] = {}
        self._lock = threading.Lock()
        self._beside: ThreadPoolExecutor | None = None
        self._closed = False
        self._working: Future[None] | None = None
        self.figures = Served()

    def look(self, reader: Reader) -> None:
        """Begin to look ahead for a reader who asks for contexts, unless that is switched off or still going on."""
        with self._lock:
            busy = self._working is not None and not self._working.done()
            if busy or self._closed or reader not in self._limits or not self._live.now.anticipate_s:
                return
            self._beside = self._beside or ThreadPoolExecutor(1, "engram-ahead")
            self._working = self._beside.submit(self._look, reader)

    def settle(self) -> None:
        """Until what was begun is done."""
        if self._working is not None:
            self._working.result()

    def _look(self, reader: Reader) -> None:
        try:
            query = Working(self._desks, reader).course
            if query is None:
                return
            limit, state = self._limits[reader], self._state(reader, self._env.now())
            found = self._searcher().recall_uncounted(reader, Query(text="", now=state.now, limit=limit, vector=query))
            with self._lock:
                self._expected[reader] = Expected(query=query, recall=found, limit=limit, state=state)
        except EngramError as error:  # the next question is looked up when it comes
            log.info("nothing was looked up ahead: %s", error.code)

    def answer(self, reader: Reader, message: str, asked: Query) -> Recall:
        """What is ready if this message asks it, else what is looked up now; nothing for a courtesy. Not counted yet: what of it
        stands before the agent is `given`."""
        if asks_nothing(message):
            return NOTHING_ASKED
        searcher, mind, leaning = self._searcher(), Working(self._desks, reader), momentum.leaning(message)
        bare = mind.course if leaning >= 1.0 else None
        asked = (
            replace(asked, text="", vector=bare)
            if bare is not None
            else replace(asked, contextualize=partial(mind.blend, message))
        )
        limit = self._asks(reader, asked)
        state = self._state(reader, asked.now)
        found = ready(self._expected.get(reader), state, limit, state.settings.anticipate_s)
        if found is None or not leaning:  # what stands by itself is encoded and searched at once, side by side
            return searcher.recall_uncounted(reader, asked)
        query = bare if bare is not None else searcher.vector_of(asked)
        if query is None or not meant(found, query, searcher.background, self._live.tuned(WorkingLimits).anticipated):
            return searcher.recall_uncounted(reader, replace(asked, vector=query))
        self.figures.ready += 1
        return served(found, limit)

    def _asks(self, reader: Reader, asked: Query) -> int:
        """How many hits this reader wants, now and likely next time."""
        limit = asked.limit or self._live.now.recall_limit
        with self._lock:
            self.figures.asked += 1
            self._limits.pop(reader, None)
            self._limits[reader] = limit
            while len(self._limits) > _READERS:
                gone = next(iter(self._limits))
                del self._limits[gone]
                self._expected.pop(gone, None)
        return limit

    def _state(self, reader: Reader, now: datetime) -> State:
        change = self._desks.store.latest_change(reader)
        return State(reader=reader, change=change, settings=self._live.now, now=now)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        if self._beside is not None:
            self._beside.shutdown(wait=True, cancel_futures=True)
