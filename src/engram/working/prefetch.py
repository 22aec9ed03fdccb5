"""Prefetching (§8.9): the search that the next message will likely need runs before it comes.

A message without content of its own ("why?", "go on") is searched with the conversation's mean question vector, which is known
before the message: its result can be prefetched. A message that depends on the conversation and adds something is compared by its
blended vector. A self-contained message is never answered from a prefetch: of its first ten hits an everyday conversation
predicts one (docs/notes/working.md). A result is used only for the reader it was made for, if nothing in the vault changed since,
within a minute; its hits count as used only when they are shown.

One thread per vault, started when first needed; one result per reader.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from functools import partial

from engram.env import Env
from engram.errors import EngramError
from engram.log import Log
from engram.recall.plan import Query, asks_nothing
from engram.recall.searcher import NOTHING_ASKED, Searcher
from engram.rules import topics
from engram.rules.topics import Vector, similarity
from engram.rules.working import WorkingLimits
from engram.settings import LiveSettings, Settings
from engram.types import Reader, Recall, Turn
from engram.values.frozen import frozen, mutable, replace
from engram.values.query import is_narrow
from engram.working.memory import Working
from engram.working.sets import WorkingSets


@frozen(kw_only=True)
class PrefetchState:
    """Everything a result depends on beside its query: reader, last change of the vault, settings, time."""

    reader: Reader
    change: int
    settings: Settings
    now: datetime


@frozen(kw_only=True, eq=False)
class PrefetchedResult:
    """A prefetched result: its query vector, the hits, their limit, and the state when it was made."""

    query: Vector
    recall: Recall
    limit: int
    state: PrefetchState


def still_valid(result: PrefetchedResult | None, state: PrefetchState, limit: int, most_s: float) -> PrefetchedResult | None:
    """Return the prefetched result if a search now would give the same; else None."""
    if result is None or limit > result.limit:
        return None
    same = replace(result.state, now=state.now) == state
    return result if same and abs((state.now - result.state.now).total_seconds()) <= most_s else None


def matches(result: PrefetchedResult, query: Vector, background: float, least: float) -> bool:
    """True if this query vector is close enough to the prefetched one."""
    closeness = similarity(query, result.query, background)
    return closeness is not None and closeness >= least


def first_hits(result: PrefetchedResult, limit: int) -> Recall:
    """Return the first `limit` hits of a prefetched result."""
    return result.recall if limit >= len(result.recall.hits) else replace(result.recall, hits=result.recall.hits[:limit])


log = Log("engram")

_READERS = 64  # most readers with a prefetched result


@mutable
class PrefetchCounts:
    """The number of contexts requested, and of those that a prefetched result answered."""

    asked: int = 0
    ready: int = 0


class Prefetcher:
    """Prefetched results by reader."""

    def __init__(self, sets: WorkingSets, searcher: Callable[[], Searcher], live: LiveSettings, env: Env) -> None:
        self._sets = sets
        self._searcher = searcher
        self._live = live
        self._env = env
        self._results: dict[Reader, PrefetchedResult] = {}
        self._limits: dict[Reader, int] = {}
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._closed = False
        self._running: Future[None] | None = None
        self.figures = PrefetchCounts()

    def start(self, reader: Reader) -> None:
        """Start to prefetch for a reader that requests contexts, unless prefetching is off or already running."""
        with self._lock:
            busy = self._running is not None and not self._running.done()
            if busy or self._closed or reader not in self._limits or not self._live.now.anticipate_s:
                return
            self._executor = self._executor or ThreadPoolExecutor(1, "engram-prefetch")
            self._running = self._executor.submit(self._prefetch, reader)

    def follow(self, reader: Reader, turns: Sequence[Turn]) -> None:
        """Queue turns for working memory and start to prefetch for the message after them."""
        self._sets.queue_turns(reader, turns)
        self.start(reader)

    def settle(self) -> None:
        """Wait until a running prefetch is done."""
        if self._running is not None:
            self._running.result()

    def _prefetch(self, reader: Reader) -> None:
        try:
            query = Working(self._sets, reader).course
            if query is None:
                return
            limit, state = self._limits[reader], self._state(reader, self._env.now())
            recall = self._searcher().recall_uncounted(reader, Query(text="", now=state.now, limit=limit, vector=query))
            with self._lock:
                self._results[reader] = PrefetchedResult(query=query, recall=recall, limit=limit, state=state)
        except EngramError as error:  # the next question is searched when it comes
            log.info("prefetching failed: %s", error.code)

    def answer(self, reader: Reader, message: str, asked: Query) -> Recall:
        """Return the prefetched result if it answers this message, else search now; nothing for a courtesy.

        Uses are not counted here, but when the window shows the hits.
        """
        if asks_nothing(message):
            return NOTHING_ASKED
        searcher, working, dependence = self._searcher(), Working(self._sets, reader), topics.dependence(message)
        topic = working.course if dependence >= 1.0 else None  # a message without content asks about the topic
        if topic is not None:
            asked = replace(asked, text="", vector=topic)
        else:
            asked = replace(asked, contextualize=partial(working.blend, message))
        limit = self._note_request(reader, asked)
        state = self._state(reader, asked.now)
        result = still_valid(self._results.get(reader), state, limit, state.settings.anticipate_s)
        # A self-contained message is encoded and searched by words in parallel; what was prefetched has passed no filter.
        if result is None or not dependence or is_narrow(asked.where):
            return searcher.recall_uncounted(reader, asked)
        query = topic if topic is not None else searcher.vector_of(asked)
        if query is None or not matches(result, query, searcher.background, self._live.tuned(WorkingLimits).anticipated):
            return searcher.recall_uncounted(reader, replace(asked, vector=query))
        self.figures.ready += 1
        return first_hits(result, limit)

    def _note_request(self, reader: Reader, asked: Query) -> int:
        """Note and return how many hits this reader wants."""
        limit = asked.limit or self._live.now.recall_limit
        with self._lock:
            self.figures.asked += 1
            self._limits.pop(reader, None)
            self._limits[reader] = limit
            while len(self._limits) > _READERS:
                evicted = next(iter(self._limits))
                del self._limits[evicted]
                self._results.pop(evicted, None)
        return limit

    def _state(self, reader: Reader, now: datetime) -> PrefetchState:
        change = self._sets.store.changes.latest(reader)
        return PrefetchState(reader=reader, change=change, settings=self._live.now, now=now)

    def close(self) -> None:
        with self._lock:
            self._closed = True
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
