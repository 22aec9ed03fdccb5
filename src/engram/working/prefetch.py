"""Looking ahead: beside the use, after a turn went through a mind, what the next one will likely ask is looked up.

One thread for a vault, made when first needed; one answer for each reader. Nothing that is served is counted before it is.

What the next message will likely ask, looked up before it comes; and whether a message that came is that one (§8.9). Pure.

While an agent answers, the talk has a way, and a message that says nothing by itself ("why?", "go on") asks just what that way
says: its answer can be ready. One that leans on the talk and says something of its own is compared by its vector, drawn as it
leans. What stands by itself is never served: of its first ten hits the way of everyday talk predicts one (docs/notes/working.md).

An answer is served to the very reader it was made for, from a vault in which nothing changed since, within a minute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from functools import partial

from engram.env import Env
from engram.errors import EngramError
from engram.log import Log
from engram.recall.plan import Query, asks_nothing
from engram.recall.searcher import NOTHING_ASKED, Searcher
from engram.rules import topics
from engram.rules.topics import Vector, likeness
from engram.rules.working import WorkingLimits
from engram.settings import LiveSettings, Settings
from engram.types import Reader, Recall
from engram.values.frozen import frozen, mutable, replace
from engram.working.memory import Working
from engram.working.sets import Desks


@frozen(kw_only=True)
class State:
    """What an answer depends on besides its question: who asks, the vault's last change, the settings in force, the time."""

    reader: Reader
    change: int
    settings: Settings
    now: datetime


@frozen(kw_only=True, eq=False)
class Expected:
    """What is ready: the vector that was looked up, at most so many hits for it, and the state in which it was."""

    query: Vector
    recall: Recall
    limit: int
    state: State


def ready(expected: Expected | None, state: State, limit: int, most_s: float) -> Expected | None:
    """What was looked up ahead, if it is as good now as if it were looked up now."""
    if expected is None or limit > expected.limit:
        return None
    same = replace(expected.state, now=state.now) == state
    return expected if same and abs((state.now - expected.state.now).total_seconds()) <= most_s else None


def meant(expected: Expected, query: Vector, background: float, least: float) -> bool:
    """Does a question of this vector ask what was expected?"""
    near = likeness(query, expected.query, background)
    return near is not None and near >= least


def served(expected: Expected, limit: int) -> Recall:
    """So many hits of it."""
    return expected.recall if limit >= len(expected.recall.hits) else replace(expected.recall, hits=expected.recall.hits[:limit])


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
        searcher, mind, leaning = self._searcher(), Working(self._desks, reader), topics.leaning(message)
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
