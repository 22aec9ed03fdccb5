"""The vectors of one space of one open vault, always as the store has them.

Comes in: a reader, a question's vector and a filter. Goes out: keys with cosines, best first; None while it is still
loading, and the caller goes on with words alone and says so.

A worker loads the rows when asked to start, then tends what is served: seals, compacts, swaps tiers; each is built aside and
put in place by one assignment, so a search never waits for it. Before each search the change log is read on from where it was
left, so that what any process has written is found. Visibility and filters are masks applied inside the scan.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from engram.errors import DimensionMismatch, EngramError, InvalidQuery
from engram.guard.process import rss_bytes
from engram.guard.scopes import Visibility, readable
from engram.index.vectors import registry
from engram.index.vectors.encoding import Codes, Scales, decode, turn, turn_back
from engram.index.vectors.marks import Condition, Fresh, Marks
from engram.index.vectors.protocol import Allowed, Keys, Mask, Numbers, Scores, VectorIndex
from engram.index.vectors.rows import Rows
from engram.models.embed import Vectors
from engram.settings import LiveSettings, Settings
from engram.store.protocol import Filter
from engram.types import Reader

log = logging.getLogger("engram.index")

SpaceRow = tuple[int, int, str, str, str, int, bytes]
"""key, scope key, kind, status, category, when it happened or was learned (µs), the vector as `encoding` has it."""


class VectorSource(Protocol):
    """The verbs of the store that an index lives on."""

    def space_rows(self, reader: Reader, space: str, *, after: int, limit: int) -> Sequence[SpaceRow]:
        """Rows of a space with keys above `after`, in key order."""

    def space_rows_of(self, reader: Reader, space: str, keys: Sequence[int]) -> Sequence[SpaceRow]:
        """The rows of these keys that have a vector in the space, in any order."""

    def latest_change(self, reader: Reader) -> int:
        """The end of the change log; cheap, it is asked before every search."""

    def changed_keys(self, reader: Reader, after: int, limit: int) -> Sequence[tuple[int, int, str]]:
        """The log after a point: (seq, key, what). Numbers follow each other without a gap unless the log was cut."""

    def visible_scopes(self, reader: Reader) -> Collection[int] | None:
        """Keys of the scopes this reader sees; None for all."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """Keys of memories, best first, and the cosine of each with the question."""

    keys: Keys
    scores: Scores


@dataclass(frozen=True, slots=True)
class Warmth:
    """How far an index is: rows loaded, whether it answers, which tier does, and what there is to say about it."""

    loaded: int
    ready: bool
    backend: str
    memory_bytes: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Served:
    """Rows, their marks and the tier over them; replaced as a whole."""

    rows: Rows
    marks: Marks
    index: VectorIndex


@dataclass(slots=True)
class _Tasks:
    """How often the worker was called, and how many of these calls it has answered."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    called: int = 0
    done: int = 0
    closing: bool = False

    def call(self) -> None:
        with self.changed:
            self.called += 1
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closing = True
            self.changed.notify_all()

    def next(self) -> int:
        """Wait for a call; how many there were by then, 0 when closing."""
        with self.changed:
            self.changed.wait_for(lambda: self.closing or self.called > self.done)
            return 0 if self.closing else self.called

    def answer(self, upto: int) -> None:
        with self.changed:
            self.done = upto
            self.changed.notify_all()

    def settle(self, timeout: float | None) -> bool:
        with self.changed:
            return self.changed.wait_for(lambda: self.closing or self.done >= self.called, timeout)


class LiveIndex:
    """`start` it, `search` it from any thread, `close` it before the store. `owner` is who it reads the rows as."""

    def __init__(self, source: VectorSource, owner: Reader, space: str, dimensions: int, live: LiveSettings) -> None:
        self._source = source
        self._owner = owner
        self._space = space
        self._dimensions = dimensions
        self._live = live
        self._lock = threading.RLock()  # rows, marks, seq and scopes are written under it
        self._served: _Served | None = None
        self._seq = 0
        self._scopes: dict[Visibility, Keys | None] = {}
        self._loaded = 0
        self._tended = 0
        self._tuning: tuple[object, ...] = ()
        self._note = ""
        self._problem = ""
        self._tasks = _Tasks()
        self._worker = threading.Thread(target=self._work, name="engram-vectors", daemon=True)

    # ── life ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> None:
        """Begin to load, in the background. Starting twice is starting once."""
        with self._lock:
            if self._worker.ident is None:
                self._tasks.call()
                self._worker.start()

    def close(self) -> None:
        self._tasks.close()
        if self._worker.ident is not None:
            self._worker.join()
        with self._lock:
            self._served = None

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the worker has nothing left to do; for measurements and tests."""
        return self._tasks.settle(timeout)

    @property
    def ready(self) -> bool:
        return self._served is not None

    @property
    def warmth(self) -> Warmth:
        served = self._served
        notes = tuple(note for note in (self._problem, self._note) if note)
        if served is None:
            return Warmth(self._loaded, False, "", 0, notes)
        memory = served.rows.memory_bytes + served.marks.memory_bytes + served.index.memory_bytes
        return Warmth(len(served.rows), True, served.index.name, memory, notes)

    def relieve(self, pressure: str) -> None:
        """Shed what can be made again: masks when memory pressure is elevated; when critical, the tier is chosen anew."""
        with self._lock:
            if self._served is not None and pressure != "normal":
                self._served.marks.forget()
                self._scopes.clear()
        if pressure == "critical":
            self._tasks.call()

    # ── reading ────────────────────────────────────────────────────────────────────────────────────────────────────

    def search(
        self, reader: Reader, query: Vectors, k: int, *, where: Filter = Filter(), within: Collection[int] | None = None
    ) -> Nearest | None:
        """The `k` nearest of what this reader may see and asks for; None while loading.

        `within` narrows to keys that the store found, and must be given for a filter that is not `indexed` here.
        """
        if not where.indexed and within is None:
            raise InvalidQuery("attributes and the past are looked up by the store; the index needs the keys.")
        question = self._turned(query)
        condition = Condition.of(readable(reader), where)
        latest = self._source.latest_change(self._owner)
        with self._lock:
            served = self._current(latest)
            if served is None:
                return None
            allowed = served.marks.allowed(condition, self._visible(reader, condition.visibility))
            if within is not None:
                numbers = served.rows.find(_array(within))
                numbers = numbers[numbers >= 0]
                allowed = Allowed.only(numbers[allowed.mask[numbers]], len(allowed))
        found = served.index.search(question, k, allowed)
        return Nearest(served.rows.keys(found.numbers), found.scores)

    def score(self, reader: Reader, query: Vectors, keys: Sequence[int]) -> Scores | None:
        """The cosine of each of these memories; NaN where there is no vector or this reader does not see it."""
        question = self._turned(query)
        latest = self._source.latest_change(self._owner)
        with self._lock:
            served = self._current(latest)
            if served is None:
                return None
            numbers = self._seen(served, reader, keys)
        return served.index.score(question, numbers)

    def background(self, query: Vectors, prior: tuple[float, float]) -> tuple[float, float]:
        """Mean and spread of the question's cosine over a sample of all vectors: what "far from everything" means for it.

        A small vault has too few to tell, so `prior` counts like some more of them.
        """
        served = self._served
        count = served.rows.count if served is not None else 0
        if served is None or not count:
            return prior
        scores = served.index.score(self._turned(query), np.arange(0, count, max(count // _SAMPLE, 1), dtype=np.int64))
        scores = scores[np.isfinite(scores)]
        share = len(scores) / (len(scores) + _PRIOR)
        mean, spread = (float(scores.mean()), float(scores.std())) if len(scores) else prior
        return share * mean + (1 - share) * prior[0], share * spread + (1 - share) * prior[1]

    def vectors(self, reader: Reader, keys: Sequence[int]) -> Vectors | None:
        """The vectors of these memories, row by row; NaN where there is none or this reader does not see it."""
        latest = self._source.latest_change(self._owner)
        with self._lock:
            served = self._current(latest)
            if served is None:
                return None
            numbers = self._seen(served, reader, keys)
        made = np.full((len(numbers), self._dimensions), np.nan, np.float32)
        made[numbers >= 0] = turn_back(served.rows.vectors(numbers[numbers >= 0]))
        return made

    def _turned(self, query: Vectors) -> Vectors:
        question = np.ascontiguousarray(query, np.float32)
        if question.shape != (self._dimensions,):
            raise DimensionMismatch(f"the question has {question.shape} dimensions; the space holds {self._dimensions}.")
        if not np.isfinite(question @ question):
            raise InvalidQuery("the question's vector is not made of numbers.")
        return turn(question)

    def _seen(self, served: _Served, reader: Reader, keys: Sequence[int]) -> Numbers:
        numbers = served.rows.find(_array(keys))
        known = numbers[numbers >= 0]
        condition = Condition.of(readable(reader), Filter(statuses=()))
        admitted = served.marks.admits(condition, self._visible(reader, condition.visibility), known)
        numbers[numbers >= 0] = np.where(admitted, known, -1)
        return numbers

    def _visible(self, reader: Reader, visibility: Visibility) -> Keys | None:
        if visibility not in self._scopes:
            # A store that says "all" to a reader who does not see all is not believed.
            seen = None if visibility.everything else _array(self._source.visible_scopes(reader) or ())
            self._scopes[visibility] = seen
        return self._scopes[visibility]

    # ── following the store ────────────────────────────────────────────────────────────────────────────────────────

    def _current(self, latest: int) -> _Served | None:
        """What is served, brought up to change `latest`; None if it must be loaded first. Under the lock."""
        if self._served is None:
            if self._problem:
                self._tasks.call()  # try again: what stood in the way may be gone
            return None
        if not self._follow(self._served, latest):
            log.warning("the change log no longer reaches back to where the index was; loading it anew")
            self._served = None
            self._tasks.call()
        elif self._wants_care(self._served):
            self._tasks.call()
        return self._served

    def _follow(self, served: _Served, latest: int) -> bool:
        """Take in all changes up to `latest`; False if the log was cut in between, or ends before where we are."""
        if self._seq > latest:  # another thread went further; or the vault was put back to an earlier state
            return self._seq <= self._source.latest_change(self._owner)
        while self._seq < latest:
            changes = self._source.changed_keys(self._owner, self._seq, _CHANGES)
            if not changes or changes[0][0] != self._seq + 1:
                return False
            keys = sorted({key for _, key, what in changes if what != "relate"})
            if keys:
                self._take_in(served, _array(keys), self._source.space_rows_of(self._owner, self._space, keys))
            self._seq = changes[-1][0]
        return True

    def _take_in(self, served: _Served, keys: Keys, found: Sequence[SpaceRow]) -> None:
        """Make the rows of these keys what the store says they are."""
        rows, marks = served.rows, served.marks
        batch = _Batch.of(sorted(found), self._dimensions)
        before = rows.find(batch.keys)
        same = before >= 0
        scales, codes = rows.gather(before[same])
        same[same] = (scales == batch.scales[same]) & np.all(codes == batch.codes[same], axis=1)
        outdated = np.concatenate((rows.find(keys[~np.isin(keys, batch.keys)]), before[~same]))
        outdated = outdated[outdated >= 0]
        rows.remove(outdated)
        marks.touch(outdated)
        new = marks.rewrite(before[same], batch.part(same).marks)
        new |= _append(served, batch.part(~same))
        if new:  # a scope that no reader's set can have in it yet
            self._scopes.clear()
            marks.forget()

    # ── the worker ─────────────────────────────────────────────────────────────────────────────────────────────────

    def _work(self) -> None:
        while called := self._tasks.next():
            try:
                if self._served is None:
                    self._load()
                self._tend()
                self._problem = ""
            except EngramError as error:
                self._problem = str(error)
                log.warning("the vector index could not be brought up to date: %s", error)
            self._tasks.answer(called)

    def _load(self) -> None:
        """Read all rows, page by page; what changes meanwhile is taken in by the first search, from the log."""
        seq = self._source.latest_change(self._owner)
        rows = Rows(self._dimensions)
        served = _Served(rows, Marks(rows), registry.make("exact", rows, self._live.now))
        after, more = 0, True
        while more and not self._tasks.closing:
            page = self._source.space_rows(self._owner, self._space, after=after, limit=_PAGE)
            if page:
                _append(served, _Batch.of(page, self._dimensions))
                after = page[-1][0]
            self._loaded = rows.count
            more = len(page) == _PAGE
        with self._lock:
            if not self._tasks.closing:
                self._scopes.clear()
                self._seq = seq
                self._served = served

    def _wants_care(self, served: _Served) -> bool:
        grown = abs(served.rows.count - self._tended) >= max(_GROWTH, self._tended // 8)
        return grown or served.index.unsealed or _wasteful(served.rows) or self._tuning != _tuning(self._live.now)

    def _tend(self) -> None:
        """Compact, choose the tier and seal, each beside the searches that go on. Only the worker replaces what is served."""
        served = self._served
        if served is None:
            return
        if _wasteful(served.rows):
            served = self._compacted(served)
        settings = self._live.now
        memory = self.warmth.memory_bytes
        budget = settings.ram_critical_mib - (rss_bytes() - memory) / 2**20
        choice = registry.choose(len(served.rows), self._dimensions, budget, settings, served.index.name)
        self._note = choice.note
        if choice.name != served.index.name or self._tuning != _tuning(settings):
            served = _Served(served.rows, served.marks, registry.make(choice.name, served.rows, settings))
        while served.index.unsealed and not self._tasks.closing:
            served.index.seal(lambda: self._tasks.closing)
        self._tended, self._tuning = served.rows.count, _tuning(settings)
        self._serve(served)

    def _compacted(self, old: _Served) -> _Served:
        """Rows without the removed ones. Codes are copied beside the searches; what changed meanwhile, under the lock."""
        rows = Rows(self._dimensions)
        before = old.rows.count
        kept = old.rows.living()
        kept = kept[np.argsort(old.rows.keys(kept))]  # in the order of keys, as when they are loaded
        for start in range(0, len(kept), _PAGE):
            some = kept[start : start + _PAGE]
            rows.add(old.rows.keys(some), *old.rows.gather(some))
        index = registry.make(old.index.name, rows, self._live.now)
        while index.unsealed and not self._tasks.closing:
            index.seal(lambda: self._tasks.closing)
        with self._lock:
            since = old.rows.living()
            since = since[np.searchsorted(since, before) :]
            rows.remove(np.flatnonzero(~old.rows.alive(old.rows.count)[kept]))
            rows.add(old.rows.keys(since), *old.rows.gather(since))
            marks = Marks(rows)
            old.marks.copy_to(marks, np.concatenate((kept, since)))
            served = _Served(rows, marks, index)
            self._serve(served)
        return served

    def _serve(self, served: _Served) -> None:
        with self._lock:
            if self._served is not None:  # else a search found it outdated: it is loaded anew
                self._served = served


_SAMPLE = 512
_PRIOR = 32
_PAGE = 2048
"""Rows read from the store at a time: few, because what a page needs besides its rows stays with the process."""

_CHANGES = 10_000
"""Changes taken in at a time."""

_GROWTH = 64
"""New rows after which the choice of the tier is looked at again."""


def _append(served: _Served, batch: _Batch) -> bool:
    """Add rows; True if a scope came up that was never seen. Marks go first: a row is never there without them."""
    new = served.marks.append(served.rows.count, batch.marks)
    served.rows.add(batch.keys, batch.scales, batch.codes)
    return new


def _wasteful(rows: Rows) -> bool:
    """Is a quarter of the memory held by rows that were removed?"""
    return rows.removed > max(256, rows.count // 4)


def _tuning(settings: Settings) -> tuple[object, ...]:
    """What a tier is made with."""
    return registry.setting_backend(settings), registry.setting_exact_limit(settings), registry.setting_rescore(settings)


@dataclass(frozen=True, slots=True)
class _Batch:
    """Rows of the store, column by column."""

    keys: Keys
    scales: Scales
    codes: Codes
    marks: Fresh

    @classmethod
    def of(cls, found: Sequence[SpaceRow], dimensions: int) -> _Batch:
        keys, scopes, kinds, statuses, categories, times, stored = zip(*found, strict=True) if found else ((),) * 7
        marks = Fresh(
            np.asarray(scopes, np.int32),
            np.asarray(kinds, np.object_),
            np.asarray(statuses, np.object_),
            np.asarray(categories, np.object_),
            np.asarray(times, np.int64),
        )
        return cls(np.asarray(keys, np.int64), *decode(stored, dimensions), marks)

    def part(self, chosen: Mask) -> _Batch:
        return _Batch(self.keys[chosen], self.scales[chosen], self.codes[chosen], self.marks.part(chosen))


def _array(keys: Collection[int]) -> Keys:
    return np.fromiter(keys, np.int64, len(keys))
